// A study's [feedback]: when the rewards of online periods come, whether they come at all, and whether they are right
// (docs/scenarios.md, "Feedback"). Outputs, costs and mu of opened boxes are always seen at once, and so is everything
// of the calibration.
#pragma once

#include <cstdint>

namespace pandora {

/// The delay of a reward in whole periods: a reward comes at the end of its period plus the delay. 0: its own period.
struct DelayLaw {
  enum class Kind : std::uint8_t {
    constant,   ///< `mean`, a whole number
    geometric,  ///< on 0, 1, 2, ... with that mean
    lognormal   ///< exp(sigma z + log(mean) - sigma^2 / 2) rounded down
  };
  Kind kind = Kind::constant;
  double mean = 0.0;
  double sigma = 1.0;  ///< for lognormal only

  friend bool operator==(const DelayLaw&, const DelayLaw&) = default;
};

struct FeedbackRules {
  DelayLaw delay;
  double share = 1.0;                  ///< probability that a reward is ever told
  double flip = 0.0;                   ///< probability that a reward r is told as 1 - r
  int poison_from = 0, poison_to = 0;  ///< online periods (1, 2, ...) whose rewards are all told as 1 - r; 0: none
  /// After period restart_at (1, 2, ...) a policy starts again without what it learned in the last `lost` periods.
  /// Rewards of those periods that would come later are never told. 0: there is no restart.
  int restart_at = 0, lost = 0;

  /// Whether every reward is told at once and right.
  bool plain() const { return *this == FeedbackRules{}; }
  friend bool operator==(const FeedbackRules&, const FeedbackRules&) = default;
};

}  // namespace pandora
