// Stable sorting along one axis: each line becomes unsigned keys with their indices, sorted by
// insertion or digit by digit, so that equal keys keep their order.
#include <bit>
#include <type_traits>
#include <utility>

#include "dispatch/error.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/order.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kSortNs = 25.0;

/// An element's place in the order as an unsigned number: the smallest comes first, NaN last.
template <typename T>
auto order_key(T x, bool descending) {
  if constexpr (std::is_integral_v<T>) {
    using Key = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    constexpr Key kFlip = std::is_signed_v<T> ? Key{1} << (8 * sizeof(T) - 1) : 0;
    constexpr Key kMask = static_cast<Key>(~uint64_t{0} >> (64 - 8 * sizeof(T)));
    const Key key = (static_cast<Key>(x) & kMask) ^ kFlip;
    return descending ? static_cast<Key>(kMask - key) : key;
  } else {
    const auto value = Element<T>::load(x) + 0;  // -0 becomes 0: they are equal
    using Key = std::conditional_t<sizeof(value) == 8, uint64_t, uint32_t>;
    constexpr Key kTop = Key{1} << (8 * sizeof(Key) - 1);
    if (value != value) return ~Key{0};
    const Key bits = std::bit_cast<Key>(value);
    const Key key = (bits & kTop) != 0 ? static_cast<Key>(~bits) : static_cast<Key>(bits | kTop);
    // The largest key of a number is infinity's, so its complement stays below NaN's.
    return descending ? static_cast<Key>(~key) : key;
  }
}

template <typename Key>
struct Item {
  Key key;
  Key index;
};

template <typename Key>
void insertion_sort(Item<Key>* items, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const Item<Key> item = items[i];
    int64_t at = i;
    for (; at > 0 && items[at - 1].key > item.key; --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

/// By digits of 8 bits, lowest first; digits that are all alike are skipped. Gives the buffer that
/// holds the result. `Count` holds the number of items.
template <typename Count, typename Key>
Item<Key>* digit_sort(Item<Key>* items, Item<Key>* other, int64_t count) {
  constexpr size_t kDigits = sizeof(Key);
  Count starts[kDigits][256] = {};
  for (int64_t i = 0; i < count; ++i) {
    for (size_t digit = 0; digit < kDigits; ++digit)
      ++starts[digit][(items[i].key >> (8 * digit)) & 0xFF];
  }
  for (size_t digit = 0; digit < kDigits; ++digit) {
    Count* const places = starts[digit];
    const size_t shift = 8 * digit;
    if (places[(items[0].key >> shift) & 0xFF] == static_cast<Count>(count)) continue;
    Count before = 0;
    for (int value = 0; value < 256; ++value) before += std::exchange(places[value], before);
    for (int64_t i = 0; i < count; ++i) other[places[(items[i].key >> shift) & 0xFF]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

/// One line: `x` and the results each with a stride of their own.
template <typename T, typename Key>
void sort_line(const T* x, int64_t x_stride, int64_t count, bool descending, Item<Key>* items,
               T* values, int64_t* indices, int64_t out_stride) {
  for (int64_t i = 0; i < count; ++i) {
    items[i] = {order_key(x[i * x_stride], descending), static_cast<Key>(i)};
  }
  if (count <= kInsertionSort) {
    insertion_sort(items, count);
  } else {
    constexpr int64_t kNarrow = int64_t{1} << 31;
    items = count < kNarrow ? digit_sort<uint32_t>(items, items + count, count)
                            : digit_sort<uint64_t>(items, items + count, count);
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto from = static_cast<int64_t>(items[i].index);
    values[i * out_stride] = x[from * x_stride];
    indices[i * out_stride] = from;
  }
}

int64_t lines_per_block(int64_t count) { return std::max<int64_t>(1, kElementBlock / count); }

template <typename T>
absl::Status sort_all(const KernelCall& call, int64_t axis, bool descending) {
  using Key = decltype(order_key(T{}, false));
  const TensorView& in = call.in(0);
  const TensorView& out = call.out();
  const int64_t count = out.size(axis);
  if (out.numel() == 0) return absl::OkStatus();
  if (sizeof(Key) == 4 && count > int64_t{1} << 31) {
    return absl::InvalidArgumentError("sort: an axis of more than 2^31 elements of this type");
  }
  const int64_t line_bytes = 2 * count * static_cast<int64_t>(sizeof(Item<Key>));
  const int64_t per_block = lines_per_block(count);
  const int64_t blocks = (out.numel() / count + per_block - 1) / per_block;
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch,
                          call.scratch(line_bytes * (blocks == 1 ? 1 : call.threads.threads())));
  LoopNest<2> lines;
  lines.push(1, {});
  for (int64_t i = 0; i < in.rank(); ++i) {
    if (i != axis) lines.push(out.size(i), {in.stride(i), out.stride(i)});
  }
  const int64_t in_step = lines.inner_strides()[0];
  const int64_t out_step = lines.inner_strides()[1];
  const double cost = static_cast<double>(out.numel()) * kSortNs;
  const auto run = [&](int64_t block, int slot) {
    auto* items = reinterpret_cast<Item<Key>*>(scratch.as<std::byte>() + slot * line_bytes);
    const int64_t end = std::min(lines.numel, (block + 1) * per_block);
    for_rows(lines, block * per_block, end, [&](const auto& offsets, int64_t, int64_t rows) {
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t to = offsets[1] + i * out_step;
        sort_line(in.as<const T>() + offsets[0] + i * in_step, in.stride(axis), count, descending,
                  items, out.as<T>() + to, call.out(1).as<int64_t>() + to, out.stride(axis));
      }
    });
  };
  call.parallel_for(blocks, cost, run);
  return absl::OkStatus();
}

}  // namespace

int64_t sort_scratch_bytes(const Spec& input, int64_t axis, int threads) {
  if (input.numel() == 0) return 0;
  constexpr int64_t kLargestItem = sizeof(Item<uint64_t>);
  const int64_t count = input.shape[axis];
  const bool one_block = input.numel() / count <= lines_per_block(count);
  return 2 * count * kLargestItem * (one_block ? 1 : threads);
}

namespace kernels {

absl::Status sort(const KernelCall& call) {
  const auto& attrs = call.attributes<dispatch::SortAttrs>();
  return with_type(call.in(0).dtype,
                   [&]<typename T>() { return sort_all<T>(call, attrs.axis, attrs.descending); });
}

}  // namespace kernels
}  // namespace remora::cpu
