// The 32 members of a warp, each with values of its own in registers. Code is written once for two cases: a real warp,
// and one thread that keeps the members' values in arrays:
//
//   const Members<Team> all{team};
//   Own<Team, float> x;
//   all.each([&](int i) { x[i] = f(i); });           // by every member i
//   const float third = all.of(x, 3);                // member 3's value, in all members
//   const Own<Team, float> y = all.exchanged(x, 1);  // member i gets the value of member i ^ 1
//
// Both give the same results.
#pragma once

#include <bit>

#include "kernels/base/team.hpp"

namespace pandora {

inline constexpr int kWarp = 32;

/// A value that every member has one of.
template <class Team, class T>
struct Own {
  T value[Team::kAlone ? kWarp : 1];
  PANDORA_HD T& operator[]([[maybe_unused]] int i) { return value[Team::kAlone ? i : 0]; }
  PANDORA_HD const T& operator[]([[maybe_unused]] int i) const { return value[Team::kAlone ? i : 0]; }
};

/// The index of the lowest bit that is set. `bits` must not be 0.
PANDORA_HD inline int lowest_bit(unsigned bits) {
  return PANDORA_ON_DEVICE(__ffs(static_cast<int>(bits)) - 1, std::countr_zero(bits));
}
PANDORA_HD inline int count_bits(unsigned bits) {
  return PANDORA_ON_DEVICE(__popc(bits), std::popcount(bits));
}

/// The members of a real warp. All must make the same calls in the same order.
template <class Team>
struct Members {
  const Team& team;

  PANDORA_HD int size() const { return Team::kAlone ? kWarp : team.size(); }
  template <class F>
  PANDORA_HD PANDORA_INLINE void each(F&& f) const {
    if constexpr (Team::kAlone)
      for (int i = 0; i < kWarp; ++i) f(i);
    else
      f(team.rank());
  }
  template <class T>
  PANDORA_HD PANDORA_INLINE T of(const Own<Team, T>& x, int member) const {
    if constexpr (Team::kAlone)
      return x[member];
    else
      return team.shuffle(x.value[0], member);
  }
  /// Member i gets the value of member i ^ mask.
  template <class T>
  PANDORA_HD PANDORA_INLINE Own<Team, T> exchanged(const Own<Team, T>& x, int mask) const {
    Own<Team, T> out;
    if constexpr (Team::kAlone)
      for (int i = 0; i < kWarp; ++i) out[i] = x[i ^ mask];
    else
      out.value[0] = team.shuffle_xor(x.value[0], mask);
    return out;
  }
  /// Member i adds the value of member i ^ mask to x, for every mask from kMask to kLast. Each mask is twice or half
  /// the one before.
  template <int kMask, int kLast, class T>
  PANDORA_HD PANDORA_INLINE void add_up(Own<Team, T>& x) const {
    const Own<Team, T> other = exchanged(x, kMask);
    each([&](int i) { x[i] += other[i]; });
    if constexpr (kMask != kLast) add_up<(kMask < kLast ? 2 * kMask : kMask / 2), kLast>(x);
  }
  /// Bit i is set where f(i) holds.
  template <class F>
  PANDORA_HD PANDORA_INLINE unsigned which(F&& f) const {
    unsigned out = 0;
    if constexpr (Team::kAlone)
      for (int i = 0; i < kWarp; ++i) out |= (f(i) ? 1u : 0u) << i;
    else
      out = team.ballot(f(team.rank()));
    return out;
  }
};

}  // namespace pandora
