#include "client/promotion.h"

#include <array>
#include <limits>

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"

namespace remora {

namespace {

DType default_dtype(DTypeCategory category, const Tensor& like) {
  switch (category) {
    case DTypeCategory::kBoolean:
      return DType::kBool;
    case DTypeCategory::kSigned:
    case DTypeCategory::kUnsigned:
      return DType::kI64;
    case DTypeCategory::kFloat:
      break;
  }
  return default_float(like.device());
}

DType with_number(const Tensor& tensor, DTypeCategory number) {
  const bool wider = promotion_rank(number) > promotion_rank(dtype_category(tensor.dtype()));
  return wider ? default_dtype(number, tensor) : tensor.dtype();
}

}  // namespace

DType common_dtype(std::string_view function, const Operand& x, const Operand& y) {
  if (!x.is_tensor() && !y.is_tensor()) refuse(function, "at least one operand must be a tensor");
  if (!x.is_tensor()) return with_number(y.tensor(), x.category());
  if (!y.is_tensor()) return with_number(x.tensor(), y.category());
  const std::optional<DType> common = promote(x.tensor().dtype(), y.tensor().dtype());
  if (!common) {
    refuse(function,
           str_cat(dtype_name(x.tensor().dtype()), " and ", dtype_name(y.tensor().dtype()),
                   " have no common type; convert one of them with astype"));
  }
  return *common;
}

DType default_float(const Device& device) { return device_settings(device).float_dtype; }

DType in_domain(DType dtype, Domain domain, const Tensor& like) {
  if (domain == Domain::kFloat && !is_float(dtype)) return default_float(like.device());
  if (domain == Domain::kArithmetic && dtype == DType::kBool) return DType::kI64;
  return dtype;
}

Tensor promote_one(const Tensor& x, Domain domain) {
  return astype(x, in_domain(x.dtype(), domain, x));
}

Tensor materialize(const Operand& x, const Tensor& like, DType dtype) {
  return x.is_tensor() ? astype(x.tensor(), dtype) : constant(like, x.number(), dtype);
}

bool on_two_devices(const Operand& x, const Operand& y) {
  return x.is_tensor() && y.is_tensor() &&
         &x.tensor().value()->device() != &y.tensor().value()->device();
}

std::pair<Tensor, Tensor> promote_pair(std::string_view function, const Operand& x,
                                       const Operand& y, Domain domain) {
  if (on_two_devices(x, y)) {
    const OpInputs placed = on_one_device(function, std::array{x.tensor(), y.tensor()});
    return promote_pair(function, placed[0], placed[1], domain);
  }
  const Tensor& like = x.is_tensor() ? x.tensor() : y.tensor();
  const DType dtype = in_domain(common_dtype(function, x, y), domain, like);
  return {materialize(x, like, dtype), materialize(y, like, dtype)};
}

void require_float(std::string_view function, DType dtype) {
  if (is_float(dtype)) return;
  refuse(function,
         str_cat("takes floating-point tensors, not ", dtype_name(dtype), "; convert with astype"));
}

double largest_finite(DType dtype) {
  if (dtype == DType::kF64) return std::numeric_limits<double>::max();
  if (dtype == DType::kF16) return 65504.0;
  if (dtype == DType::kBF16) return 0x1.fep127;
  return static_cast<double>(std::numeric_limits<float>::max());
}

}  // namespace remora
