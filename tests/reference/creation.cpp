// Creation rows. The generator is written out here again, from the paper, so that it checks the
// library's.
#include <array>
#include <cmath>
#include <numbers>

#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

using dispatch::ArangeAttrs;
using dispatch::FullAttrs;
using dispatch::RandomAttrs;

Arrays full(const Arrays&, const dispatch::Attrs& attrs) {
  const auto& given = std::get<FullAttrs>(attrs);
  Array result({given.dtype, given.shape});
  for (double& element : result.reals) element = given.value.as_double();
  for (size_t i = 0; i < result.integers.size(); ++i) {
    result.set_integer(i, given.dtype == DType::kBool ? Integer{given.value.as_double() != 0.0}
                                                      : Integer{given.value.as_int64()});
  }
  return {result};
}

Arrays arange(const Arrays&, const dispatch::Attrs& attrs) {
  const auto& given = std::get<ArangeAttrs>(attrs);
  Array result({given.dtype, Shape{given.count}});
  for (int64_t i = 0; i < given.count; ++i) {
    const auto at = static_cast<size_t>(i);
    if (result.is_real()) {
      result.reals[at] = given.start.as_double() + static_cast<double>(i) * given.step.as_double();
    } else {
      result.set_integer(at, given.start.as_int64() + Integer{i} * given.step.as_int64());
    }
  }
  return {result};
}

/// 32-bit word `i` of the stream of (seed, offset): Philox4x32-10.
uint32_t random_word(uint64_t seed, uint64_t offset, int64_t i) {
  const uint64_t block = offset + static_cast<uint64_t>(i / 4);
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32), c2 = 0,
           c3 = 0;
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const std::array<uint32_t, 4> lanes = {c0, c1, c2, c3};
  return lanes[static_cast<size_t>(i % 4)];
}

/// An f64 has the top 53 of the 64 bits of two words, the first one's low.
double uniform_draw(const RandomAttrs& given, int64_t i) {
  if (given.dtype == DType::kF64) {
    const uint64_t low = random_word(given.seed, given.offset, 2 * i);
    const uint64_t high = random_word(given.seed, given.offset, 2 * i + 1);
    return std::ldexp(static_cast<double>((high << 32 | low) >> 11), -53);
  }
  return static_cast<double>(random_word(given.seed, given.offset, i) >> 8) * std::ldexp(1.0, -24);
}

Arrays uniform(const Arrays&, const dispatch::Attrs& attrs) {
  const auto& given = std::get<RandomAttrs>(attrs);
  Array result({given.dtype, given.shape});
  for (int64_t i = 0; i < result.numel(); ++i) {
    result.reals[static_cast<size_t>(i)] = uniform_draw(given, i);
  }
  return {result};
}

/// Box-Muller on lanes (0, 1) and (2, 3): the first lane, as 1 - u in (0, 1], gives the radius, the
/// second the angle; the even element takes its cosine, the odd its sine.
Arrays normal(const Arrays&, const dispatch::Attrs& attrs) {
  const auto& given = std::get<RandomAttrs>(attrs);
  Array result({given.dtype, given.shape});
  for (int64_t i = 0; i < result.numel(); ++i) {
    const int64_t even = i / 2 * 2;
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform_draw(given, even)));
    const double angle = 2.0 * std::numbers::pi * uniform_draw(given, even + 1);
    result.reals[static_cast<size_t>(i)] = radius * (i == even ? std::cos(angle) : std::sin(angle));
  }
  return {result};
}

}  // namespace

void add_creation(Table& table) {
  table["full"] = full;
  table["arange"] = arange;
  table["uniform"] = uniform;
  table["normal"] = normal;
}

}  // namespace remora::reference
