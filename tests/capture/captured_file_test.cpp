// Files of captured graphs: what is not one, or is one no more, is refused and named.
#include "client/io/captured_file.h"

#include "client/capture/listing.h"
#include "client/capture/scope.h"
#include "client/io/safetensors_file.h"
#include "client/ops.h"
#include "dispatch/error.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace remora::io {
namespace {

using absl::StatusCode;

dispatch::CapturedProgram example() {
  const Device recorder = Device::capture();
  capture::Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {2}});
  return scope.complete({x}, {x + from_data({1.0f, 2.0f}, {2}, recorder)}).program();
}

/// A file like `example`'s that a test may spoil.
class CapturedFile : public testing::Test {
 protected:
  CapturedFile() : program_(example()), path_(folder_.path() / "example.graph") {
    throw_if_error(write_captured(path_, program_));
    const auto file = SafetensorsFile::open(path_);
    metadata_ = file->metadata();
    for (const auto& tensor : file->tensors()) {
      tensors_.push_back({tensor.name, *file->read(tensor)});
    }
  }
  NamedData& tensor(const std::string& name) {
    for (NamedData& tensor : tensors_) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("no tensor " + name);
  }
  testing::AssertionResult refuses(StatusCode code, const std::string& part) {
    throw_if_error(write_safetensors(path_, tensors_, metadata_));
    const absl::Status status = read_captured(path_).status();
    if (status.code() == code && status.message().find(part) != absl::string_view::npos) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << status;
  }

  test::TemporaryFolder folder_;
  dispatch::CapturedProgram program_;
  std::filesystem::path path_;
  std::vector<NamedData> tensors_;
  Metadata metadata_;
};

TEST_F(CapturedFile, comes_back_as_it_was) {
  const absl::StatusOr<dispatch::CapturedProgram> read = read_captured(path_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(program_checksum(*read), program_checksum(program_));
}

TEST_F(CapturedFile, another_format_is_refused) {
  metadata_.erase("format");
  EXPECT_TRUE(refuses(StatusCode::kInvalidArgument, "no captured graph"));
}

TEST_F(CapturedFile, another_version_is_refused_by_number) {
  metadata_["version"] = "2";
  EXPECT_TRUE(refuses(StatusCode::kUnimplemented, "version \"2\""));
}

TEST_F(CapturedFile, a_changed_element_is_data_loss) {
  tensor("initializer.0").data =
      dispatch::HostData::copy_of({DType::kF32, {2}}, std::vector<std::byte>(8));
  EXPECT_TRUE(refuses(StatusCode::kDataLoss, "checksum"));
}

TEST_F(CapturedFile, an_initializer_of_another_shape_is_refused) {
  tensor("initializer.0").data =
      dispatch::HostData::copy_of({DType::kF32, {1}}, std::vector<std::byte>(4));
  EXPECT_TRUE(refuses(StatusCode::kInvalidArgument, "f32[1], but the graph says f32[2]"));
}

TEST_F(CapturedFile, a_missing_and_a_surplus_tensor_are_refused) {
  tensor("initializer.0").name = "other";
  EXPECT_TRUE(refuses(StatusCode::kInvalidArgument, "\"initializer.0\""));
  tensors_.push_back(tensors_[0]);
  tensors_.back().name = "surplus";
  EXPECT_TRUE(refuses(StatusCode::kInvalidArgument, "holds 3 tensors"));
}

TEST_F(CapturedFile, a_graph_that_is_none_is_refused) {
  tensor("graph").data = dispatch::HostData::copy_of({DType::kU8, {3}}, std::vector<std::byte>(3));
  EXPECT_TRUE(refuses(StatusCode::kInvalidArgument, "captured graph: "));
  tensor("graph").name = "grph";
  EXPECT_TRUE(refuses(StatusCode::kInvalidArgument, "\"graph\""));
}

TEST_F(CapturedFile, errors_name_function_and_path) {
  for (const char* name : {"nowhere", "."}) {
    try {
      (void)capture::CapturedGraph::load(folder_.path() / name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.status().message().find("load: " + folder_.path().string()), 0u)
          << error.what();
    }
  }
}

TEST(Listing, labels_are_escaped_for_graphviz) {
  EXPECT_EQ(capture::dot_quoted("a\"b\\c\nd\te"), "\"a\\\"b\\\\c\\nd?e\"");
}

}  // namespace
}  // namespace remora::io
