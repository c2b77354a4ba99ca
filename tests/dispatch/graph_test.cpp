#include "dispatch/graph.h"

#include "dispatch/attrs_codec.h"
#include "dispatch/limits.h"
#include "tests/dispatch/program.h"
#include "tests/support/generators.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

constexpr GraphLimits kLimits{kMaxWindowOps, 4 * kMaxWindowOps};
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

/// Adds an op, inferring its outputs; the index of its first output.
uint32_t add(GraphBuilder& builder, OpCode code, std::vector<Position> inputs,
             std::vector<Spec> specs, const Attrs& attrs = NoAttrs{}) {
  return builder.add_op(op_info(code), inputs, attrs, *infer(op_info(code), specs, attrs));
}

/// softmax(x @ w + full(b)) and the row maxima: every kind of operand and a param.
GraphPtr sample_graph(double bias = 0.5) {
  const Spec x{DType::kF32, {2, 3}}, w{DType::kF32, {3, 4}}, y{DType::kF32, {2, 4}},
      b{DType::kF32, {4}};
  GraphBuilder builder;
  const Position in_x = Position::external(builder.add_input(x));
  const Position in_w = Position::external(builder.add_input(w));
  const uint32_t product = add(builder, OpCode::matmul, {in_x, in_w}, {x, w});
  const uint32_t constant = add(builder, OpCode::full, {}, {}, FullAttrs{DType::kF32, {4}, bias});
  const uint32_t sum =
      add(builder, OpCode::add, {Position::output(product), Position::output(constant)}, {y, b});
  add(builder, OpCode::softmax, {Position::output(sum)}, {y}, AxisAttrs{1});
  add(builder, OpCode::amax, {Position::output(sum)}, {y}, ReduceAttrs{{1}, false});
  add(builder, OpCode::mul, {in_x, in_x}, {x, x});
  std::vector<uint64_t> params;
  return builder.finish(params);
}

std::string header() { return sample_graph()->key.substr(0, 2); }

absl::Status decode(std::string_view bytes) { return decode_graph(bytes, kLimits).status(); }

TEST(Graph, round_trip_keeps_everything) {
  const GraphPtr sent = sample_graph();
  const auto received = decode_graph(sent->key, kLimits);
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ((*received)->key, sent->key);
  EXPECT_EQ((*received)->hash, sent->hash);
  EXPECT_EQ((*received)->inputs, sent->inputs);
  EXPECT_EQ((*received)->outputs, sent->outputs);
  EXPECT_EQ((*received)->params, sent->params);
  EXPECT_EQ((*received)->ops.size(), sent->ops.size());
}

TEST(Graph, key_has_no_params_and_no_absolute_positions) {
  EXPECT_EQ(sample_graph(0.5)->key, sample_graph(0.75)->key);
  EXPECT_EQ(sample_graph(0.5)->hash, sample_graph(0.75)->hash);
}

TEST(Graph, truncation_at_each_byte_is_refused) {
  const std::string key = sample_graph()->key;
  for (size_t length = 0; length < key.size(); ++length) {
    EXPECT_FALSE(decode(std::string_view(key).substr(0, length)).ok()) << length;
  }
  EXPECT_TRUE(fails_with(decode(key + '\0'), kInvalid, {"after its end"}));
}

TEST(Graph, mutations_are_refused_or_decode_to_themselves) {
  const std::string key = sample_graph()->key;
  for (size_t at = 0; at < key.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string mutated = key;
      mutated[at] = static_cast<char>(byte);
      const auto decoded = decode_graph(mutated, kLimits);
      if (decoded.ok()) {
        EXPECT_EQ((*decoded)->key, mutated) << "byte " << at << " = " << byte;
      }
    }
  }
}

TEST(Graph, random_bytes_never_do_more_than_fail) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = header();
    const int64_t length = random.below(40);
    for (int64_t k = 0; k < length; ++k) bytes.push_back(static_cast<char>(random.next()));
    const auto decoded = decode_graph(bytes, kLimits);
    if (decoded.ok()) {
      EXPECT_EQ((*decoded)->key, bytes);
    }
  }
}

TEST(Graph, unknown_version_settings_and_opcode_are_refused_by_number) {
  std::string key = sample_graph()->key;
  key[0] = static_cast<char>(kCatalogueVersion + 1);
  EXPECT_TRUE(fails_with(decode(key), kInvalid, {"version"}));
  key = sample_graph()->key;
  key[1] = static_cast<char>(key[1] ^ 0x7f);
  EXPECT_TRUE(fails_with(decode(key), kInvalid, {"settings"}));
  std::string unknown = header();
  append_varint(unknown, 999);
  EXPECT_TRUE(fails_with(decode(unknown), kInvalid, {"999"}));
  EXPECT_FALSE(decode(header() + '\0').ok()) << "a graph has at least one op";
}

TEST(Graph, non_minimal_varints_are_refused) {
  std::string bytes = header();
  bytes += std::string("\x81\x00\x00", 3);  // opcode 1 (full) in two bytes
  EXPECT_FALSE(decode(bytes).ok());
}

