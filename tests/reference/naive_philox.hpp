// Philox4x32-10 from its definition (Salmon et al., SC 2011, section 3.3 and table 2), one counter at a time.
#pragma once

#include <array>
#include <cstdint>

namespace pandora::naive {

using Words = std::array<std::uint32_t, 4>;

inline Words philox(Words x, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = 0xD2511F53ull * x[0];
    const std::uint64_t odd = 0xCD9E8D57ull * x[2];
    const auto high = [](std::uint64_t product) { return static_cast<std::uint32_t>(product >> 32); };
    const auto low = [](std::uint64_t product) { return static_cast<std::uint32_t>(product & 0xffffffffu); };
    x = {high(odd) ^ x[1] ^ key[0], low(odd), high(even) ^ x[3] ^ key[1], low(even)};
    key[0] += 0x9E3779B9u;  // golden ratio
    key[1] += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return x;
}

}  // namespace pandora::naive
