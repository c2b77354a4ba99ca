#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/matvec.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kNsPerMultiply = 0.03;
constexpr double kNsPerIntegerMultiply = 0.8;
constexpr double kNsPerCall = 300;
constexpr double kNsPerVectorMultiply = 0.25;
constexpr int64_t kVectorBlock = int64_t{1} << 18;  // multiplications of a block
constexpr int64_t kVectorRows = 64;
constexpr int64_t kBlockMultiplies = int64_t{1} << 20;
constexpr int64_t kTileUnit = 16;
constexpr int64_t kMaxBlasExtent = (int64_t{1} << 31) - 1;

/// An axis cut into tiles of nearly equal size in whole units of 16, the last one shorter by what
/// is missing.
struct Cut {
  int64_t extent, units, count;
  Cut(int64_t axis_extent, int64_t tile)
      : extent(axis_extent),
        units((axis_extent + kTileUnit - 1) / kTileUnit),
        count(std::max<int64_t>(1, (axis_extent + tile - 1) / tile)) {}
  int64_t begin(int64_t tile) const { return std::min(extent, units * tile / count * kTileUnit); }
  int64_t size(int64_t tile) const { return begin(tile + 1) - begin(tile); }
  int64_t smallest() const { return size(count - 1); }
};

/// One operand: its data and strides, of the last two axes and of the batch.
struct Operand {
  TensorView view;
  Dims strides;
  Packed packed;

  int64_t row_stride() const { return strides[strides.size() - 2]; }
  int64_t column_stride() const { return strides[strides.size() - 1]; }
  template <typename T>
  Matrix<T> matrix(int64_t offset) const {
    return {view.as<const T>() + offset, row_stride(), column_stride()};
  }
};

/// The operand as it lies where the BLAS can read it there, else a row-major copy. `row_major`
/// demands rows without gaps between their elements.
absl::StatusOr<Operand> blas_operand(const KernelCall& call, const TensorView& view,
                                     bool row_major) {
  Operand operand{view, Dims(view.strides.begin(), view.strides.end()), {}};
  const int64_t rows = view.size(view.rank() - 2);
  const int64_t columns = view.size(view.rank() - 1);
  const int64_t row_stride = operand.row_stride();
  const int64_t column_stride = operand.column_stride();
  const bool fits = row_stride <= kMaxBlasExtent && column_stride <= kMaxBlasExtent;
  const bool in_rows = columns == 1 || column_stride == 1;
  if (fits && is_blas_layout(row_stride, column_stride, rows, columns) && (in_rows || !row_major)) {
    return operand;
  }
  REMORA_ASSIGN_OR_RETURN(operand.packed, Packed::of(call, view));
  operand.strides = contiguous_strides(Shape(view.sizes));
  operand.view.data = const_cast<std::byte*>(operand.packed.data());
  return operand;
}

/// The batch axes of both operands.
LoopNest<2> batch_nest(const TensorView& out, const Dims& a_strides, const Dims& b_strides) {
  LoopNest<2> batch;
  batch.push(1, {});
  for (int64_t axis = 0; axis < out.rank() - 2; ++axis) {
    const auto i = static_cast<size_t>(axis);
    batch.push(out.size(axis), {a_strides[i], b_strides[i]});
  }
  return batch;
}

/// One of the operands is a vector: the other one's rows are cut into blocks.
template <typename T>
absl::Status matmul_vector(const KernelCall& call, int64_t m, int64_t n, int64_t k) {
  const TensorView& a = call.in(0);
  const TensorView& b = call.in(1);
  const LoopNest<2> batch = batch_nest(call.out(), Dims(a.strides.begin(), a.strides.end()),
                                       Dims(b.strides.begin(), b.strides.end()));
  auto* out = call.out().as<T>();
  const int64_t last = a.rank() - 1;
  const int64_t rows = n == 1 ? m : n;
  const int64_t per_block =
      std::max(kVectorRows, kVectorBlock / std::max<int64_t>(1, k * kVectorRows) * kVectorRows);
  const int64_t blocks = (rows + per_block - 1) / per_block;
  const double cost = static_cast<double>(batch.numel) * static_cast<double>(rows) *
                      static_cast<double>(k) * kNsPerVectorMultiply;
  call.parallel_for(batch.numel * blocks, cost, [&](int64_t block, int) {
    const int64_t first = block % blocks * per_block;
    const int64_t count = std::min(per_block, rows - first);
    const auto offsets = offsets_at(batch, block / blocks);
    Matrix<T> matrix{a.as<const T>() + offsets[0], a.stride(last - 1), a.stride(last)};
    const T* vector = b.as<const T>() + offsets[1];
    int64_t vector_stride = b.stride(last - 1);
    if (n != 1) {  // a row times b is b's transpose times a column
      matrix = {vector, b.stride(last), b.stride(last - 1)};
      vector = a.as<const T>() + offsets[0];
      vector_stride = a.stride(last);
    }
    matrix.data += first * matrix.row_stride;
    matvec(count, k, matrix, vector, vector_stride, out + block / blocks * rows + first);
  });
  return absl::OkStatus();
}

