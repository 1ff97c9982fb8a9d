// The periods at which a lane's cumulative curve is recorded, for a horizon of T periods: the union of {1, 2, 5} x 10^k
// below T, for logarithmic axes, and ceil(i T / 40), i = 1..40, for linear ones. The last is T itself.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/hd.hpp"

namespace pandora {

inline constexpr int kLinearCheckpoints = 40;

/// An upper bound for any int T: 1, 2, 5, ..., 10^9, 2 10^9 are 29 values below 2^31, and there are 40 linear ones.
inline constexpr int kMostCheckpoints = 29 + kLinearCheckpoints;

/// The smallest checkpoint greater than after >= 0; 0 if there is none, which is so for after >= T.
PANDORA_HD inline int next_checkpoint(int after, int T) {
  if (after >= T) return 0;
  // ceil(x) > after exactly where x > after: the first i with i T > 40 after. It is at most 40.
  const std::int64_t wide = T, i = kLinearCheckpoints * static_cast<std::int64_t>(after) / wide + 1;
  std::int64_t next = (i * wide + kLinearCheckpoints - 1) / kLinearCheckpoints;
  for (std::int64_t decade = 1; decade < next; decade *= 10)  // one below `next` is below T
    for (int digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3)
      if (digit * decade > after && digit * decade < next) next = digit * decade;
  return static_cast<int>(next);
}

/// All checkpoints, in ascending order.
inline std::vector<int> checkpoints(int T) {
  std::vector<int> out;
  for (int at = next_checkpoint(0, T); at != 0; at = next_checkpoint(at, T)) out.push_back(at);
  return out;
}

}  // namespace pandora
