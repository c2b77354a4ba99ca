// The operations on tensors. Every function returns at once with a new tensor and changes none;
// shapes and dtypes are checked at the call, and what does not fit throws INVALID_ARGUMENT naming
// the function, the shapes and what would be right. UNIMPLEMENTED means that the device lacks the
// op or the dtype.
//
// Rules that hold everywhere. Elementwise operands broadcast as in NumPy. Promotion: bool < integer
// < float, the wider wins inside a category, i64 with u64 is refused; a C++ number takes the
// tensor's dtype unless its category is higher. "Float function": integers and booleans are
// converted to f32 first. An axis lies in
// [-rank, rank). Operands on another device are moved to the first float operand's, differentiably.
// Where a gradient has a choice the function says so; everything else differentiates as mathematics
// does.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

using Tensors = std::vector<Tensor>;

// -- creation
// Made on `device`; on an autodiff device the result carries its context. Sizes are checked.
// Without a dtype it is the device's default float (dispatch/device_settings.h): f32 unless set
// otherwise.

Tensor full(const Shape& shape, Scalar value, const Device& device = Device::default_device(),
            std::optional<DType> dtype = std::nullopt);
Tensor zeros(const Shape& shape, const Device& device = Device::default_device(),
             std::optional<DType> dtype = std::nullopt);
Tensor ones(const Shape& shape, const Device& device = Device::default_device(),
            std::optional<DType> dtype = std::nullopt);
/// Zeros: memory is never handed out uncleared.
Tensor empty(const Shape& shape, const Device& device = Device::default_device(),
             std::optional<DType> dtype = std::nullopt);
/// Like `like` in shape, device and context; in dtype too unless one is given.
Tensor full_like(const Tensor& like, Scalar value, std::optional<DType> dtype = std::nullopt);
Tensor zeros_like(const Tensor& like, std::optional<DType> dtype = std::nullopt);
Tensor ones_like(const Tensor& like, std::optional<DType> dtype = std::nullopt);
Tensor empty_like(const Tensor& like, std::optional<DType> dtype = std::nullopt);
/// `value` everywhere, in the shape, dtype and on the device of x.
Tensor fill(const Tensor& x, Scalar value);
/// On the device and in the dtype of `like`, of another shape.
Tensor new_full(const Tensor& like, const Shape& shape, Scalar value);
Tensor new_zeros(const Tensor& like, const Shape& shape);
Tensor new_ones(const Tensor& like, const Shape& shape);
Tensor new_empty(const Tensor& like, const Shape& shape);
/// start, start + step, ... before `end`: the default float if any argument is floating, else the
/// default integer (i64 unless set otherwise), unless `dtype` says otherwise. INVALID_ARGUMENT for
/// a step of 0 or one that leads away from `end`.
Tensor arange(Scalar start, Scalar end, Scalar step = 1,
              const Device& device = Device::default_device(),
              std::optional<DType> dtype = std::nullopt);
/// `count` evenly spaced numbers from `start` to `end`, both included; rounded down, from f32, if
/// `dtype` is an integer's.
Tensor linspace(double start, double end, int64_t count,
                const Device& device = Device::default_device(),
                std::optional<DType> dtype = std::nullopt);
/// base^x for x in linspace(start, end, count).
Tensor logspace(double start, double end, int64_t count, double base = 10.0,
                const Device& device = Device::default_device(),
                std::optional<DType> dtype = std::nullopt);
/// Ones on the diagonal of a rows x columns matrix; square unless `columns` is given.
Tensor eye(int64_t rows, std::optional<int64_t> columns = std::nullopt,
           const Device& device = Device::default_device(),
           std::optional<DType> dtype = std::nullopt);
/// Elements on and below (tril) or above (triu) the k-th diagonal of the last two axes; zero
/// elsewhere.
Tensor tril(const Tensor& x, int64_t k = 0);
Tensor triu(const Tensor& x, int64_t k = 0);
/// i64 [..., classes] with 1 at each index and 0 elsewhere. An index out of range gives a row of
/// zeros.
Tensor one_hot(const Tensor& index, int64_t classes);
/// Grids of coordinates of rank-1 tensors, indexing "ij".
Tensors meshgrid(const Tensors& axes);
/// Uniform draws from [low, high). INVALID_ARGUMENT unless low <= high and the dtype holds both and
/// their difference.
Tensor uniform(const Shape& shape, const Device& device = Device::default_device(),
               double low = 0.0, double high = 1.0, std::optional<DType> dtype = std::nullopt);