template <typename T>
absl::Status matmul_float(const KernelCall& call, int64_t m, int64_t n, int64_t k) {
  if (k > kMaxBlasExtent || n > kMaxBlasExtent) {
    return absl::InvalidArgumentError(str_cat("matmul: axes of ", k, " and ", n,
                                              " elements exceed the limit of ", kMaxBlasExtent));
  }
  if (m == 1 || n == 1) return matmul_vector<T>(call, m, n, k);
  const Cut rows(m, kMatmulTileRows);
  const Cut columns(n, kMatmulTileColumns);
  const bool small = rows.smallest() * columns.smallest() < kSmallMatmul / std::max<int64_t>(k, 1);
  REMORA_ASSIGN_OR_RETURN(const Operand a, blas_operand(call, call.in(0), small));
  REMORA_ASSIGN_OR_RETURN(const Operand b, blas_operand(call, call.in(1), small));
  const LoopNest<2> batch = batch_nest(call.out(), a.strides, b.strides);
  auto* out = call.out().as<T>();

  const int64_t tiles = rows.count * columns.count;
  const int64_t units = batch.numel * tiles;
  const double multiplies =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int64_t tile_multiplies = rows.size(0) * columns.size(0) * std::max<int64_t>(k, 1);
  const int64_t per_block = std::max<int64_t>(1, kBlockMultiplies / tile_multiplies);
  const double cost = static_cast<double>(batch.numel) *
                      (multiplies * kNsPerMultiply + static_cast<double>(tiles) * kNsPerCall);
  call.parallel_for((units + per_block - 1) / per_block, cost, [&](int64_t block, int) {
    for (int64_t unit = block * per_block; unit < std::min(units, (block + 1) * per_block);
         ++unit) {
      const int64_t index = unit / tiles;
      const int64_t row = rows.begin(unit % tiles / columns.count);
      const int64_t column = columns.begin(unit % tiles % columns.count);
      const auto offsets = offsets_at(batch, index);
      Matrix<T> left = a.matrix<T>(offsets[0]);
      Matrix<T> right = b.matrix<T>(offsets[1]);
      left.data += row * left.row_stride;
      right.data += column * right.column_stride;
      gemm(rows.size(unit % tiles / columns.count), columns.size(unit % tiles % columns.count), k,
           left, right, false, out + (index * m + row) * n + column, n);
    }
  });
  return absl::OkStatus();
}

/// Row by row; products and sums wrap.
template <typename T>
absl::Status matmul_integer(const KernelCall& call, int64_t m, int64_t n, int64_t k) {
  const TensorView& a = call.in(0);
  const TensorView& b = call.in(1);
  const Dims a_strides(a.strides.begin(), a.strides.end());
  const Dims b_strides(b.strides.begin(), b.strides.end());
  const LoopNest<2> batch = batch_nest(call.out(), a_strides, b_strides);
  const int64_t last = a.rank() - 1;
  const double cost =
      static_cast<double>(call.out().numel()) * static_cast<double>(k) * kNsPerIntegerMultiply;
  call.parallel_for(batch.numel * m, cost, [&](int64_t row, int) {
    const auto offsets = offsets_at(batch, row / m);
    const auto* left = a.as<const T>() + offsets[0] + row % m * a.stride(last - 1);
    const auto* right = b.as<const T>() + offsets[1];
    auto* out = call.out().as<T>() + row * n;
    std::fill_n(out, n, 0);
    for (int64_t i = 0; i < k; ++i) {
      using Type = Element<T>;
      const auto factor = Type::load(left[i * a.stride(last)]);
      const T* right_row = right + i * b.stride(last - 1);
      for (int64_t j = 0; j < n; ++j) {
        out[j] =
            Type::store(Type::load(out[j]) + factor * Type::load(right_row[j * b.stride(last)]));
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace

namespace kernels {

absl::Status matmul(const KernelCall& call) {
  const TensorView& a = call.in(0);
  const TensorView& b = call.in(1);
  if (call.out().numel() == 0) return absl::OkStatus();
  const int64_t m = a.size(a.rank() - 2);
  const int64_t k = a.size(a.rank() - 1);
  const int64_t n = b.size(b.rank() - 1);
  if (a.dtype == DType::kF32) return matmul_float<float>(call, m, n, k);
  if (a.dtype == DType::kF64) return matmul_float<double>(call, m, n, k);
  return with_bits(a.dtype, [&]<typename T>() { return matmul_integer<T>(call, m, n, k); });
}

}  // namespace kernels
}  // namespace remora::cpu
