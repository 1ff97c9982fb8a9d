// The stand-in's <curand_philox4x32_x.h>: Philox4x32-10 of Salmon, Moraes, Dror and Shaw (2011) under cuRAND's name.
#pragma once

#include <cuda_runtime.h>

inline uint4 curand_Philox4x32_10(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c.x, b = std::uint64_t{0xCD9E8D57u} * c.z;
    c = {static_cast<unsigned>(b >> 32) ^ c.y ^ key.x, static_cast<unsigned>(b),
         static_cast<unsigned>(a >> 32) ^ c.w ^ key.y, static_cast<unsigned>(a)};
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}