/// Normal draws. INVALID_ARGUMENT unless the dtype holds mean and deviation, which is not negative.
Tensor normal(const Shape& shape, const Device& device = Device::default_device(),
              double mean = 0.0, double deviation = 1.0, std::optional<DType> dtype = std::nullopt);
/// true with probability p. INVALID_ARGUMENT unless 0 <= p <= 1.
Tensor bernoulli(const Shape& shape, double p, const Device& device = Device::default_device());
/// i64 draws from [low, high); the range is at most 2^24 long. INVALID_ARGUMENT for an empty range.
Tensor randint(int64_t low, int64_t high, const Shape& shape,
               const Device& device = Device::default_device());
/// i64: 0 .. count - 1 in random order.
Tensor randperm(int64_t count, const Device& device = Device::default_device());
/// i64 [.., count]: indices drawn with probabilities proportional to the last axis of `weights`
/// [.., n]. Without replacement no index occurs twice. Weights that are negative, not finite or
/// all 0, or fewer positive ones than a draw without replacement needs, are an error of the op.
Tensor multinomial(const Tensor& weights, int64_t count, bool replacement = false);

// -- elementwise, one input
// The result has the input's shape.

Tensor abs(const Tensor& x);       ///< gradient at 0: 0
Tensor neg(const Tensor& x);       ///< integers wrap; booleans count as i64
Tensor sign(const Tensor& x);      ///< -1, 0, 1; NaN stays NaN; gradient 0
Tensor positive(const Tensor& x);  ///< x itself; booleans as i64
Tensor square(const Tensor& x);
Tensor sqrt(const Tensor& x);        ///< float function, correctly rounded
Tensor rsqrt(const Tensor& x);       ///< float function
Tensor reciprocal(const Tensor& x);  ///< float function
Tensor cbrt(const Tensor& x);        ///< float function; negative for negative x
Tensor exp(const Tensor& x);         ///< float function
Tensor exp2(const Tensor& x);        ///< float function
Tensor expm1(const Tensor& x);       ///< float function
Tensor log(const Tensor& x);         ///< float function
Tensor log2(const Tensor& x);        ///< float function
Tensor log10(const Tensor& x);       ///< float function
Tensor log1p(const Tensor& x);       ///< float function
Tensor sin(const Tensor& x);         ///< float function, radians
Tensor cos(const Tensor& x);         ///< float function, radians
Tensor tan(const Tensor& x);         ///< float function, radians
Tensor sinh(const Tensor& x);        ///< float function
Tensor cosh(const Tensor& x);        ///< float function
Tensor tanh(const Tensor& x);        ///< float function
Tensor asinh(const Tensor& x);       ///< float function
Tensor acosh(const Tensor& x);       ///< float function; NaN below 1
Tensor atanh(const Tensor& x);       ///< float function
Tensor asin(const Tensor& x);        ///< float function; NaN outside [-1, 1]
Tensor acos(const Tensor& x);        ///< float function; NaN outside [-1, 1]
Tensor atan(const Tensor& x);        ///< float function
Tensor erf(const Tensor& x);         ///< float function
Tensor erfc(const Tensor& x);        ///< float function, 1 - erf(x), exact where erf is near 1
Tensor erfinv(const Tensor& x);      ///< float function; NaN outside [-1, 1]
Tensor lgamma(const Tensor& x);      ///< float function, log |gamma(x)|
Tensor digamma(const Tensor& x);     ///< float function, the derivative of lgamma
/// The `order`-th derivative of digamma, up to the 100th. Float function.
Tensor polygamma(int64_t order, const Tensor& x);
Tensor sigmoid(const Tensor& x);  ///< float function
/// log(x / (1 - x)), x clipped to [eps, 1 - eps] if `eps` is given. Float function.
Tensor logit(const Tensor& x, std::optional<double> eps = std::nullopt);
/// Rounding; integers are returned as they are, booleans are refused. Gradient 0.
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor trunc(const Tensor& x);
Tensor round(const Tensor& x);  ///< half to even
Tensor round(const Tensor& x,
             int64_t decimals);   ///< of x 10^decimals; integers are returned as they are
