// Attention block by block: a block of queries meets one block of keys after the other, and its
// output is rescaled when a larger score turns up (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). No more than a block of
// scores is ever in memory. Blocks are cut by shape alone and visited in order.
#include "kernels/cpu/attention.h"

#include <cmath>
#include <limits>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/limits.h"
#include "kernels/cpu/row_reductions.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kNsPerMultiply = 0.03;
constexpr double kNsPerScore = 3.0;
constexpr int64_t kMaxBlasExtent = (int64_t{1} << 31) - 1;

/// Sizes: [batch, heads, queries, width] meets [batch, heads / group, keys, width] and
/// [.., keys, value_width].
struct Sizes {
  int64_t batch, heads, group, queries, keys, width, value_width;

  Sizes(std::span<const int64_t> q, std::span<const int64_t> v)
      : batch(q[0]),
        heads(q[1]),
        group(v[1] == 0 ? 1 : q[1] / v[1]),
        queries(q[2]),
        keys(v[2]),
        width(q[3]),
        value_width(v[3]) {}
  int64_t query_blocks() const { return (queries + kAttentionQueries - 1) / kAttentionQueries; }
  int64_t block_scores() const {
    return std::min(queries, kAttentionQueries) * std::min(keys, kAttentionKeys);
  }
  double cost_ns(int products) const {
    const auto pairs = static_cast<double>(batch * heads) * static_cast<double>(queries) *
                       static_cast<double>(keys);
    const auto widths = static_cast<double>(width + value_width);
    return pairs * (products / 2.0 * widths * kNsPerMultiply + kNsPerScore);
  }
};

/// Rows [begin, begin + count) of an axis.
struct Range {
  int64_t begin, count;
  int64_t end() const { return begin + count; }
};
Range block_of(int64_t size, int64_t block, int64_t index) {
  return {index * block, std::min(block, size - index * block)};
}

/// Row-major operands, and how scores are made of them.
template <typename T>
struct Operands {
  Sizes sizes;
  Packed q_memory, k_memory, v_memory;
  const TensorView* mask = nullptr;
  bool causal = false;
  T scale = 0;

  static absl::StatusOr<Operands> of(const KernelCall& call, size_t first) {
    const auto& attrs = call.attributes<dispatch::AttentionAttrs>();
    Operands result{.sizes = Sizes(call.in(first).sizes, call.in(first + 2).sizes),
                    .q_memory = {},
                    .k_memory = {},
                    .v_memory = {},
                    .causal = attrs.causal,
                    .scale = static_cast<T>(attrs.scale.as_double())};
    if (std::max({result.sizes.width, result.sizes.value_width}) > kMaxBlasExtent) {
      return absl::InvalidArgumentError(str_cat("attention: rows of ", result.sizes.width, " and ",
                                                result.sizes.value_width,
                                                " elements exceed the limit of ", kMaxBlasExtent));
    }
    REMORA_ASSIGN_OR_RETURN(result.q_memory, Packed::of(call, call.in(first)));
    REMORA_ASSIGN_OR_RETURN(result.k_memory, Packed::of(call, call.in(first + 1)));
    REMORA_ASSIGN_OR_RETURN(result.v_memory, Packed::of(call, call.in(first + 2)));
    if (call.inputs.size() > first + 3) result.mask = &call.in(first + 3);
    return result;
  }

  // `head` counts those of the query, through the batch.
  const T* q(int64_t head, int64_t row) const {
    return q_memory.as<T>() + (head * sizes.queries + row) * sizes.width;
  }
  const T* k(int64_t head, int64_t row) const {
    return k_memory.as<T>() + (head / sizes.group * sizes.keys + row) * sizes.width;
  }
  const T* v(int64_t head, int64_t row) const {
    return v_memory.as<T>() + (head / sizes.group * sizes.keys + row) * sizes.value_width;
  }

  /// True if no query of the block sees any key of the other.
  bool is_masked(const Range& queries, const Range& keys) const {
    return causal && keys.begin >= queries.end();
  }

  /// scores[i][j] = q_i k_j scale, masked; rows are `keys.count` apart.
  void make_scores(int64_t head, const Range& queries, const Range& keys, T* scores) const {
    const int64_t width = sizes.width;
    gemm(queries.count, keys.count, width, Matrix<T>{q(head, queries.begin), width, 1},
         Matrix<T>{k(head, keys.begin), 1, width}, false, scores, keys.count);
    for (int64_t i = 0; i < queries.count; ++i) {
      T* const row = scores + i * keys.count;
      for (int64_t j = 0; j < keys.count; ++j) row[j] *= scale;
      if (mask != nullptr) apply_mask(head, queries.begin + i, keys, row);
      if (!causal) continue;
      const int64_t seen = queries.begin + i + 1 - keys.begin;
      for (int64_t j = std::max<int64_t>(seen, 0); j < keys.count; ++j) {
        row[j] = -std::numeric_limits<T>::infinity();
      }
    }
  }

