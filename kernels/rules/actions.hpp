// Actions beyond the paper's (docs/wider.md): boxes that are opened again or deployed unopened, and an outside option.
//
// A lane with such actions plays arms. Arm a N + k is the (k+1)-th of the N openings of box a. It is treated as a box
// of its own, with a fresh draw and the oracle index of its row. In the model that is the index of box a. The outside
// option is one more arm, with the last number. It costs nothing and is opened before all others, so the best value so
// far starts at its value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/base/hd.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// The score of the outside option, above that of a box that must be opened.
inline constexpr double kFirstOfAll = 2e9;

/// The outside option's value where there is none.
inline constexpr double kNoOutside = -std::numeric_limits<double>::infinity();

struct Actions {
  int openings = 1;             ///< N >= 1: how often a box may be opened in a period
  bool uninspected = false;     ///< a box may be deployed unopened, at no cost
  double outside = kNoOutside;  ///< the value of ending a period without a box, in [0, 1]; kNoOutside: not allowed

  PANDORA_HD bool has_outside() const { return outside >= 0.0; }
  /// Whether the lane plays arms. Otherwise it plays the paper's problem.
  PANDORA_HD bool wide() const { return openings > 1 || uninspected || has_outside(); }
  PANDORA_HD int arms(int boxes) const { return boxes * openings + (has_outside() ? 1 : 0); }
  PANDORA_HD int outside_arm(int boxes) const { return has_outside() ? boxes * openings : -1; }
  PANDORA_HD int box_of(int arm) const { return arm / openings; }
  PANDORA_HD int opening_of(int arm) const { return arm % openings; }
  /// The arms of the boxes that are there (bit a for box a), and the outside option.
  PANDORA_HD unsigned arms_there(unsigned there, int boxes) const {
    if (there == kAllBoxes) return kAllBoxes;
    unsigned out = has_outside() ? 1u << outside_arm(boxes) : 0u;
    for (int arm = 0; arm < boxes * openings; ++arm) out |= holds(there, box_of(arm)) ? 1u << arm : 0u;
    return out;
  }

  friend bool operator==(const Actions&, const Actions&) = default;
};

/// Which decisions of a benchmark a lane follows instead of its own rules.
enum class Follow : std::uint8_t {
  nothing,
  optimal,   ///< the optimal policy of a period whose laws are known, where boxes may be deployed unopened
  committed  ///< the policy that commits to one box that it deploys only unopened, or to none
};

/// The numbers of the arms in a period.
struct ArmValues {
  int count;
  double mu[kMaxBoxes], cost[kMaxBoxes], sigma[kMaxBoxes];
  float reward[kMaxBoxes];
};

/// Reads the numbers of the arms from the rows of a tape. `at(opening)` is the offset at which the row of that opening
/// begins.
template <class At>
PANDORA_HD inline ArmValues arm_values(const Actions& actions, int boxes, const double* mu, const double* cost,
                                       const double* sigma, const float* reward, At&& at) {
  ArmValues out;
  out.count = actions.arms(boxes);
  for (int arm = 0; arm < boxes * actions.openings; ++arm) {
    const int a = actions.box_of(arm);
    const std::size_t place = at(actions.opening_of(arm)) + static_cast<std::size_t>(a);
    out.mu[arm] = mu[place];
    out.cost[arm] = cost[place];
    out.sigma[arm] = sigma[place];
    out.reward[arm] = reward[place];
  }
  if (actions.has_outside()) {
    const int last = actions.outside_arm(boxes);
    out.mu[last] = actions.outside;
    out.cost[last] = 0.0;
    out.sigma[last] = kFirstOfAll;
    out.reward[last] = static_cast<float>(actions.outside);
  }
  return out;
}

}  // namespace pandora
