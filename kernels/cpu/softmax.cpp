#include "dispatch/error.h"
#include "kernels/cpu/row_reductions.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kSoftmaxNs = 2.5;
constexpr int64_t kColumns = 64;

template <typename T>
void softmax_row(const T* __restrict x, T* __restrict out, int64_t count) {
  const T maximum = extreme_row(x, count);
  for (int64_t i = 0; i < count; ++i) out[i] = r_exp(x[i] - maximum);
  const auto sum = static_cast<T>(sum_row(out, count));
  for (int64_t i = 0; i < count; ++i) out[i] /= sum;
}

/// `width` <= kColumns neighbouring columns of a [count, stride] plane.
template <typename T>
void softmax_columns(const T* __restrict x, T* __restrict out, int64_t count, int64_t stride,
                     int64_t width) {
  T maximum[kColumns];
  double sum[kColumns] = {};
  std::copy_n(x, width, maximum);
  for (int64_t i = 1; i < count; ++i) {
    for (int64_t j = 0; j < width; ++j) maximum[j] = r_max(maximum[j], x[i * stride + j]);
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const T value = r_exp(x[i * stride + j] - maximum[j]);
      out[i * stride + j] = value;
      sum[j] += static_cast<double>(value);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < width; ++j) out[i * stride + j] /= static_cast<T>(sum[j]);
  }
}

template <typename T>
absl::Status softmax_of(const KernelCall& call) {
  const TensorView& in = call.in(0);
  const int64_t numel = in.numel();
  if (numel == 0) return absl::OkStatus();
  const int64_t axis = call.attributes<dispatch::AxisAttrs>().axis;
  const int64_t count = in.rank() == 0 ? 1 : in.size(axis);
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < in.rank(); ++i) inner *= in.size(i);

  REMORA_ASSIGN_OR_RETURN(const Packed packed, Packed::of(call, in));
  const auto* x = packed.as<T>();
  auto* out = call.out().as<T>();
  // A unit is one row, or one tile of columns of one plane.
  const int64_t width = std::min(inner, kColumns);
  const int64_t tiles = (inner + width - 1) / width;
  const int64_t units = numel / (count * inner) * tiles;
  const int64_t per_block = std::max<int64_t>(1, kElementBlock / 4 / (count * width));
  const double cost = static_cast<double>(numel) * kSoftmaxNs;
  call.parallel_for((units + per_block - 1) / per_block, cost, [&](int64_t block, int) {
    for (int64_t unit = block * per_block; unit < std::min(units, (block + 1) * per_block);
         ++unit) {
      const int64_t column = unit % tiles * width;
      const int64_t offset = unit / tiles * count * inner + column;
      if (inner == 1) {
        softmax_row(x + offset, out + offset, count);
      } else {
        softmax_columns(x + offset, out + offset, count, inner, std::min(width, inner - column));
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace

namespace kernels {

absl::Status softmax(const KernelCall& call) {
  return call.out().dtype == DType::kF64 ? softmax_of<double>(call) : softmax_of<float>(call);
}

}  // namespace kernels
}  // namespace remora::cpu
