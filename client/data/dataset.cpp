#include "client/data/dataset.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "client/apply.h"
#include "dispatch/philox.h"
#include "dispatch/str_cat.h"

namespace remora::data {

TensorDataset::TensorDataset(std::vector<float> inputs, Shape example, std::vector<int64_t> labels)
    : inputs_(std::move(inputs)), example_(std::move(example)), labels_(std::move(labels)) {
  throw_if_error(check_shape(example_));
  example_size_ = example_.numel();
  const auto examples = static_cast<int64_t>(labels_.size());
  const auto values = static_cast<int64_t>(inputs_.size());
  const bool fits = example_size_ == 0
                        ? values == 0
                        : values % example_size_ == 0 && values / example_size_ == examples;
  if (!fits) {
    refuse("TensorDataset", str_cat(values, " values do not make ", examples, " examples of shape ",
                                    example_.str()));
  }
}

std::span<const float> TensorDataset::input(int64_t index) const {
  return std::span(inputs_).subspan(static_cast<size_t>(index * example_size_),
                                    static_cast<size_t>(example_size_));
}

void TensorDataset::read(int64_t index, std::span<std::byte> input_bytes,
                         std::span<std::byte> label_bytes) const {
  std::ranges::copy(std::as_bytes(input(index)), input_bytes.begin());
  const int64_t number = label(index);
  std::memcpy(label_bytes.data(), &number, sizeof(number));
}

std::vector<int64_t> shuffled_indices(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(std::max<int64_t>(0, count)));
  std::iota(order.begin(), order.end(), 0);
  // Fisher and Yates, with a draw of 64 bits each: the bias of the modulus is below 2^-32 for any
  // real count.
  for (size_t i = order.size(); i > 1; --i) {
    const dispatch::PhiloxBlock block = dispatch::philox_block(seed, i);
    const uint64_t draw = (uint64_t{block[1]} << 32) | block[0];
    std::swap(order[i - 1], order[static_cast<size_t>(draw % i)]);
  }
  return order;
}

}  // namespace remora::data
