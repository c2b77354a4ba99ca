#include "dispatch/call_name.h"

#include <cstring>
#include <string>

#include "absl/strings/cord.h"
#include "dispatch/str_cat.h"

namespace remora::dispatch {
namespace {

constexpr char kOriginType[] = "remora.ErrorOrigin";

}  // namespace

absl::Status in_call(std::string_view function, const absl::Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  const bool says_so = message.starts_with(function) && message.substr(function.size(), 1) == ":";
  if (status.ok() || function.empty() || says_so) return status;
  absl::Status named(status.code(), str_cat(function, ": ", message));
  if (const auto origin = origin_of(status)) return with_origin(std::move(named), *origin);
  return named;
}

absl::Status with_origin(absl::Status status, const ErrorOrigin& origin) {
  if (status.ok() || origin_of(status)) return status;
  std::string bytes(sizeof(origin.window) + sizeof(origin.op_index), '\0');
  std::memcpy(bytes.data(), &origin.window, sizeof(origin.window));
  std::memcpy(bytes.data() + sizeof(origin.window), &origin.op_index, sizeof(origin.op_index));
  status.SetPayload(kOriginType, absl::Cord(bytes));
  return status;
}

std::optional<ErrorOrigin> origin_of(const absl::Status& status) {
  const auto payload = status.GetPayload(kOriginType);
  if (!payload) return std::nullopt;
  const std::string bytes(*payload);
  ErrorOrigin origin;
  if (bytes.size() != sizeof(origin.window) + sizeof(origin.op_index)) return std::nullopt;
  std::memcpy(&origin.window, bytes.data(), sizeof(origin.window));
  std::memcpy(&origin.op_index, bytes.data() + sizeof(origin.window), sizeof(origin.op_index));
  return origin;
}

}  // namespace remora::dispatch