Tensor frac(const Tensor& x);     ///< x - trunc(x); floats only
Tensor deg2rad(const Tensor& x);  ///< float function
Tensor rad2deg(const Tensor& x);  ///< float function
Tensor sinc(const Tensor& x);     ///< float function, sin(pi x) / (pi x), 1 at 0
Tensor nan_to_num(
    const Tensor& x, double nan = 0.0, std::optional<double> posinf = std::nullopt,
    std::optional<double> neginf = std::nullopt);  ///< infinities default to the finite extremes
Tensor isnan(const Tensor& x);                     ///< bool
Tensor isinf(const Tensor& x);                     ///< bool
Tensor isfinite(const Tensor& x);                  ///< bool
Tensor isposinf(const Tensor& x);                  ///< bool
Tensor isneginf(const Tensor& x);                  ///< bool
Tensor signbit(const Tensor& x);                   ///< bool; true for -0.0; NaN by its sign bit
Tensor logical_not(const Tensor& x);               ///< bool; numbers are true when not 0
Tensor bitwise_not(const Tensor& x);               ///< integers; of booleans logical_not
Tensor astype(const Tensor& x,
              DType dtype);  ///< float to integer truncates, saturates, NaN gives 0

// -- elementwise, two or three
// At least one operand is a tensor. Booleans: add is or, mul is and, sub is refused, maximum and
// minimum stay bool, other arithmetic acts as on i64.

Tensor add(const Operand& x, const Operand& y);
Tensor sub(const Operand& x, const Operand& y);
Tensor mul(const Operand& x, const Operand& y);
/// Float function: integers give f32.
Tensor div(const Operand& x, const Operand& y);
/// floor(x / y) and the remainder with the sign of y; booleans count as i64. An integer y of 0 is
/// an error of the op, found when it runs: reading what depends on it throws INVALID_ARGUMENT.
Tensor floor_divide(const Operand& x, const Operand& y);
Tensor remainder(const Operand& x, const Operand& y);
/// The remainder with the sign of x, otherwise as `remainder`.
Tensor fmod(const Operand& x, const Operand& y);
/// Gradients: d/dx x^0 = 0, d/dy 0^y = 0 for y > 0. An integer tensor to a negative integer number
/// is refused.
Tensor pow(const Operand& x, const Operand& y);
Tensor float_power(const Operand& x, const Operand& y);  ///< pow in floating point
/// NaN propagates. Gradient: half each at a tie.
Tensor maximum(const Operand& x, const Operand& y);
Tensor minimum(const Operand& x, const Operand& y);
/// NaN is ignored unless both are NaN.
Tensor fmax(const Operand& x, const Operand& y);
Tensor fmin(const Operand& x, const Operand& y);
Tensor hypot(const Operand& x, const Operand& y);  ///< float function; gradient at 0: 0
/// The angle of the point (x, y), in [-pi, pi]. Float function; gradient at the origin: 0.
Tensor atan2(const Operand& y, const Operand& x);
Tensor logaddexp(const Operand& x, const Operand& y);  ///< log(exp(x) + exp(y)); float function
Tensor logaddexp2(const Operand& x, const Operand& y);
Tensor xlogy(const Operand& x, const Operand& y);  ///< x log(y), 0 where x is 0; float function
Tensor heaviside(const Operand& x, const Operand& values);  ///< 0, `values` or 1 by the sign of x
Tensor copysign(const Operand& x, const Operand& y);        ///< float function
Tensor ldexp(const Operand& x, const Operand& y);           ///< x * 2^y; float function
Tensor equal(const Operand& x, const Operand& y);           ///< bool
Tensor not_equal(const Operand& x, const Operand& y);       ///< bool
Tensor less(const Operand& x, const Operand& y);            ///< bool
Tensor less_equal(const Operand& x, const Operand& y);      ///< bool
Tensor greater(const Operand& x, const Operand& y);         ///< bool
Tensor greater_equal(const Operand& x, const Operand& y);   ///< bool
Tensor logical_and(const Operand& x, const Operand& y);     ///< bool; numbers are true when not 0
Tensor logical_or(const Operand& x, const Operand& y);      ///< bool
Tensor logical_xor(const Operand& x, const Operand& y);     ///< bool
/// Bits of integers; of booleans the logical operation.
Tensor bitwise_and(const Operand& x, const Operand& y);
Tensor bitwise_or(const Operand& x, const Operand& y);
Tensor bitwise_xor(const Operand& x, const Operand& y);
/// Integers; every bit is lost unless 0 <= y < 64. The right shift fills in the sign.
Tensor bitwise_left_shift(const Operand& x, const Operand& y);
Tensor bitwise_right_shift(const Operand& x, const Operand& y);
Tensor gcd(const Operand& x, const Operand& y);  ///< integers; never negative
Tensor lcm(const Operand& x, const Operand& y);  ///< integers; never negative; wraps
/// |x - y| <= atol + rtol |y|, elementwise: bool.
Tensor isclose(const Tensor& x, const Tensor& y, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
/// True if every element is close: a rank-0 bool.
Tensor allclose(const Tensor& x, const Tensor& y, double rtol = 1e-5, double atol = 1e-8,
                bool equal_nan = false);
/// True if shapes and all elements are equal: a rank-0 bool.
Tensor array_equal(const Tensor& x, const Tensor& y);
/// x where the bool `condition` holds, else y. No NaN leaks into the gradient from the branch not
/// taken.
Tensor where(const Tensor& condition, const Operand& x, const Operand& y);
/// max(low, min(x, high)) with absent bounds skipped; the gradient passes at both bounds.
Tensor clip(const Tensor& x, std::optional<Operand> low, std::optional<Operand> high);
Tensor lerp(const Tensor& start, const Tensor& end,
            const Operand& weight);  ///< start + weight (end - start)
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b,
               Scalar value = 1);  ///< x + value a b
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b,
               Scalar value = 1);  ///< x + value a / b

