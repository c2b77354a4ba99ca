// Borders and sliding windows: elements taken by computed indices along one axis at a time.
#include <algorithm>
#include <limits>

#include "client/apply.h"
#include "client/host_list.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// Where the element at `position` of an axis of `size`, counted from its own first, comes from.
int64_t source_index(PadMode mode, int64_t position, int64_t size) {
  switch (mode) {
    case PadMode::kReflect:
      if (position < 0) return -position;
      return position < size ? position : 2 * (size - 1) - position;
    case PadMode::kCircular:
      return (position + size) % size;
    default:
      return std::clamp<int64_t>(position, 0, size - 1);
  }
}

Tensor pad_axis(const Tensor& x, int64_t axis, int64_t before, int64_t after, PadMode mode) {
  const int64_t size = x.size(axis);
  const int64_t widest = std::max(before, after);
  const int64_t limit = mode == PadMode::kReflect ? size - 1 : size;
  if (mode != PadMode::kReplicate ? widest > limit : size == 0 && widest > 0) {
    refuse("pad",
           str_cat("widths ", before, " and ", after, " are too large for an axis of ", size));
  }
  check_host_list("pad", widest, 1);
  const int64_t padded = std::min(before, after) < -size ? -1 : size + before + after;
  if (padded < 0) {
    refuse("pad", str_cat("widths ", before, " and ", after, " cut more than ", size));
  }
  check_host_list("pad", padded, 1);
  std::vector<int64_t> index;
  for (int64_t i = 0; i < padded; ++i) index.push_back(source_index(mode, i - before, size));
  return index_select(x, axis, from_data(index, {padded}, x.device()));
}

/// How many windows an axis of `shape` has.
int64_t count_windows(std::string_view function, const Shape& shape, int64_t axis, int64_t size,
                      int64_t step, int64_t dilation) {
  const int64_t length = shape[axis];
  const bool fits = size >= 0 && size <= length && step > 0 && dilation > 0 &&
                    (size <= 1 || size - 1 <= (length - 1) / dilation);
  if (!fits) {
    refuse(function, str_cat("windows of ", size, " elements, ", step, " apart, dilation ",
                             dilation, ", do not fit axis ", axis, " of ", shape.str()));
  }
  const int64_t reach = (size - 1) * dilation + 1;
  return (length - reach) / step + 1;
}

void check_windows(std::string_view function, const Shape& windows) {
  if (const absl::Status status = check_shape(windows); !status.ok()) {
    refuse(function, str_cat("windows of ", windows.str(), ": ", std::string(status.message())));
  }
}

/// [.., size of axis, ..] -> [.., windows, size, ..].
Tensor windows_along(std::string_view function, const Tensor& x, int64_t axis, int64_t size,
                     int64_t step, int64_t dilation) {
  const int64_t count = count_windows(function, x.shape(), axis, size, step, dilation);
  Shape result = x.shape();
  result[axis] = size;
  result.sizes().insert(result.sizes().begin() + axis, count);
  check_windows(function, result);
  const Device device = x.device().without_autodiff();
  const Tensor starts = unsqueeze(arange(0, count, 1, device, DType::kI64) * step, 1);
  const Tensor index = ravel(starts + arange(0, size, 1, device, DType::kI64) * dilation);
  return reshape(index_select(x, axis, index), result);
}

}  // namespace

Tensor pad(const Tensor& x, const Dims& widths, PadMode mode, Scalar value) {
  if (mode == PadMode::kConstant) return pad(x, widths, value);
  const CallScope scope;
  const auto pairs = static_cast<int64_t>(widths.size() / 2);
  if (widths.size() % 2 != 0 || pairs > x.rank()) {
    refuse("pad", str_cat(widths.size(), " widths do not fit a tensor of rank ", x.rank()));
  }
  Tensor padded = x;
  for (int64_t i = 0; i < pairs; ++i) {
    const int64_t before = widths[static_cast<size_t>(2 * i)];
    const int64_t after = widths[static_cast<size_t>(2 * i + 1)];
    if (before == 0 && after == 0) continue;
    padded = pad_axis(padded, x.rank() - 1 - i, before, after, mode);
  }
  return padded;
}

