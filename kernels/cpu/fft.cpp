// Discrete Fourier transforms of lines of complex numbers, in f64, by KISS FFT. A length with a
// large prime factor, for which that is quadratic, goes through Bluestein's convolution
// (Rabiner, Schafer and Rader, "The chirp z-transform algorithm", 1969).
#include "kernels/cpu/fft.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <mutex>
#include <new>
#include <numbers>
#include <optional>
#include <vector>

#include "dispatch/error.h"
#include "kernels/cpu/strided.h"
#include "kissfft/kissfft.hh"

namespace remora::cpu {
namespace {

using Complex = std::complex<double>;

constexpr double kFftNs = 12.0;               // a complex element
constexpr int64_t kLargestDirectFactor = 64;  // beyond it Bluestein's way is faster

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

/// The length of the convolution that stands for a transform of n, or 0 where none is needed.
int64_t convolution_length(int64_t n) {
  if (largest_prime_factor(n) <= kLargestDirectFactor) return 0;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
}

/// One length and direction. Copies share nothing: one for each thread.
class Transform {
 public:
  Transform(int64_t n, bool inverse)
      : n_(n), m_(convolution_length(n)), forward_(length(m_ == 0 ? n : m_), m_ == 0 && inverse) {
    if (m_ == 0) return;
    backward_.emplace(length(m_), true);
    // exp(+-i pi k^2 / n); k^2 is kept modulo 2 n, or its rounding would be the phase.
    const double sign = inverse ? 1.0 : -1.0;
    int64_t square = 0;
    for (int64_t k = 0; k < n; ++k) {
      chirp_.push_back(std::polar(
          1.0, sign * std::numbers::pi * static_cast<double>(square) / static_cast<double>(n)));
      square = (square + 2 * k + 1) % (2 * n);
    }
    std::vector<Complex> kernel(length(m_));
    for (int64_t k = 0; k < n; ++k) {
      kernel[length(k)] = std::conj(chirp_[length(k)]) / static_cast<double>(m_);
      if (k > 0) kernel[length(m_ - k)] = kernel[length(k)];
    }
    spectrum_.resize(length(m_));
    forward_.transform(kernel.data(), spectrum_.data());
  }

  /// Elements of each of the two buffers of `run`.
  static int64_t buffer_length(int64_t n) { return std::max(n, convolution_length(n)); }

  /// Transforms the n elements in `data`; the result is in `other`.
  void run(Complex* data, Complex* other) const {
    if (m_ == 0) {
      forward_.transform(data, other);
      return;
    }
    for (int64_t k = 0; k < n_; ++k) data[k] *= chirp_[length(k)];
    std::fill(data + n_, data + m_, Complex());
    forward_.transform(data, other);
    for (int64_t k = 0; k < m_; ++k) data[k] = other[k] * spectrum_[length(k)];
    backward_->transform(data, other);
    for (int64_t k = 0; k < n_; ++k) other[k] *= chirp_[length(k)];
  }

 private:
  static size_t length(int64_t value) { return static_cast<size_t>(value); }

  int64_t n_, m_;
  kissfft<double> forward_;
  std::optional<kissfft<double>> backward_;
  std::vector<Complex> chirp_, spectrum_;
};

/// The tables of short transforms that were used last: making them takes longer than a transform.
class RecentTransforms {
 public:
  static constexpr int64_t kLongest = int64_t{1} << 14;
  static constexpr size_t kCount = 8;

  /// A copy of its own. Any thread.
  Transform get(int64_t n, bool inverse) {
    if (n > kLongest) return Transform(n, inverse);
    const std::lock_guard lock(mutex_);
    auto found = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return entry.n == n && entry.inverse == inverse; });
    if (found == entries_.end()) {
      if (entries_.size() == kCount) entries_.pop_back();
      entries_.push_back({n, inverse, Transform(n, inverse)});
      found = entries_.end() - 1;
    }
    std::rotate(entries_.begin(), found, found + 1);  // the last used comes first
    return entries_.front().transform;
  }

