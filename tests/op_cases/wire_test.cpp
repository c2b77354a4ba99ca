// Every case as bytes: what a worker decodes is what the client encoded.
#include "dispatch/attrs_codec.h"
#include "dispatch/graph.h"
#include "dispatch/limits.h"
#include "gtest/gtest.h"
#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

using dispatch::Attrs;
using dispatch::GraphPtr;

constexpr dispatch::GraphLimits kLimits{dispatch::kMaxWindowOps, 4 * dispatch::kMaxWindowOps};

/// A graph of the case's op alone, and its params.
GraphPtr encode(const OpCase& op_case, std::vector<uint64_t>& params) {
  std::vector<Spec> specs;
  specs.reserve(op_case.inputs.size());
  for (const Input& input : op_case.inputs) specs.push_back(input.spec);
  const dispatch::Specs outputs = *dispatch::infer(op_case.info(), specs, op_case.attrs);
  dispatch::GraphBuilder builder;
  std::vector<dispatch::Position> positions;
  positions.reserve(specs.size());
  for (const Spec& spec : specs)
    positions.push_back(dispatch::Position::external(builder.add_input(spec)));
  builder.add_op(op_case.info(), positions, op_case.attrs, outputs);
  return builder.finish(params);
}

TEST(OpCaseOnTheWire, graph_round_trip) {
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(op_case.title());
    std::vector<uint64_t> params;
    const GraphPtr sent = encode(op_case, params);
    const auto received = dispatch::decode_graph(sent->key, kLimits);
    ASSERT_TRUE(received.ok()) << received.status();
    EXPECT_EQ((*received)->key, sent->key);
    EXPECT_EQ((*received)->hash, sent->hash);
    EXPECT_EQ((*received)->inputs, sent->inputs);
    EXPECT_EQ((*received)->outputs, sent->outputs);
    EXPECT_EQ((*received)->params, params.size());
    ASSERT_EQ((*received)->ops.size(), 1u);
    EXPECT_EQ((*received)->ops[0].info, &op_case.info());
    EXPECT_EQ((*received)->ops[0].inputs, sent->ops[0].inputs);
  }
}

TEST(OpCaseOnTheWire, attributes_round_trip_through_key_and_params) {
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(op_case.title());
    std::string bytes;
    dispatch::append_attrs_key(bytes, op_case.attrs);
    std::vector<uint64_t> params;
    dispatch::append_params(op_case.attrs, params);
    EXPECT_EQ(params.size(), dispatch::param_count(op_case.attrs));

    Attrs received = op_case.info().default_attrs;
    std::string_view rest = bytes;
    const absl::Status status = dispatch::read_attrs_key(rest, received);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(rest.empty());
    ASSERT_EQ(dispatch::param_count(received), params.size());
    dispatch::set_params(received, params);
    EXPECT_EQ(received, op_case.attrs)
        << dispatch::attrs_str(received) << " was " << dispatch::attrs_str(op_case.attrs);
  }
}

TEST(OpCaseOnTheWire, every_truncation_is_refused) {
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(op_case.title());
    std::vector<uint64_t> params;
    const std::string key = encode(op_case, params)->key;
    for (size_t length = 0; length < key.size(); ++length) {
      EXPECT_FALSE(dispatch::decode_graph(std::string_view(key).substr(0, length), kLimits).ok())
          << "the first " << length << " of " << key.size() << " bytes were taken for a graph";
    }
  }
}

}  // namespace
}  // namespace remora::test
