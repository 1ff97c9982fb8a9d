#include "pandora/policy.hpp"

namespace pandora::policies {

// Yardstick: in every period the box with the greatest mu* - c is opened and deployed. No policy, whatever it knows
// beforehand, has a greater utility: an opened output can at best be the best one, and others only cost.
Policy hindsight() {
  return {.name = "hindsight",
          .title = "Hindsight",
          .group = PolicyGroup::yardstick,
          .summary = "yardstick: every period's best answer less its cost, known beforehand; a bound",
          .uses_calibration = false,
          .by_name_only = true,
          .variants = [](const Grids&) -> std::vector<PolicyVariant> {
            return {{"none", "", [](const Replication&, int T0) {
                       LaneSpec lane;
                       lane.T0 = T0;
                       lane.score = Score::hindsight;
                       return lane;
                     }}};
          }};
}

}  // namespace pandora::policies
