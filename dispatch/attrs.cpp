#include "dispatch/attrs.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_join.h"
#include "dispatch/str_cat.h"

namespace remora {

int64_t Scalar::as_int64() const {
  if (!is_float_) return as_integer_bits();
  const double value = std::bit_cast<double>(bits_);
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value <= -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

namespace dispatch {
namespace {

// The slots of one param field. Only these types can be params.
size_t slot_count(const Scalar&) { return 1; }
size_t slot_count(uint64_t) { return 1; }
size_t slot_count(const Dims& list) { return list.size(); }

void append_slots(const Scalar& value, std::vector<uint64_t>& out) { out.push_back(value.bits()); }
void append_slots(uint64_t value, std::vector<uint64_t>& out) { out.push_back(value); }
void append_slots(const Dims& list, std::vector<uint64_t>& out) {
  for (const int64_t item : list) out.push_back(static_cast<uint64_t>(item));
}

void take_slots(Scalar& value, std::span<const uint64_t>& in) {
  value = Scalar::from_bits(value.is_float(), in[0]);
  in = in.subspan(1);
}
void take_slots(uint64_t& value, std::span<const uint64_t>& in) {
  value = in[0];
  in = in.subspan(1);
}
void take_slots(Dims& list, std::span<const uint64_t>& in) {
  for (size_t i = 0; i < list.size(); ++i) list[i] = static_cast<int64_t>(in[i]);
  in = in.subspan(list.size());
}

template <typename T>
inline constexpr bool kCanBeParam =
    std::is_same_v<T, Scalar> || std::is_same_v<T, uint64_t> || std::is_same_v<T, Dims>;

std::string text(bool value) { return value ? "true" : "false"; }
std::string text(int64_t value) { return str_cat(value); }
std::string text(uint64_t value) { return str_cat(value); }
std::string text(DType value) { return std::string(dtype_name(value)); }
std::string text(const Shape& value) { return value.str(); }
std::string text(const Dims& value) { return str_cat("[", absl::StrJoin(value, ", "), "]"); }
std::string text(const Scalar& value) {
  return value.is_float() ? str_cat(value.as_double()) : str_cat(value.as_int64());
}

}  // namespace

size_t param_count(const Attrs& attrs) {
  size_t count = 0;
  visit_fields(attrs, [&](const auto& field, const auto& value) {
    if constexpr (kCanBeParam<std::remove_cvref_t<decltype(value)>>) {
      if (field.kind == FieldKind::kParam) count += slot_count(value);
    }
  });
  return count;
}

void append_params(const Attrs& attrs, std::vector<uint64_t>& slots) {
  visit_fields(attrs, [&](const auto& field, const auto& value) {
    if constexpr (kCanBeParam<std::remove_cvref_t<decltype(value)>>) {
      if (field.kind == FieldKind::kParam) append_slots(value, slots);
    }
  });
}

void set_params(Attrs& attrs, std::span<const uint64_t> slots) {
  visit_fields(attrs, [&](const auto& field, auto& value) {
    if constexpr (kCanBeParam<std::remove_cvref_t<decltype(value)>>) {
      if (field.kind == FieldKind::kParam) take_slots(value, slots);
    }
  });
}

std::string attrs_str(const Attrs& attrs) {
  std::string out;
  visit_fields(attrs, [&](const auto& field, const auto& value) {
    out += str_cat(out.empty() ? "" : " ", field.name, "=", text(value));
  });
  return out;
}

}  // namespace dispatch
}  // namespace remora
