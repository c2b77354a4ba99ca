// Promotion: the common element type of a function's operands. bool < integer < float; the wider
// wins inside a category; a number takes the tensor's type unless its category is higher.
#pragma once

#include <string_view>
#include <utility>

#include "client/operand.h"

namespace remora {

/// What a function computes in.
enum class Domain : uint8_t {
  kAny,         // the common type as it is
  kArithmetic,  // booleans act as i64
  kFloat,       // integers and booleans become the device's default float
};

/// The common type of two operands, at least one of them a tensor. INVALID_ARGUMENT naming
/// `function` if there is none (i64 with u64).
DType common_dtype(std::string_view function, const Operand& x, const Operand& y);
/// The floating-point type of a device where nothing says another (dispatch/device_settings.h).
DType default_float(const Device& device);
/// `dtype` as the domain computes it, on the device of `like`.
DType in_domain(DType dtype, Domain domain, const Tensor& like);

/// x converted to what the domain computes in.
Tensor promote_one(const Tensor& x, Domain domain);
/// True for two tensors that live on different devices.
bool on_two_devices(const Operand& x, const Operand& y);
/// Both operands in their common type; a number becomes a rank-0
/// constant on the other's device, and a tensor elsewhere is moved to where the op runs.
std::pair<Tensor, Tensor> promote_pair(std::string_view function, const Operand& x,
                                       const Operand& y, Domain domain);
/// An operand in a given type, where `like` says on which device a number is made.
Tensor materialize(const Operand& x, const Tensor& like, DType dtype);

/// function(x); a 16-bit float is widened for it and the result rounded back, so that what is
/// composed of several ops rounds once.
template <typename Function>
Tensor through_f32(const Tensor& x, const Function& function) {
  if (!is_half(x.dtype())) return function(x);
  return function(x.astype(DType::kF32)).astype(x.dtype());
}

/// The largest finite number of a floating-point type.
double largest_finite(DType dtype);
/// INVALID_ARGUMENT unless the dtype is a floating-point type.
void require_float(std::string_view function, DType dtype);

}  // namespace remora
