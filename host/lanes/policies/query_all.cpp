#include "pandora/policy.hpp"

namespace pandora::policies {

Policy query_all() {
  return {.name = "query_all",
          .title = "Query all",
          .group = PolicyGroup::yardstick,
          .summary = "yardstick: opens every box and deploys the best output",
          .uses_calibration = false,
          .variants = [](const Grids&) -> std::vector<PolicyVariant> {
            return {{"known", "", [](const Replication&, int T0) {
                       LaneSpec lane;
                       lane.T0 = T0;
                       lane.stop = Stop::never;
                       return lane;
                     }}};
          }};
}

}  // namespace pandora::policies
