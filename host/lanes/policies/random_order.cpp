#include "pandora/policy.hpp"

namespace pandora::policies {

// Yardstick: what the order alone is worth. Stops when max mu reaches the largest oracle index left.
Policy random_order() {
  return {.name = "random_order",
          .title = "Random order",
          .group = PolicyGroup::yardstick,
          .summary = "yardstick: a random order with the oracle's stopping rule",
          .uses_calibration = false,
          .variants = [](const Grids&) -> std::vector<PolicyVariant> {
            return {{"known", "", [](const Replication&, int T0) {
                       LaneSpec lane;
                       lane.T0 = T0;
                       lane.order = Order::random;
                       lane.score = Score::oracle_index;
                       return lane;
                     }}};
          }};
}

}  // namespace pandora::policies
