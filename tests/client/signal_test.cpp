// Fourier transforms: known answers, inverses, several axes, short-time transforms.
#include <numbers>

#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(signal, known_answers) {
  const Tensor impulse = floats({0, 0, 1, 0, 0, 0, 0, 0}, {4, 2});  // 1 at position 1
  expect_near(fft(impulse), {1, 0, 0, -1, -1, 0, 0, 1}, 1e-6F);
  expect_near(ifft(impulse), {0.25F, 0, 0, 0.25F, -0.25F, 0, 0, -0.25F}, 1e-6F);
  expect_near(rfft(floats({1, 2, 3, 4}, {4})), {10, 0, -2, 2, -2, 0}, 1e-6F);
  expect_near(rfft(floats({1, 2, 3}, {3})), {6, 0, -1.5F, 0.8660254F}, 1e-6F);
  expect_near(irfft(floats({10, 0, -2, 2, -2, 0}, {3, 2})), {1, 2, 3, 4}, 1e-6F);
  expect_near(fft(impulse, std::nullopt, -1, "ortho"), {0.5F, 0, 0, -0.5F, -0.5F, 0, 0, 0.5F},
              1e-6F);
  expect_near(fft(impulse, std::nullopt, -1, "forward"), {0.25F, 0, 0, -0.25F, -0.25F, 0, 0, 0.25F},
              1e-6F);
  expect_near(hann_window(4, true, test_device()), {0, 0.5F, 1, 0.5F}, 1e-6F);
  expect_near(hann_window(3, false, test_device()), {0, 1, 0}, 1e-6F);
  expect_near(hamming_window(2, true, test_device()), {0.08F, 1}, 1e-6F);
}

TEST(signal, transforms_of_signals_that_mirror_their_conjugates_are_numpys) {
  const Tensor x = floats({1, 2, 3, -1, -2, 0.5F}, {3, 2});
  expect_near(hfft(x), {5, 1, -7, 5}, 1e-6F);
  expect_near(hfft(x, 5), {3, 4.775842F, -7.216797F, -2.963543F, 7.404498F}, 1e-6F);
  expect_near(hfft(x, 3, -1, "ortho"), {4.041452F, -2.154701F, -0.1547005F}, 1e-6F);
  expect_near(hfft(x, std::nullopt, -1, "forward"), {1.25F, 0.25F, -1.75F, 1.25F}, 1e-6F);
  const Tensor real = floats({1, -2, 3, 0.5F, 4}, {5});
  expect_near(ihfft(real), {1.3F, 0, -0.2427051F, -0.8473752F, 0.0927051F, -1.180871F}, 1e-6F);
  expect_near(ihfft(real, std::nullopt, -1, "forward"),
              {6.5F, 0, -1.213525F, -4.236876F, 0.4635255F, -5.904353F}, 1e-6F);
  for (const std::string_view norm : {"backward", "ortho", "forward"}) {
    expect_near(hfft(ihfft(real, std::nullopt, 0, norm), 5, 0, norm), real.to_vector<float>(),
                1e-5F);
  }
  expect_error(kInvalid, "hfft: norm \"unitary\"", [&] { hfft(x, 4, 0, "unitary"); });
  expect_error(kInvalid, "hfft: takes complex", [&] { hfft(real); });
}

TEST(signal, inverses_undo_transforms) {
  manual_seed(3);
  for (const int64_t n : {1, 6, 7, 128, 211}) {
    const Tensor x = normal({3, n, 2}, test_device());
    expect_near(ifft(fft(x)), x.to_vector<float>(), 1e-5F);
    expect_near(ifft(fft(x, std::nullopt, -2), std::nullopt, 0), x.to_vector<float>(), 1e-5F);
    const Tensor real = normal({2, n}, test_device());
    expect_near(irfft(rfft(real), n), real.to_vector<float>(), 1e-5F);
    const Tensor image = normal({2, 5, n}, test_device());
    expect_near(irfftn(rfftn(image, {}, {1, 2}), {5, n}, {1, 2}), image.to_vector<float>(), 1e-5F);
    expect_near(ifftn(fftn(x)), x.to_vector<float>(), 1e-5F);
  }
}

TEST(signal, lengths_are_cut_or_filled_with_zeros) {
  const Tensor x = floats({1, 2, 3}, {3});
  EXPECT_EQ(rfft(x, 2).to_vector<float>(), rfft(floats({1, 2}, {2})).to_vector<float>());
  EXPECT_EQ(rfft(x, 5).to_vector<float>(), rfft(floats({1, 2, 3, 0, 0}, {5})).to_vector<float>());
  const Tensor pairs = floats({1, 1, 2, 2}, {2, 2});
  EXPECT_EQ(fft(pairs, 3).to_vector<float>(),
            fft(floats({1, 1, 2, 2, 0, 0}, {3, 2})).to_vector<float>());
  expect_error(kInvalid, "a transform of 0 elements", [&] { rfft(x, 0); });
  expect_error(kInvalid, "a transform of -1 elements", [&] { irfft(pairs, -1); });
  expect_error(kInvalid, "as pairs [.., 2]", [&] { fft(x); });
  expect_error(kInvalid, "norm \"unitary\"", [&] { fft(pairs, std::nullopt, -1, "unitary"); });
  expect_error(kInvalid, "elements", [&] { rfft(x, INT64_MAX); });
  expect_error(kInvalid, "fftn: 1 sizes for 2 axes", [&] {
    fftn(stack({pairs, pairs}), {2}, {0, 1});
  });
}

TEST(signal, short_time_transforms_are_undone) {
  manual_seed(9);
  const Tensor x = normal({2, 100}, test_device());
  const Tensor window = hann_window(12, true, test_device());
  for (const bool normalized : {false, true}) {
    const StftOptions options{.hop = 4, .window = window, .normalized = normalized};
    const Tensor spectrum = stft(x, 16, options);
    EXPECT_EQ(spectrum.shape().str(), (Shape{2, 9, 26, 2}.str()));
    expect_near(istft(spectrum, 16, options, 100), x.to_vector<float>(), 1e-5F);
  }
  // Without centring, frame t starts at t hop.
  const Tensor plain = stft(x, 8, {.hop = 8, .center = false});
  expect_near(select(plain, -2, 1), rfft(narrow(x, 1, 8, 8)).to_vector<float>(), 1e-5F);
  expect_error(kInvalid, "stft: frames of 16 samples, 0 apart", [&] { stft(x, 16, {.hop = 0}); });
  expect_error(kInvalid, "istft: takes", [&] { istft(plain, 16); });
  expect_error(kInvalid, "istft: 12 frames", [&] { istft(plain, 8, {.hop = INT64_MAX}); });
  expect_error(kInvalid, "istft: a signal of -1 samples", [&] { istft(plain, 8, {}, -1); });
  expect_error(kInvalid, "stft: 100 samples are too few", [&] { stft(x, 512); });
}

}  // namespace
}  // namespace remora
