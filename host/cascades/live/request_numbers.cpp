#include "host/cascades/live/request_numbers.hpp"

#include <random>

namespace pandora {

std::uint64_t drawn_epoch() {
  std::random_device device;  // 32 bits of the system's
  return kFirstEpoch | device();
}

std::uint64_t epoch_of(std::uint64_t id, std::uint64_t epoch) {
  if (epoch == 0 || id % kOfAnEpoch != 0) return epoch;
  std::uint64_t x = epoch + 0x9e3779b97f4a7c15u;  // splitmix64, so that calls that are made again have their numbers
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return kFirstEpoch | ((x ^ (x >> 31)) >> 32);
}

std::uint64_t number_of(std::uint64_t id, std::uint64_t epoch) {
  return epoch == 0 ? id : epoch * kOfAnEpoch + id % kOfAnEpoch;
}

}  // namespace pandora
