// What the tests of the file formats share: tensors of every element type in host memory, tables of
// hostile files, and files with random damage.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/io/host_tensors.h"

namespace remora::io {

/// Every element type of dtypes.def.
std::vector<DType> all_dtypes();

/// A tensor of any element type whose bytes are drawn from `seed`; bools are 0 or 1.
dispatch::HostData random_data(DType dtype, const Shape& shape, uint64_t seed);

/// Spec and every byte.
void expect_same(const dispatch::HostData& actual, const dispatch::HostData& expected);

/// A file that must be refused, and a part of the message.
struct HostileFile {
  std::string name;
  std::string bytes;
  std::string message;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

using Reader = std::function<absl::Status(const std::filesystem::path&)>;
/// Each file is refused with its code and message.
void expect_refused(const std::vector<HostileFile>& files, const Reader& read);

/// Reads the file cut at every length, and with random bytes changed: whatever comes of it is an
/// answer or an error of a kind that a file can cause. Prints its seed.
void expect_survives_damage(const std::string& bytes, const Reader& read);

/// A number's bytes, lowest first.
template <typename T>
std::string little_endian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace remora::io
