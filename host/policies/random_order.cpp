#include "pandora/policy.hpp"

namespace pandora::policies {

// Yardstick: what the order alone is worth. Stops when max mu reaches the largest oracle index left.
Policy random_order() {
  return {"random_order", "yardstick: a random order with the oracle's stopping rule", false, false,
          [](const Grids&) -> std::vector<PolicyVariant> {
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
