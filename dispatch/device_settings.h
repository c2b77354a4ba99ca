// What a device does where a program does not say: element types of what is created without one,
// and numeric settings. They are set once for a device or a kind of device, before its first
// tensor; from then on every thread sees the same. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "dispatch/dtype.h"

namespace remora {

class Device;
enum class BackendKind : uint8_t;

struct DeviceSettings {
  DType float_dtype = DType::kF32;  // of what is created, and of float functions of integers
  DType int_dtype = DType::kI64;
  DType bool_dtype = DType::kBool;  // no other stores booleans in this version
  /// Contractions of f32 may round their operands to TF32. A CPU never does.
  bool tf32 = false;
  /// Only kernels that give the same bits each time. A CPU has no others.
  bool deterministic = false;
  bool operator==(const DeviceSettings&) const = default;
  /// "float=f32,int=i64,bool=bool,tf32=off,deterministic=off"; parses back.
  std::string str() const;
};

/// Sets those of one device, in place of what its kind or its worker says; on a worker's device
/// they count for this program's session alone. Opens the device. FAILED_PRECONDITION once the
/// device has had a tensor or was set before; INVALID_ARGUMENT for an element type that is not of
/// its category, UNIMPLEMENTED for one that the device lacks.
void set_device_settings(const Device& device, const DeviceSettings& settings);
/// Sets those of every device of a kind that has none of its own. Opens nothing.
/// FAILED_PRECONDITION once any device of the kind has had a tensor or the kind was set before.
void set_device_settings(BackendKind kind, const DeviceSettings& settings);
/// Those in force: the device's own, else its kind's, else its worker's, else the defaults. Opens
/// the device.
DeviceSettings device_settings(const Device& device);

namespace dispatch {

/// The settings of a text "float=bf16,tf32=on"; what it leaves out keeps its default.
/// INVALID_ARGUMENT says what is wrong and what is allowed.
absl::StatusOr<DeviceSettings> parse_device_settings(std::string_view text);
/// INVALID_ARGUMENT for an element type that is not of its category.
absl::Status check_settings(const DeviceSettings& settings);

/// The settings that change what a graph computes, as the second byte of its key.
inline constexpr uint8_t kTf32Bit = 1;
inline constexpr uint8_t kDeterministicBit = 2;
inline constexpr uint8_t kNumericBits = kTf32Bit | kDeterministicBit;
inline uint8_t numeric_bits(const DeviceSettings& settings) {
  return static_cast<uint8_t>((settings.tf32 ? kTf32Bit : 0) |
                              (settings.deterministic ? kDeterministicBit : 0));
}

}  // namespace dispatch
}  // namespace remora