inline Tensor operator+(const Operand& x, const Operand& y) { return add(x, y); }
inline Tensor operator-(const Operand& x, const Operand& y) { return sub(x, y); }
inline Tensor operator*(const Operand& x, const Operand& y) { return mul(x, y); }
inline Tensor operator/(const Operand& x, const Operand& y) { return div(x, y); }
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator==(const Operand& x, const Operand& y) { return equal(x, y); }
inline Tensor operator!=(const Operand& x, const Operand& y) { return not_equal(x, y); }
inline Tensor operator<(const Operand& x, const Operand& y) { return less(x, y); }
inline Tensor operator<=(const Operand& x, const Operand& y) { return less_equal(x, y); }
inline Tensor operator>(const Operand& x, const Operand& y) { return greater(x, y); }
inline Tensor operator>=(const Operand& x, const Operand& y) { return greater_equal(x, y); }

// -- reductions
// `axes`: all, one or several. Reduced axes disappear, or become 1 with `keepdims`.

/// Booleans and signed integers give i64, unsigned u64, unless `dtype` is given. An empty sum is 0.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdims = false,
           std::optional<DType> dtype = std::nullopt);
/// dtypes as `sum`; the gradient is exact where elements are 0. An empty product is 1.
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdims = false,
            std::optional<DType> dtype = std::nullopt);
/// Integers and booleans are refused unless a floating `dtype` is given.
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdims = false,
            std::optional<DType> dtype = std::nullopt);
/// Sum of squared deviations (two passes) / (count - correction). Floats only.
Tensor var(const Tensor& x, const Axes& axes = {}, double correction = 1.0, bool keepdims = false);
Tensor std(const Tensor& x, const Axes& axes = {}, double correction = 1.0, bool keepdims = false);
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Axes& axes = {}, double correction = 1.0,
                                   bool keepdims = false);
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Axes& axes = {}, double correction = 1.0,
                                   bool keepdims = false);
