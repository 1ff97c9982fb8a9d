// Numbers by which requests are known outside: unique over processes, restarts and forks that know nothing of each
// other.
//
//   number = epoch * 2^20 + (id mod 2^20), below 2^53, so that JSON and Python carry it exactly
//
// The id counts requests from the cascade's first one on. An epoch has 33 bits, the first of which is set; whoever
// begins requests draws one, and after 2^20 requests it is followed by another one. Epoch 0: number = id.
#pragma once

#include <random>

#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {

inline constexpr int kEpochBits = 33, kOfAnEpochBits = 20;
inline constexpr std::uint64_t kFirstEpoch = std::uint64_t{1} << (kEpochBits - 1), kEpochEnd = 2 * kFirstEpoch,
                               kOfAnEpoch = std::uint64_t{1} << kOfAnEpochBits, kNumberEnd = kEpochEnd * kOfAnEpoch;

inline std::uint64_t drawn_epoch() {
  return kFirstEpoch | std::random_device()();  // 32 bits of the system's
}
/// The epoch of request `id`, which comes next; `epoch`: of the one before. SplitMix64, so that calls that are made
/// again have their numbers.
inline std::uint64_t epoch_of(std::uint64_t id, std::uint64_t epoch) {
  return epoch == 0 || id % kOfAnEpoch != 0 ? epoch : kFirstEpoch | (mixed(epoch + 0x9e3779b97f4a7c15u) >> 32);
}
inline std::uint64_t number_of(std::uint64_t id, std::uint64_t epoch) {
  return epoch == 0 ? id : epoch * kOfAnEpoch + id % kOfAnEpoch;
}

}  // namespace pandora
