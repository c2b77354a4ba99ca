#include "tests/opinfo/cases.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "dispatch/error.h"

namespace remora::opinfo {
namespace {

/// Tensors "a" and "b", both f32[1]. The file is gone once it is open.
io::SafetensorsFile two_tensors() {
  const std::string path = testing::TempDir() + "/remora-cases-test-" + std::to_string(getpid());
  const auto one = dispatch::HostData::copy_of({DType::kF32, {1}}, std::vector<std::byte>(4));
  throw_if_error(io::write_safetensors(path, {{"a", one}, {"b", one}}, {}));
  io::SafetensorsFile file = value_or_throw(io::SafetensorsFile::open(path));
  std::filesystem::remove(path);
  return file;
}

TEST(Cases, ALineGivesCallAnswersAndGradients) {
  const auto sample = parse_case(R"({"id": "f/0", "op": "f", "args": [{"tensor": "a"}, [1, 2]],
      "kwargs": {"dtype": {"dtype": "F32"}}, "outputs": ["b"],
      "grads": {"a": "b"}, "cotangents": {"b": "a"}})",
                                 two_tensors());
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->op, "f");
  EXPECT_FALSE(sample->must_fail);
  EXPECT_EQ(tensor_keys(sample->args), std::vector<std::string>{"a"});
  EXPECT_EQ(dtype_names(sample->kwargs), std::vector<std::string>{"F32"});
  EXPECT_EQ(sample->gradients.at(0).second, "b");
  EXPECT_EQ(sample->cotangents.at("b"), "a");
}

TEST(Cases, ACallThatMustFailHasNoAnswers) {
  const auto sample = parse_case(
      R"({"id": "f/1", "op": "f", "args": [], "kwargs": {}, "error": true})", two_tensors());
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_TRUE(sample->must_fail);
}

TEST(Cases, ALineThatIsNoCaseIsRefused) {
  std::string deep = R"({"id": "f", "op": "f", "error": true, "args": [)" + std::string(50, '[') +
                     std::string(50, ']') + "]}";
  for (const std::string& line : {
           std::string("{"),
           std::string("[]"),
           std::string(R"({"op": "f", "outputs": []})"),
           std::string(R"({"id": "f", "op": 1, "outputs": []})"),
           std::string(R"({"id": "f", "op": "f"})"),
           std::string(R"({"id": "f", "op": "f", "outputs": [1]})"),
           std::string(R"({"id": "f", "op": "f", "outputs": ["c"]})"),
           std::string(R"({"id": "f", "op": "f", "outputs": [], "args": {}})"),
           std::string(R"({"id": "f", "op": "f", "outputs": [], "args": [{"tensor": "c"}]})"),
           std::string(R"({"id": "f", "op": "f", "outputs": [], "grads": {"a": "c"}})"),
           std::string(R"({"id": "f", "op": "f", "outputs": [], "grads": ["a"]})"),
           deep,
       }) {
    EXPECT_FALSE(parse_case(line, two_tensors()).ok()) << line;
  }
}

}  // namespace
}  // namespace remora::opinfo