Tensor unfold(const Tensor& x, int64_t axis, int64_t size, int64_t step) {
  const CallScope scope;
  if (x.rank() == 0) return unfold(reshape(x, {1}), axis, size, step)[0];
  const int64_t along = normalize_axis("unfold", axis, x.rank());
  return movedim(windows_along("unfold", x, along, size, step, 1), Dims{along + 1}, Dims{-1});
}

Tensor unfold(const Tensor& x, const Extent2d& kernel, const Extent2d& dilation,
              const Extent2d& padding, const Extent2d& stride) {
  const CallScope scope;
  if (x.rank() != 4) refuse("unfold", str_cat("takes [N, C, H, W], not ", x.shape().str()));
  if (padding.height < 0 || padding.width < 0) refuse("unfold", "padding must not be negative");
  const Tensor padded = pad(x, Dims{padding.width, padding.width, padding.height, padding.height});
  // Before the rows' windows are made, which may fit where all of them do not.
  const Shape& plane = padded.shape();
  const int64_t down =
      count_windows("unfold", plane, 2, kernel.height, stride.height, dilation.height);
  const int64_t across =
      count_windows("unfold", plane, 3, kernel.width, stride.width, dilation.width);
  check_windows("unfold", {x.size(0), x.size(1), kernel.height, kernel.width, down, across});
  const Tensor rows =
      windows_along("unfold", padded, 2, kernel.height, stride.height, dilation.height);
  const Tensor windows =
      windows_along("unfold", rows, 4, kernel.width, stride.width, dilation.width);
  const Tensor columns = permute(windows, Dims{0, 1, 3, 5, 2, 4});  // [N, C, KH, KW, OH, OW]
  return reshape(columns, {x.size(0), x.size(1) * kernel.height * kernel.width,
                           windows.size(2) * windows.size(4)});
}

Tensor fold(const Tensor& columns, const Extent2d& size, const Extent2d& kernel,
            const Extent2d& dilation, const Extent2d& padding, const Extent2d& stride) {
  const CallScope scope;
  require_float("fold", columns.dtype());
  if (is_half(columns.dtype())) {
    return through_f32(
        columns, [&](const Tensor& f) { return fold(f, size, kernel, dilation, padding, stride); });
  }
  if (std::min({size.height, size.width, padding.height, padding.width}) < 0) {
    refuse("fold", "a size or padding is negative");
  }
  const auto padded = [](int64_t length, int64_t by) {
    constexpr int64_t kCap = std::numeric_limits<int64_t>::max();
    return capped_sum(capped_sum(length, by, kCap), by, kCap);
  };
  const Shape plane = {padded(size.height, padding.height), padded(size.width, padding.width)};
  require_shape("fold", plane);
  // Which element of the padded plane each element of a column is.
  const Tensor numbers =
      arange(0, plane.numel(), 1, columns.device().without_autodiff(), DType::kI64);
  const Tensor position =
      unfold(reshape(numbers, {1, 1, plane[0], plane[1]}), kernel, dilation, 0, stride)[0];
  const int64_t taps = position.size(0);
  const bool fits = columns.rank() == 3 && taps > 0 && columns.size(1) % taps == 0 &&
                    columns.size(2) == position.size(1);
  if (!fits) {
    refuse("fold", str_cat("columns of ", columns.shape().str(), " are not [N, C * ", taps, ", ",
                           position.size(1), "]"));
  }
  const int64_t channels = columns.size(1) / taps;
  const Tensor rows = reshape(columns, {columns.size(0) * channels, taps * columns.size(2)});
  const Tensor none =
      zeros({rows.size(0), plane.numel()}, columns.device().without_autodiff(), columns.dtype());
  const Tensor sums = reshape(index_add(none, 1, ravel(position), rows),
                              {columns.size(0), channels, plane[0], plane[1]});
  return narrow(narrow(sums, 2, padding.height, size.height), 3, padding.width, size.width);
}

}  // namespace remora
