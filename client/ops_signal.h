// Fourier transforms and windows. The rules of ops.h hold; transforms are float
// functions, stft and istft take floats only.
//
// A complex tensor is a real one with a last axis of size 2, (real, imaginary); `axis` and `axes`
// do not count that axis. Transforms compute in f64. A length is cut or filled with zeros to `n`.
// `norm` is "backward" (the inverse divides by n), "ortho" (both divide by sqrt(n)) or "forward".
#pragma once

#include <optional>
#include <string_view>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

/// Complex to complex.
Tensor fft(const Tensor& x, std::optional<int64_t> n = std::nullopt, int64_t axis = -1,
           std::string_view norm = "backward");
Tensor ifft(const Tensor& x, std::optional<int64_t> n = std::nullopt, int64_t axis = -1,
            std::string_view norm = "backward");
/// Real to complex: the n / 2 + 1 elements that are not the conjugate of another.
Tensor rfft(const Tensor& x, std::optional<int64_t> n = std::nullopt, int64_t axis = -1,
            std::string_view norm = "backward");
/// Its inverse, real of n elements: 2 (m - 1) of m unless given.
Tensor irfft(const Tensor& x, std::optional<int64_t> n = std::nullopt, int64_t axis = -1,
             std::string_view norm = "backward");
/// Real of n elements, 2 (m - 1) of m unless given: of a signal that equals its own conjugate
/// mirrored, of which x holds the first half.
Tensor hfft(const Tensor& x, std::optional<int64_t> n = std::nullopt, int64_t axis = -1,
            std::string_view norm = "backward");
/// Its inverse: real to the n / 2 + 1 elements of such a signal.
Tensor ihfft(const Tensor& x, std::optional<int64_t> n = std::nullopt, int64_t axis = -1,
             std::string_view norm = "backward");
/// Over several axes; all of them if `axes` is empty. `sizes`, if not empty, is one n for each
/// axis. rfftn and irfftn halve the last.
Tensor fftn(const Tensor& x, const Dims& sizes = {}, const Dims& axes = {},
            std::string_view norm = "backward");
Tensor ifftn(const Tensor& x, const Dims& sizes = {}, const Dims& axes = {},
             std::string_view norm = "backward");
Tensor rfftn(const Tensor& x, const Dims& sizes = {}, const Dims& axes = {},
             std::string_view norm = "backward");
Tensor irfftn(const Tensor& x, const Dims& sizes = {}, const Dims& axes = {},
              std::string_view norm = "backward");

/// sin^2(pi i / n) and 0.54 - 0.46 cos(2 pi i / n); symmetric (n - 1 for n) unless `periodic`.
Tensor hann_window(int64_t count, bool periodic = true,
                   const Device& device = Device::default_device(),
                   std::optional<DType> dtype = std::nullopt);
Tensor hamming_window(int64_t count, bool periodic = true,
                      const Device& device = Device::default_device(),
                      std::optional<DType> dtype = std::nullopt);

struct StftOptions {
  std::optional<int64_t> hop = {};  // n / 4 unless given
  Tensor window = {};               // [n], or fewer, then centred among zeros; ones if undefined
  bool center = true;               // frame t is centred at t hop; the ends are mirrored
  bool normalized = false;          // "ortho"
};
/// Short-time transforms of [.., samples]: complex [.., n / 2 + 1, frames].
Tensor stft(const Tensor& x, int64_t n, const StftOptions& options = {});
/// The signal of a complex [.., n / 2 + 1, frames] by overlap and add, divided by the sum of the
/// squared windows; `length` samples if given. Where no window reaches, the result is NaN.
Tensor istft(const Tensor& x, int64_t n, const StftOptions& options = {},
             std::optional<int64_t> length = std::nullopt);

}  // namespace remora
