// The 32 members of a warp, each with values of its own in registers, written once for a warp and for one thread, to
// which the members are elements of arrays:
//
//   const Members<Team> all{team};
//   Own<Team, float> x;
//   all.each([&](int i) { x[i] = f(i); });           // by every member i
//   const float third = all.of(x, 3);                // the value of one, in all of them
//   const Own<Team, float> y = all.exchanged(x, 1);  // to member i that of member i ^ 1
//
// What is computed does not depend on which of the two it is.
#pragma once

#include <bit>

#include "kernels/base/team.hpp"

namespace pandora {

inline constexpr int kWarp = 32;

/// What every member has one of.
template <class Team, class T>
struct Own {
  T value;
  PANDORA_HD T& operator[](int) { return value; }
  PANDORA_HD const T& operator[](int) const { return value; }
};
template <class T>
struct Own<SerialTeam, T> {
  T value[kWarp];
  PANDORA_HD T& operator[](int i) { return value[i]; }
  PANDORA_HD const T& operator[](int i) const { return value[i]; }
};

/// The lowest of some bits, not 0.
PANDORA_HD inline int lowest_bit(unsigned bits) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return std::countr_zero(bits);
#endif
}
PANDORA_HD inline int count_bits(unsigned bits) {
#if defined(__CUDA_ARCH__)
  return __popc(bits);
#else
  return std::popcount(bits);
#endif
}

/// Of a warp; all members make the same calls in the same order.
template <class Team>
struct Members {
  const Team& team;

  template <class F>
  PANDORA_HD PANDORA_INLINE void each(F&& f) const {
    f(team.rank());
  }
  template <class T>
  PANDORA_HD PANDORA_INLINE T of(const Own<Team, T>& x, int member) const {
    return team.shuffle(x.value, member);
  }
  /// To member i what member i ^ mask has.
  template <class T>
  PANDORA_HD PANDORA_INLINE Own<Team, T> exchanged(const Own<Team, T>& x, int mask) const {
    return {team.shuffle_xor(x.value, mask)};
  }
  /// Bit i: whether f(i) holds.
  template <class F>
  PANDORA_HD PANDORA_INLINE unsigned which(F&& f) const {
    return team.ballot(f(team.rank()));
  }
};
template <>
struct Members<SerialTeam> {
  const SerialTeam& team;

  template <class F>
  PANDORA_HD PANDORA_INLINE void each(F&& f) const {
    for (int i = 0; i < kWarp; ++i) f(i);
  }
  template <class T>
  PANDORA_HD PANDORA_INLINE T of(const Own<SerialTeam, T>& x, int member) const {
    return x[member];
  }
  template <class T>
  PANDORA_HD PANDORA_INLINE Own<SerialTeam, T> exchanged(const Own<SerialTeam, T>& x, int mask) const {
    Own<SerialTeam, T> out;
    for (int i = 0; i < kWarp; ++i) out[i] = x[i ^ mask];
    return out;
  }
  template <class F>
  PANDORA_HD PANDORA_INLINE unsigned which(F&& f) const {
    unsigned out = 0;
    for (int i = 0; i < kWarp; ++i) out |= (f(i) ? 1u : 0u) << i;
    return out;
  }
};

}  // namespace pandora