/// NaN propagates; the gradient is shared evenly among equals. An empty axis is refused.
Tensor amax(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor amin(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
std::pair<Tensor, Tensor> aminmax(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
/// amax and amin over everything.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
/// Values and i64 indices along an axis: the lowest index among equals; the gradient goes to that
/// element.
std::pair<Tensor, Tensor> max(const Tensor& x, int64_t axis, bool keepdims = false);
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t axis, bool keepdims = false);
/// i64 index of the largest (smallest) element along `axis`, or in the flattened tensor; the lowest
/// among equals, NaN first.
Tensor argmax(const Tensor& x, std::optional<int64_t> axis = std::nullopt, bool keepdims = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> axis = std::nullopt, bool keepdims = false);
/// bool; numbers are true when not 0.
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor count_nonzero(const Tensor& x, const Axes& axes = {});
/// log(sum(exp(x))) without overflow. Float function.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
/// (sum |x|^order)^(1 / order); order may be 0 (count), infinite or negative. Gradient at 0: 0.
/// Floats only.
Tensor vector_norm(const Tensor& x, double order = 2.0, const Axes& axes = {},
                   bool keepdims = false);
/// `vector_norm` over `axes`.
Tensor norm(const Tensor& x, double order = 2.0, const Axes& axes = {}, bool keepdims = false);
Tensor dist(const Tensor& x, const Tensor& y, double order = 2.0);  ///< norm of x - y
/// NaN counts as nothing.
Tensor nansum(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
/// Running sum and product along `axis`; dtypes as `sum`.
Tensor cumsum(const Tensor& x, int64_t axis);
Tensor cumprod(const Tensor& x, int64_t axis);
/// n-th difference of neighbours along `axis`.
Tensor diff(const Tensor& x, int64_t n = 1, int64_t axis = -1);
/// Sums the axes that broadcasting `shape` to x's shape would have repeated.
Tensor sum_to_size(const Tensor& x, const Shape& shape);

// -- shape

/// One size may be -1: what the others leave.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor view(const Tensor& x, const Shape& shape);  ///< reshape
Tensor flatten(const Tensor& x, int64_t start_axis = 0, int64_t end_axis = -1);
/// `axis` split into `sizes`, one of which may be -1.
Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes);
Tensor ravel(const Tensor& x);
/// Removes every size-1 axis, or those named that are of size 1.
Tensor squeeze(const Tensor& x, const Axes& axes = {});
Tensor unsqueeze(const Tensor& x, int64_t axis);
Tensor permute(const Tensor& x, const Dims& axes);
Tensor transpose(const Tensor& x, int64_t axis0 = -2, int64_t axis1 = -1);
Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1);
Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination);
Tensor flip(const Tensor& x, const Axes& axes = {});
Tensor fliplr(const Tensor& x);
Tensor flipud(const Tensor& x);
/// Rotated by `times` quarter turns in the plane of two axes, from the first towards the second.
Tensor rot90(const Tensor& x, int64_t times = 1, const Dims& axes = {0, 1});
/// Shifted cyclically along each axis; without axes the flattened tensor is.
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& axes = {});
Tensor broadcast_to(const Tensor& x, const Shape& shape);
Tensors broadcast_tensors(const Tensors& tensors);
/// `broadcast_to` where -1 keeps a size.
Tensor expand(const Tensor& x, const Shape& shape);
/// The whole tensor repeated along each axis; `counts` may be longer than the rank (repeat) or
/// shorter (tile).
Tensor repeat(const Tensor& x, const Dims& counts);
Tensor tile(const Tensor& x, const Dims& counts);
/// Each element along `axis` repeated `count` times; without an axis the flattened tensor's.
Tensor repeat_interleave(const Tensor& x, int64_t count,
                         std::optional<int64_t> axis = std::nullopt);
/// Joined along an axis; dtypes are promoted. An empty list is refused.
Tensor concat(const Tensors& tensors, int64_t axis = 0);
Tensor stack(const Tensors& tensors, int64_t axis = 0);
Tensor hstack(const Tensors& tensors);
Tensor vstack(const Tensors& tensors);
Tensor dstack(const Tensors& tensors);
Tensor column_stack(const Tensors& tensors);
/// Parts of `size` elements along `axis`, the last may be smaller; or parts of the given sizes.
Tensors split(const Tensor& x, int64_t size, int64_t axis = 0);
Tensors split(const Tensor& x, const Dims& sizes, int64_t axis = 0);
/// At most `count` parts of equal size, the last may be smaller.
Tensors chunk(const Tensor& x, int64_t count, int64_t axis = 0);
/// Exactly `count` parts whose sizes differ by one at most; or parts between the given indices.
Tensors tensor_split(const Tensor& x, int64_t count, int64_t axis = 0);
Tensors tensor_split(const Tensor& x, const Dims& indices, int64_t axis = 0);
Tensors unbind(const Tensor& x, int64_t axis = 0);
/// `length` elements from `start` along `axis`.
Tensor narrow(const Tensor& x, int64_t axis, int64_t start, int64_t length);
Tensor select(const Tensor& x, int64_t axis, int64_t index);
Tensor slice(const Tensor& x, int64_t axis, std::optional<int64_t> start,
             std::optional<int64_t> end = std::nullopt, int64_t step = 1);
/// x with the elements that `slice` would take replaced by `source`, broadcast to them.
Tensor slice_assign(const Tensor& x, const Operand& source, int64_t axis,
                    std::optional<int64_t> start, std::optional<int64_t> end = std::nullopt,
                    int64_t step = 1);
