// What a study's [feedback] says of the rewards of online periods: when they come, and which come at all or right
// (docs/scenarios.md, "Feedback"). Outputs, costs and mu of opened boxes are seen at once in any case, and so is
// everything of the calibration.
#pragma once

#include <cstdint>

namespace pandora {

/// Whole periods from a period to the one at whose end its reward comes; 0: its own.
struct DelayLaw {
  enum class Kind : std::uint8_t {
    constant,   ///< `mean`, a whole number
    geometric,  ///< on 0, 1, 2, ... with that mean
    lognormal   ///< exp(sigma z + log(mean) - sigma^2 / 2) rounded down
  };
  Kind kind = Kind::constant;
  double mean = 0.0;
  double sigma = 1.0;  ///< of lognormal alone

  friend bool operator==(const DelayLaw&, const DelayLaw&) = default;
};

struct FeedbackRules {
  DelayLaw delay;
  double share = 1.0;                  ///< probability that a reward is ever told
  double flip = 0.0;                   ///< probability that a reward r is told as 1 - r
  int poison_from = 0, poison_to = 0;  ///< online periods (1, 2, ...) whose rewards are all told as 1 - r; 0: none
  /// After period restart_at (1, 2, ...) a policy starts again without what it learned in the last `lost` periods;
  /// rewards of these periods that would come later are never told. 0: it does not.
  int restart_at = 0, lost = 0;

  /// Whether every reward is told at once and right.
  bool plain() const { return *this == FeedbackRules{}; }
  friend bool operator==(const FeedbackRules&, const FeedbackRules&) = default;
};

}  // namespace pandora