 private:
  void apply_mask(int64_t head, int64_t query, const Range& keys, T* row) const {
    const auto step = [&](int64_t axis) { return mask->size(axis) == 1 ? 0 : mask->stride(axis); };
    const int64_t offset = head / sizes.heads * step(0) + head % sizes.heads * step(1) +
                           query * step(2) + keys.begin * step(3);
    const int64_t stride = step(3);
    if (mask->dtype == DType::kBool) {
      const auto* seen = mask->as<const uint8_t>() + offset;
      for (int64_t j = 0; j < keys.count; ++j) {
        row[j] = seen[j * stride] != 0 ? row[j] : -std::numeric_limits<T>::infinity();
      }
      return;
    }
    const T* added = mask->as<const T>() + offset;
    for (int64_t j = 0; j < keys.count; ++j) row[j] += added[j * stride];
  }
};

/// The running maximum and sum of a block's rows.
template <typename T>
struct RowSums {
  T maximum[kAttentionQueries];
  double sum[kAttentionQueries];
  RowSums() {
    std::fill_n(maximum, kAttentionQueries, -std::numeric_limits<T>::infinity());
    std::fill_n(sum, kAttentionQueries, 0.0);
  }
};

/// Turns a row of scores into weights relative to the maximum so far and rescales what was summed
/// up before.
template <typename T>
void add_row(T* scores, int64_t count, T& maximum, double& sum, T* out, int64_t width) {
  const T largest = r_max(maximum, extreme_row(scores, count));
  if (largest == -std::numeric_limits<T>::infinity()) {  // nothing seen yet
    std::fill_n(scores, count, T{0});
    return;
  }
  for (int64_t j = 0; j < count; ++j) scores[j] = r_exp(scores[j] - largest);
  if (largest != maximum) {
    const T shrink = r_exp(maximum - largest);
    sum *= static_cast<double>(shrink);
    for (int64_t j = 0; j < width; ++j) out[j] *= shrink;
  }
  sum += sum_row(scores, count);
  maximum = largest;
}

template <typename T>
void attend(const Operands<T>& x, int64_t head, const Range& queries, T* scores, T* out,
            T* logsumexp) {
  const int64_t width = x.sizes.value_width;
  RowSums<T> rows;
  std::fill_n(out, queries.count * width, T{0});
  for (int64_t begin = 0; begin < x.sizes.keys; begin += kAttentionKeys) {
    const Range keys = block_of(x.sizes.keys, kAttentionKeys, begin / kAttentionKeys);
    if (x.is_masked(queries, keys)) break;
    x.make_scores(head, queries, keys, scores);
    for (int64_t i = 0; i < queries.count; ++i) {
      add_row(scores + i * keys.count, keys.count, rows.maximum[i], rows.sum[i], out + i * width,
              width);
    }
    gemm(queries.count, width, keys.count, Matrix<T>{scores, keys.count, 1},
         Matrix<T>{x.v(head, keys.begin), width, 1}, true, out, std::max<int64_t>(width, 1));
  }
  for (int64_t i = 0; i < queries.count; ++i) {
    if (rows.sum[i] == 0.0) {
      logsumexp[i] = std::numeric_limits<T>::infinity();  // no weight, whatever the score
      std::fill_n(out + i * width, width, T{0});          // nor 0 times a value that is not finite
      continue;
    }
    const auto sum = static_cast<T>(rows.sum[i]);
    for (int64_t j = 0; j < width; ++j) out[i * width + j] /= sum;
    logsumexp[i] = rows.maximum[i] + static_cast<T>(std::log(rows.sum[i]));
  }
}

template <typename T>
absl::Status attention_of(const KernelCall& call) {
  REMORA_ASSIGN_OR_RETURN(const Operands<T> x, Operands<T>::of(call, 0));
  const Sizes& sizes = x.sizes;
  const int64_t blocks = sizes.query_blocks();
  const int64_t units = sizes.batch * sizes.heads * blocks;
  if (units == 0) return absl::OkStatus();
  const int64_t bytes = sizes.block_scores() * static_cast<int64_t>(sizeof(T));
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch, call.scratch(call.threads.threads() * bytes));
  call.parallel_for(units, sizes.cost_ns(2), [&](int64_t unit, int slot) {
    const int64_t head = unit / blocks;
    const Range queries = block_of(sizes.queries, kAttentionQueries, unit % blocks);
    const int64_t row = head * sizes.queries + queries.begin;
    attend(x, head, queries, scratch.as<T>() + slot * sizes.block_scores(),
           call.out(0).as<T>() + row * sizes.value_width, call.out(1).as<T>() + row);
  });
  return absl::OkStatus();
}

/// Cotangent, what is summed by query, and where the gradients go.
template <typename T>
struct Backward {
  const T *g, *delta, *logsumexp;
  T *q_grad, *k_grad, *v_grad;
};

