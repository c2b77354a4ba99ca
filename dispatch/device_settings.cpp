#include "dispatch/device_settings.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/synchronization/mutex.h"
#include "dispatch/device_state.h"
#include "dispatch/registry.h"
#include "dispatch/str_cat.h"

namespace remora {
namespace dispatch {
namespace {

constexpr std::string_view kAllowed =
    "float=DTYPE, int=DTYPE, bool=bool, tf32=on|off, deterministic=on|off, separated by commas";

/// What is set for kinds, and the lock of the settings of every device that are not fixed yet.
struct KindSettings {
  absl::Mutex mutex;
  std::array<std::optional<DeviceSettings>, 8> by_kind ABSL_GUARDED_BY(mutex);
};

KindSettings& kinds() {
  static auto& instance = *new KindSettings;  // leaked: devices live until the process ends
  return instance;
}

absl::Status has_tensors(std::string_view what) {
  return absl::FailedPreconditionError(
      str_cat("device settings: ", what, " has had tensors; set them before the first"));
}

absl::Status were_set(std::string_view what) {
  return absl::FailedPreconditionError(
      str_cat("device settings: those of ", what, " were set before; they are set once"));
}

absl::Status invalid(std::string_view what) {
  return absl::InvalidArgumentError(str_cat("device settings: ", what, "; allowed are ", kAllowed));
}

absl::Status set_switch(std::string_view name, std::string_view value, bool& target) {
  if (value != "on" && value != "off")
    return invalid(str_cat(name, "='", value, "' is neither on nor off"));
  target = value == "on";
  return absl::OkStatus();
}

absl::Status set_dtype(std::string_view name, std::string_view value, DType& target) {
  const std::optional<DType> dtype = dtype_from_name(value);
  if (!dtype.has_value()) return invalid(str_cat(name, "='", value, "' is no element type"));
  target = *dtype;
  return absl::OkStatus();
}

absl::Status set_field(std::string_view name, std::string_view value, DeviceSettings& settings) {
  if (name == "float") return set_dtype(name, value, settings.float_dtype);
  if (name == "int") return set_dtype(name, value, settings.int_dtype);
  if (name == "bool") return set_dtype(name, value, settings.bool_dtype);
  if (name == "tf32") return set_switch(name, value, settings.tf32);
  if (name == "deterministic") return set_switch(name, value, settings.deterministic);
  return invalid(str_cat("there is no '", name, "'"));
}

}  // namespace

absl::StatusOr<DeviceSettings> parse_device_settings(std::string_view text) {
  DeviceSettings settings;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find(','));
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos) return invalid(str_cat("'", field, "' has no '='"));
    REMORA_RETURN_IF_ERROR(set_field(field.substr(0, equals), field.substr(equals + 1), settings));
    text.remove_prefix(std::min(text.size(), field.size() + 1));
  }
  REMORA_RETURN_IF_ERROR(check_settings(settings));
  return settings;
}

absl::Status check_settings(const DeviceSettings& settings) {
  if (!is_float(settings.float_dtype))
    return invalid(str_cat("float=", dtype_name(settings.float_dtype), " is no float"));
  if (!is_integer(settings.int_dtype))
    return invalid(str_cat("int=", dtype_name(settings.int_dtype), " is no integer"));
  if (settings.bool_dtype != DType::kBool) {
    return invalid(str_cat("bool=", dtype_name(settings.bool_dtype),
                           ": booleans are stored as bool alone in this version"));
  }
  return absl::OkStatus();
}

DeviceSettings DeviceState::settings() {
  if (settings_are_fixed()) return settings_;
  const absl::MutexLock lock(&kinds().mutex);
  if (own_settings_.has_value()) return *own_settings_;
  const auto& of_kind = kinds().by_kind[static_cast<size_t>(device_.kind())];
  return of_kind.has_value() ? *of_kind : backend_->info().settings;
}

const DeviceSettings& DeviceState::fixed_settings() {
  if (settings_are_fixed()) return settings_;
  const DeviceSettings prescribed = backend_->info().settings;
  const absl::MutexLock lock(&kinds().mutex);
  if (settings_are_fixed()) return settings_;
  const auto& of_kind = kinds().by_kind[static_cast<size_t>(device_.kind())];
  settings_ = own_settings_.has_value() ? *own_settings_
              : of_kind.has_value()     ? *of_kind
                                        : prescribed;
  settings_fixed_.store(true, std::memory_order_release);
  return settings_;
}

absl::Status DeviceState::set_settings(const DeviceSettings& settings) {
  REMORA_RETURN_IF_ERROR(check_settings(settings));
  for (const DType dtype : {settings.float_dtype, settings.int_dtype, settings.bool_dtype}) {
    if (backend_->supports(OpCode::full, dtype)) continue;
    return absl::UnimplementedError(
        str_cat("device settings: ", dtype_name(dtype), " is not supported on ", device_.str()));
  }
  const absl::MutexLock lock(&kinds().mutex);
  if (own_settings_.has_value()) return were_set(device_.str());
  if (settings_are_fixed()) return has_tensors(device_.str());
  own_settings_ = settings;
  return absl::OkStatus();
}

}  // namespace dispatch

std::string DeviceSettings::str() const {
  return str_cat("float=", dtype_name(float_dtype), ",int=", dtype_name(int_dtype),
                 ",bool=", dtype_name(bool_dtype), ",tf32=", tf32 ? "on" : "off",
                 ",deterministic=", deterministic ? "on" : "off");
}

void set_device_settings(const Device& device, const DeviceSettings& settings) {
  throw_if_error(device.state().set_settings(settings));
}

void set_device_settings(BackendKind kind, const DeviceSettings& settings) {
  throw_if_error(dispatch::check_settings(settings));
  const std::vector<dispatch::DeviceState*> opened = dispatch::registry().opened();
  auto& kinds = dispatch::kinds();
  const absl::MutexLock lock(&kinds.mutex);
  auto& of_kind = kinds.by_kind[static_cast<size_t>(kind)];
  if (of_kind.has_value())
    throw Error(dispatch::were_set(str_cat("every ", backend_name(kind), " device")));
  for (const dispatch::DeviceState* device : opened) {
    if (device->device().kind() == kind && device->settings_are_fixed())
      throw Error(dispatch::has_tensors(device->device().str()));
  }
  of_kind = settings;
}

DeviceSettings device_settings(const Device& device) { return device.state().settings(); }

}  // namespace remora