TEST(Graph, hostile_counts_allocate_nothing) {
  std::string operands = header();
  append_varint(operands, static_cast<uint64_t>(OpCode::concat));
  append_varint(operands, uint64_t{1} << 60);
  EXPECT_TRUE(fails_with(decode(operands), kInvalid, {"concat", "operand count"}));

  std::string shape = header();
  append_varint(shape, static_cast<uint64_t>(OpCode::full));
  append_varint(shape, 0);
  shape.push_back(static_cast<char>(DType::kF32));
  append_varint(shape, uint64_t{1} << 50);  // entries of the shape
  EXPECT_TRUE(fails_with(decode(shape), kInvalid, {"full", "shape"}));

  std::string huge = header();
  append_varint(huge, static_cast<uint64_t>(OpCode::full));
  append_varint(huge, 0);
  huge.push_back(static_cast<char>(DType::kF32));
  append_varint(huge, 2);
  append_varint(huge, zigzag(int64_t{1} << 40));
  append_varint(huge, zigzag(int64_t{1} << 40));
  huge.push_back(1);
  huge.push_back(0);
  EXPECT_TRUE(fails_with(decode(huge), kInvalid, {"full", "limit"}));
}

TEST(Graph, limits_of_ops_and_inputs_hold) {
  GraphBuilder builder;
  const Spec spec{DType::kF32, {2}};
  for (int i = 0; i < 4; ++i) {
    const Position input = Position::external(builder.add_input(spec));
    add(builder, OpCode::neg, {input}, {spec});
  }
  std::vector<uint64_t> params;
  const std::string key = builder.finish(params)->key;
  EXPECT_TRUE(decode_graph(key, {4, 4}).ok());
  EXPECT_TRUE(
      fails_with(decode_graph(key, {3, 4}).status(), absl::StatusCode::kResourceExhausted, {"3"}));
  EXPECT_TRUE(
      fails_with(decode_graph(key, {4, 3}).status(), absl::StatusCode::kResourceExhausted, {"3"}));
}

TEST(Graph, positions_beyond_what_exists_are_refused) {
  std::string back = header();
  append_varint(back, static_cast<uint64_t>(OpCode::neg));
  append_varint(back, 1);
  append_varint(back, 1 << 1);  // one place back of nothing
  EXPECT_TRUE(fails_with(decode(back), kInvalid, {"neg"}));
  std::string external = header();
  append_varint(external, static_cast<uint64_t>(OpCode::neg));
  append_varint(external, 1);
  append_varint(external, (5 << 1) | 1);  // the sixth input before the first
  EXPECT_TRUE(fails_with(decode(external), kInvalid, {"neg", "external input 5"}));
}

TEST(Graph, shape_rules_are_run_again) {
  // add(f32[2], f32[3]): a builder that skipped the rule, as a forger would.
  GraphBuilder builder;
  const Position a = Position::external(builder.add_input({DType::kF32, {2}}));
  const Position b = Position::external(builder.add_input({DType::kF32, {3}}));
  const Spec claimed{DType::kF32, {3}};
  builder.add_op(op_info(OpCode::add), std::vector{a, b}, NoAttrs{}, {&claimed, 1});
  std::vector<uint64_t> params;
  EXPECT_TRUE(fails_with(decode(builder.finish(params)->key), kInvalid, {"add", "[2]", "[3]"}));
}

TEST(Graph, rewind_forgets_everything_since_the_mark) {
  const Spec spec{DType::kF32, {2}};
  const auto build = [&](bool with_detour) {
    GraphBuilder builder;
    const Position x = Position::external(builder.add_input(spec));
    const uint32_t first = add(builder, OpCode::neg, {x}, {spec});
    if (with_detour) {
      const GraphBuilder::Mark mark = builder.mark();
      const Position other = Position::external(builder.add_input({DType::kF32, {9}}));
      add(builder, OpCode::exp, {other}, {{DType::kF32, {9}}});
      add(builder, OpCode::full, {}, {}, FullAttrs{DType::kF32, {2}, 3.0});
      builder.rewind(mark);
    }
    const Position y = Position::external(builder.add_input(spec));
    add(builder, OpCode::add, {Position::output(first), y}, {spec, spec});
    std::vector<uint64_t> params;
    const GraphPtr graph = builder.finish(params);
    EXPECT_TRUE(params.empty());
    return graph;
  };
  EXPECT_EQ(build(true)->key, build(false)->key);
  EXPECT_TRUE(decode(build(true)->key).ok());
}

TEST(Graph, single_op_graph_stands_alone) {
  const GraphPtr graph = sample_graph();
  for (const GraphOp& op : graph->ops) {
    const GraphPtr alone = single_op_graph(op, *graph);
    ASSERT_EQ(alone->ops.size(), 1u);
    EXPECT_EQ(alone->ops[0].info, op.info);
    EXPECT_EQ(alone->params, op.params);
    EXPECT_TRUE(decode(alone->key).ok()) << decode(alone->key);
  }
}

TEST(Graph, prints_one_op_a_line) {
  const std::string text = sample_graph()->str();
  EXPECT_NE(text.find("matmul("), std::string::npos) << text;
  EXPECT_NE(text.find("f32[2, 4]"), std::string::npos) << text;
}

}  // namespace
}  // namespace remora::test