 private:
  struct Entry {
    int64_t n;
    bool inverse;
    Transform transform;
  };
  std::mutex mutex_;  // guards the entries
  std::vector<Entry> entries_;
};

RecentTransforms& recent_transforms() {
  static RecentTransforms& recent = *new RecentTransforms;  // leaked: devices may outlive it
  return recent;
}

/// How the lines of [.., n, 2] are shared out.
struct Lines {
  int64_t n, count, per_block, blocks;
  explicit Lines(std::span<const int64_t> sizes) : n(sizes[sizes.size() - 2]), count(1) {
    for (size_t axis = 0; axis + 2 < sizes.size(); ++axis) count *= sizes[axis];
    per_block = std::max<int64_t>(1, kElementBlock / std::max<int64_t>(n, 1));
    blocks = (count + per_block - 1) / per_block;
  }
  /// Blocks that may run at once.
  int64_t workers(int threads) const { return std::min<int64_t>(blocks, threads); }
};

template <typename T>
void run_lines(const Transform& transform, const T* x, T* out, int64_t n, int64_t lines,
               Complex* data, Complex* other) {
  for (int64_t line = 0; line < lines; ++line, x += 2 * n, out += 2 * n) {
    for (int64_t i = 0; i < n; ++i) data[i] = Complex(x[2 * i], x[2 * i + 1]);
    transform.run(data, other);
    for (int64_t i = 0; i < n; ++i) {
      out[2 * i] = static_cast<T>(other[i].real());
      out[2 * i + 1] = static_cast<T>(other[i].imag());
    }
  }
}

/// Two buffers a worker, and what the tables of a transform take: those are not the pool's, but are
/// counted.
int64_t bytes_of(const Lines& lines, int threads) {
  constexpr int64_t kBuffers = 2, kTables = 4;
  const int64_t workers = lines.workers(threads);
  // One set of tables more: the one that the workers' are copies of.
  return (workers * kBuffers + (workers + 1) * kTables) * Transform::buffer_length(lines.n) *
         static_cast<int64_t>(sizeof(Complex));
}

template <typename T>
absl::Status transform_lines(const KernelCall& call) {
  const TensorView& out = call.out();
  if (out.numel() == 0) return absl::OkStatus();
  REMORA_ASSIGN_OR_RETURN(const Packed packed, Packed::of(call, call.in(0)));
  const Lines lines(out.sizes);
  const int threads = call.threads.threads();
  const int64_t buffer = Transform::buffer_length(lines.n);
  REMORA_ASSIGN_OR_RETURN(Scratch scratch, call.scratch(bytes_of(lines, threads)));
  const std::vector<Transform> transforms(
      static_cast<size_t>(lines.workers(threads)),
      recent_transforms().get(lines.n, call.attributes<dispatch::FftAttrs>().inverse));
  const double cost = static_cast<double>(out.numel()) / 2.0 * kFftNs;
  call.parallel_for(lines.blocks, cost, [&](int64_t block, int slot) {
    const int64_t worker = lines.blocks <= threads ? block : slot;
    Complex* const data = scratch.as<Complex>() + 2 * buffer * worker;
    const int64_t first = block * lines.per_block;
    run_lines(transforms[static_cast<size_t>(worker)], packed.as<T>() + first * 2 * lines.n,
              out.as<T>() + first * 2 * lines.n, lines.n,
              std::min(lines.per_block, lines.count - first), data, data + buffer);
  });
  return absl::OkStatus();
}

}  // namespace

int64_t fft_scratch_bytes(const Spec& input, int threads) {
  return input.numel() == 0 ? 0 : bytes_of(Lines(input.shape.sizes()), threads);
}

namespace kernels {

absl::Status fft(const KernelCall& call) {
  try {
    return call.in(0).dtype == DType::kF64 ? transform_lines<double>(call)
                                           : transform_lines<float>(call);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("fft: no memory for the tables of the transform");
  }
}

}  // namespace kernels
}  // namespace remora::cpu