/// One block of queries against one of keys: weights are made again of the scores and the sums.
template <typename T>
void add_gradients(const Operands<T>& x, const Backward<T>& to, int64_t head, const Range& queries,
                   const Range& keys, T* weights, T* score_grad) {
  const Sizes& sizes = x.sizes;
  const int64_t width = sizes.width, value_width = sizes.value_width;
  const int64_t row = head * sizes.queries + queries.begin;
  const int64_t key_row = head / sizes.group * sizes.keys + keys.begin;
  const Matrix<T> g{to.g + row * value_width, value_width, 1};
  x.make_scores(head, queries, keys, weights);
  for (int64_t i = 0; i < queries.count; ++i) {
    T* const line = weights + i * keys.count;
    for (int64_t j = 0; j < keys.count; ++j) line[j] = r_exp(line[j] - to.logsumexp[row + i]);
  }
  gemm(keys.count, value_width, queries.count, Matrix<T>{weights, 1, keys.count}, g, true,
       to.v_grad + key_row * value_width, std::max<int64_t>(value_width, 1));
  gemm(queries.count, keys.count, value_width, g, Matrix<T>{x.v(head, keys.begin), 1, value_width},
       false, score_grad, keys.count);
  for (int64_t i = 0; i < queries.count; ++i) {
    const T delta = to.delta[row + i];
    for (int64_t j = i * keys.count; j < (i + 1) * keys.count; ++j) {
      score_grad[j] = weights[j] * (score_grad[j] - delta) * x.scale;
    }
  }
  gemm(keys.count, width, queries.count, Matrix<T>{score_grad, 1, keys.count},
       Matrix<T>{x.q(head, queries.begin), width, 1}, true, to.k_grad + key_row * width,
       std::max<int64_t>(width, 1));
  gemm(queries.count, width, keys.count, Matrix<T>{score_grad, keys.count, 1},
       Matrix<T>{x.k(head, keys.begin), width, 1}, true, to.q_grad + row * width,
       std::max<int64_t>(width, 1));
}

template <typename T>
absl::Status attention_grad_of(const KernelCall& call) {
  REMORA_ASSIGN_OR_RETURN(const Operands<T> x, Operands<T>::of(call, 3));
  REMORA_ASSIGN_OR_RETURN(const Packed g, Packed::of(call, call.in(0)));
  REMORA_ASSIGN_OR_RETURN(const Packed delta, Packed::of(call, call.in(1)));
  REMORA_ASSIGN_OR_RETURN(const Packed logsumexp, Packed::of(call, call.in(2)));
  const Sizes& sizes = x.sizes;
  const int64_t buffer = 2 * sizes.block_scores();
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch, call.scratch(call.threads.threads() * buffer *
                                                              static_cast<int64_t>(sizeof(T))));
  const Backward<T> to{g.as<T>(),           delta.as<T>(),       logsumexp.as<T>(),
                       call.out(0).as<T>(), call.out(1).as<T>(), call.out(2).as<T>()};
  for (const TensorView& result : call.outputs) {
    std::fill_n(result.as<T>(), result.numel(), T{0});
  }
  if (sizes.batch * sizes.heads == 0 || sizes.queries == 0 || sizes.keys == 0) {
    return absl::OkStatus();  // however many empty heads there are
  }
  // The heads of a group add to the same gradients, so one thread takes them all, in order.
  call.parallel_for(
      sizes.batch * sizes.heads / sizes.group, sizes.cost_ns(5), [&](int64_t unit, int slot) {
        T* const weights = scratch.as<T>() + slot * buffer;
        for (int64_t head = unit * sizes.group; head < (unit + 1) * sizes.group; ++head) {
          for (int64_t key = 0; key < sizes.keys; key += kAttentionKeys) {
            const Range keys = block_of(sizes.keys, kAttentionKeys, key / kAttentionKeys);
            for (int64_t block = 0; block < sizes.query_blocks(); ++block) {
              const Range queries = block_of(sizes.queries, kAttentionQueries, block);
              if (x.is_masked(queries, keys)) continue;
              add_gradients(x, to, head, queries, keys, weights, weights + sizes.block_scores());
            }
          }
        }
      });
  return absl::OkStatus();
}

}  // namespace

int64_t attention_scratch_bytes(dispatch::OpCode code, std::span<const Spec> inputs, int threads) {
  const bool forward = code == dispatch::OpCode::attention;
  const size_t first = forward ? 0 : 3;
  const Sizes sizes(inputs[first].shape.sizes(), inputs[first + 2].shape.sizes());
  return threads * (forward ? 1 : 2) * sizes.block_scores() * dtype_size(inputs[first].dtype);
}

namespace kernels {

absl::Status attention(const KernelCall& call) {
  return call.in(0).dtype == DType::kF64 ? attention_of<double>(call) : attention_of<float>(call);
}

absl::Status attention_grad(const KernelCall& call) {
  return call.in(0).dtype == DType::kF64 ? attention_grad_of<double>(call)
                                         : attention_grad_of<float>(call);
}

}  // namespace kernels
}  // namespace remora::cpu
