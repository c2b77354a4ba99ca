// The bytes of a captured graph: they come back as they were, and nothing else comes back.
#include "dispatch/captured_program.h"

#include "dispatch/attrs_codec.h"
#include "dispatch/capture.h"
#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)
using absl::StatusCode;

CapturedProgram example() {
  const Device device = Device::capture();
  CaptureRecorder& recorder = capture_recorder(device);
  recorder.begin();
  const Value x = recorder.declare({DType::kF32, {2}});
  const Value unused = recorder.declare({DType::kBool, {}});
  const Value y = op(OpCode::add, {x, floats(device, {1, 2})});
  const Value z = op(OpCode::mul, {y, filled(device, {2}, 3)});
  const std::vector<Value> inputs = {unused, x};
  const std::vector<Value> outputs = {z, x};
  return recorder.complete(inputs, outputs);
}

TEST(CapturedProgram, bytes_come_back_as_they_were) {
  const CapturedProgram program = example();
  const std::string bytes = encode_program(program);
  const absl::StatusOr<CapturedProgram> decoded = decode_program(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(encode_program(*decoded), bytes);
  EXPECT_EQ(decoded->inputs, program.inputs);
  EXPECT_EQ(decoded->params, program.params);
  EXPECT_EQ(decoded->outputs, program.outputs);
  EXPECT_EQ(decoded->graph->key, program.graph->key);
  for (size_t i = 0; i < program.graph->ops.size(); ++i) {
    EXPECT_EQ(decoded->attrs_of(decoded->graph->ops[i]), program.attrs_of(program.graph->ops[i]));
  }
}

TEST(CapturedProgram, every_cut_of_the_bytes_is_refused) {
  const std::string bytes = encode_program(example());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(decode_program(std::string_view(bytes).substr(0, length)).status().code(),
              StatusCode::kInvalidArgument)
        << length;
  }
}

TEST(CapturedProgram, a_changed_byte_never_gives_a_program_that_contradicts_itself) {
  const std::string bytes = encode_program(example());
  for (size_t place = 0; place < bytes.size(); ++place) {
    for (int change = 1; change < 256; ++change) {
      std::string changed = bytes;
      changed[place] = static_cast<char>(changed[place] ^ change);
      const absl::StatusOr<CapturedProgram> decoded = decode_program(changed);
      EXPECT_TRUE(!decoded.ok() || encode_program(*decoded) == changed) << place << " " << change;
    }
  }
}

TEST(CapturedProgram, counts_and_places_are_not_believed) {
  const CapturedProgram good = example();
  const auto refused = [](const CapturedProgram& program, const std::string& field) {
    return fails_with(decode_program(encode_program(program)).status(),
                      StatusCode::kInvalidArgument, {"captured graph", field});
  };
  std::string huge;
  append_varint(huge, uint64_t{1} << 60);
  EXPECT_TRUE(fails_with(decode_program(huge).status(), StatusCode::kInvalidArgument,
                         {"inputs", "the count"}));
  CapturedProgram program = good;
  program.externals[0].index = 7;
  EXPECT_TRUE(refused(program, "externals"));
  program = good;
  program.externals[0] = {CapturedSource::Kind::kResult, 0};
  EXPECT_TRUE(refused(program, "externals"));
  program = good;
  program.externals[0] = {CapturedSource::Kind::kInput, 0};  // bool[] where f32[2] is wanted
  EXPECT_TRUE(refused(program, "the graph wants f32[2]"));
  program = good;
  program.externals.pop_back();
  EXPECT_TRUE(refused(program, "externals"));
  program = good;
  program.outputs[0].index = 99;
  EXPECT_TRUE(refused(program, "outputs"));
  program = good;
  program.outputs.clear();
  EXPECT_TRUE(refused(program, "outputs"));
  program = good;
  program.params.push_back(1);
  EXPECT_TRUE(refused(program, "params"));
}

TEST(CapturedProgram, the_checksum_covers_graph_params_and_elements) {
  const CapturedProgram good = example();
  CapturedProgram program = good;
  EXPECT_EQ(program_checksum(program), program_checksum(good));
  program.params[0] ^= 1;
  EXPECT_NE(program_checksum(program), program_checksum(good));
  program = good;
  program.initializers[0] =
      HostData::copy_of(program.initializers[0].spec, std::vector<std::byte>(8));
  EXPECT_NE(program_checksum(program), program_checksum(good));
}

}  // namespace
}  // namespace remora::test
