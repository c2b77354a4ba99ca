// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), the
// counter-based generator behind every random op, and a device's generator state.
#pragma once

#include <array>
#include <cstdint>

namespace remora::dispatch {

using PhiloxBlock = std::array<uint32_t, 4>;

/// Ten rounds on one counter.
inline PhiloxBlock philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// The block of a draw: key = seed, counter = (offset + block, 0, 0).
inline PhiloxBlock philox_block(uint64_t seed, uint64_t offset) {
  return philox4x32({static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32), 0, 0},
                    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

/// Seed and position of one device's random stream. A draw of n 32-bit words takes ceil(n / 4)
/// offsets.
struct Generator {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

}  // namespace remora::dispatch
