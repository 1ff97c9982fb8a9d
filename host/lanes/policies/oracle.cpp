#include "pandora/policy.hpp"

namespace pandora::policies {

// Weitzman's rule with the oracle indices, the benchmark of every regret (Proposition prop:oracle-weitzman).
Policy oracle() {
  return {.name = "oracle",
          .title = "Oracle",
          .group = PolicyGroup::yardstick,
          .summary = "Weitzman's rule with the true indices and mu*: the benchmark",
          .uses_calibration = false,
          .variants = [](const Grids&) -> std::vector<PolicyVariant> {
            return {{"known", "", [](const Replication&, int T0) {
                       LaneSpec lane;
                       lane.T0 = T0;
                       lane.score = Score::oracle_index;
                       return lane;
                     }}};
          }};
}

}  // namespace pandora::policies
