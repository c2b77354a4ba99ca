// docs/ops.md says what the code says.
#include "client/bindings/reference.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "dispatch/device_state.h"
#include "remora/remora.h"

namespace remora::bindings {
namespace {

TEST(reference, docs_ops_md_is_what_the_code_says) {
  const std::string path = REMORA_SOURCE_DIR "/docs/ops.md";
  const Device cpu = Device::parse("cpu");
  const std::string expected = operations_reference(cpu.state().backend());
  if (std::getenv("REMORA_UPDATE_DOCS") != nullptr) {
    std::ofstream(path, std::ios::binary) << expected;
    GTEST_SKIP() << "wrote " << path;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good()) << path << " cannot be read";
  const std::string actual((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  EXPECT_TRUE(actual == expected)
      << path << " is out of date; REMORA_UPDATE_DOCS=1 build/release/bin/bindings_test writes it";
}

}  // namespace
}  // namespace remora::bindings