/// x with the elements that `select` would take replaced by `source`.
Tensor select_scatter(const Tensor& x, const Tensor& source, int64_t axis, int64_t index);
/// The k-th diagonal of two axes, as a new last axis.
Tensor diagonal(const Tensor& x, int64_t k = 0, int64_t axis0 = 0, int64_t axis1 = 1);
/// Padded with `value`; `widths` are pairs (before, after), the last axis first. Negative widths
/// cut.
Tensor pad(const Tensor& x, const Dims& widths, Scalar value = 0.0);
Tensor contiguous(const Tensor& x);  ///< x itself: layout is the backend's business
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);

// -- indexing
// Index tensors are i64. Values are checked when the op runs: an index out of range fails that op
// alone, and the error shows at the first read of what depends on it. Negative index values are
// refused the same way unless said otherwise.

/// out[.., j, ..] = x[.., index[.., j, ..], ..] along `axis`; other axes of `index` are no longer
/// than x's.
Tensor gather(const Tensor& x, int64_t axis, const Tensor& index);
/// x with `source` added at `index` along `axis`, in index order.
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// `gather` with the other axes broadcast; without an axis over the flattened tensor.
Tensor take_along_dim(const Tensor& x, const Tensor& index,
                      std::optional<int64_t> axis = std::nullopt);
/// Elements of the flattened tensor, in the index's shape; negative indices count from the end.
Tensor take(const Tensor& x, const Tensor& index);
/// The slices of `axis` at a rank-1 (or rank-0) index.
Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index);
/// x with alpha times the slices of `source` added at a rank-1 index.
Tensor index_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source,
                 Scalar alpha = 1);
/// `value` where the bool `mask` holds, else x; both broadcast, the dtype stays x's.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value);

// -- linear algebra

/// [..., M, K] x [..., K, N]; batch axes broadcast, a rank-1 operand is a row (left) or column
/// (right).
Tensor matmul(const Tensor& x, const Tensor& y);
Tensor mm(const Tensor& x, const Tensor& y);    ///< rank 2 only
Tensor bmm(const Tensor& x, const Tensor& y);   ///< rank 3 only, equal batches
Tensor mv(const Tensor& x, const Tensor& y);    ///< rank 2 by rank 1
Tensor dot(const Tensor& x, const Tensor& y);   ///< rank 1 by rank 1
Tensor vdot(const Tensor& x, const Tensor& y);  ///< dot
Tensor vecdot(const Tensor& x, const Tensor& y, int64_t axis = -1);
Tensor inner(const Tensor& x, const Tensor& y);  ///< sum over the last axes
Tensor outer(const Tensor& x, const Tensor& y);  ///< rank 1 by rank 1
Tensor kron(const Tensor& x, const Tensor& y);
/// Sum over `count` last axes of x and first axes of y, or over the named pairs of axes.
Tensor tensordot(const Tensor& x, const Tensor& y, int64_t count);
Tensor tensordot(const Tensor& x, const Tensor& y, const Dims& x_axes, const Dims& y_axes);
/// beta x + alpha (a @ b), with addmm's rank 2, baddbmm's rank 3, addmv's a @ vector, addr's outer
/// product.
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta = 1,
               Scalar alpha = 1);
Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
Tensor addmv(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
Tensor trace(const Tensor& x);
Tensor matrix_power(const Tensor& x, int64_t power);  ///< of the inverse if power < 0
Tensor multi_dot(const Tensors& matrices);
/// x / max(norm(x, order, axis), eps).
Tensor normalize(const Tensor& x, double order = 2.0, int64_t axis = 1, double eps = 1e-12);
Tensor cosine_similarity(const Tensor& x, const Tensor& y, int64_t axis = 1, double eps = 1e-8);
Tensor pairwise_distance(const Tensor& x, const Tensor& y, double order = 2.0, double eps = 1e-6,
                         bool keepdims = false);

}  // namespace remora

#include "client/ops_arrange.h"
#include "client/ops_attention.h"
#include "client/ops_ctc.h"
#include "client/ops_factor.h"
#include "client/ops_grid.h"
#include "client/ops_margin_losses.h"
#include "client/ops_nn.h"
#include "client/ops_order.h"
#include "client/ops_pooling.h"
#include "client/ops_products.h"
#include "client/ops_scatter.h"
#include "client/ops_search.h"
#include "client/ops_signal.h"
#include "client/ops_volumes.h"
