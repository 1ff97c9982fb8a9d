// Hashes of texts that are the same in every build and on every machine, and that another program can compute.
#pragma once

#include <cstdint>
#include <string_view>

namespace pandora {

/// FNV-1a over bytes, 64 bits: start, then for every byte: xor it in, multiply by the prime.
struct Fnv1a {
  std::uint64_t state = 0xcbf29ce484222325u;
  void add(std::string_view bytes) {
    for (const char c : bytes) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
};

/// The finaliser of SplitMix64: every bit of the result depends on every bit of the argument.
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// mixed(FNV-1a). It does not protect against somebody who looks for collisions.
inline std::uint64_t stable_hash(std::string_view bytes) {
  Fnv1a hash;
  hash.add(bytes);
  return mixed(hash.state);
}

}  // namespace pandora
