#include "dispatch/dtype.h"

#include <algorithm>

namespace remora {

bool is_known_dtype(uint8_t number) {
  switch (static_cast<DType>(number)) {
#define DTYPE(number, enumerator, name, storage, category) case DType::enumerator:
#include "dispatch/dtypes.def"
#undef DTYPE
    return true;
  }
  return false;
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
#define DTYPE(number, enumerator, name, storage, category) \
  case DType::enumerator:                                  \
    return #name;
#include "dispatch/dtypes.def"
#undef DTYPE
  }
  return "unknown";
}

std::optional<DType> dtype_from_name(std::string_view name) {
#define DTYPE(number, enumerator, text, storage, category) \
  if (name == #text) return DType::enumerator;
#include "dispatch/dtypes.def"
#undef DTYPE
  return std::nullopt;
}

int64_t dtype_size(DType dtype) {
  switch (dtype) {
#define DTYPE(number, enumerator, name, storage, category) \
  case DType::enumerator:                                  \
    return sizeof(storage);
#include "dispatch/dtypes.def"
#undef DTYPE
  }
  return 0;
}

DTypeCategory dtype_category(DType dtype) {
  switch (dtype) {
#define DTYPE(number, enumerator, name, storage, category) \
  case DType::enumerator:                                  \
    return DTypeCategory::category;
#include "dispatch/dtypes.def"
#undef DTYPE
  }
  return DTypeCategory::kBoolean;
}

int promotion_rank(DTypeCategory category) {
  switch (category) {
    case DTypeCategory::kBoolean:
      return 0;
    case DTypeCategory::kSigned:
    case DTypeCategory::kUnsigned:
      return 1;
    case DTypeCategory::kFloat:
      return 2;
  }
  return 0;
}

namespace {

int rank(DType dtype) { return promotion_rank(dtype_category(dtype)); }

std::optional<DType> promote_mixed_signs(DType with_sign, DType without_sign) {
  if (dtype_size(with_sign) > dtype_size(without_sign)) return with_sign;
  switch (dtype_size(without_sign)) {
    case 1:
      return DType::kI16;
    case 2:
      return DType::kI32;
    case 4:
      return DType::kI64;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<DType> promote(DType a, DType b) {
  if (a == b) return a;
  if (rank(a) != rank(b)) return rank(a) > rank(b) ? a : b;
  const bool a_signed = dtype_category(a) == DTypeCategory::kSigned;
  const bool b_signed = dtype_category(b) == DTypeCategory::kSigned;
  if (is_integer(a) && a_signed != b_signed) {
    return a_signed ? promote_mixed_signs(a, b) : promote_mixed_signs(b, a);
  }
  if (dtype_size(a) == dtype_size(b)) return DType::kF32;  // f16 with bf16
  return dtype_size(a) > dtype_size(b) ? a : b;
}

}  // namespace remora
