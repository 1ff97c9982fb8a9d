#include <algorithm>

#include "host/policies/cascade_search.hpp"
#include "pandora/policy.hpp"

namespace pandora::policies {

// Yardstick in hindsight: FrugalGPT's search over the online periods themselves.
Policy best_cascade() {
  return {.name = "best_cascade",
          .title = "Best fixed cascade",
          .group = PolicyGroup::yardstick,
          .summary = "yardstick: the fixed cascade with thresholds that is best in hindsight, mu* known",
          .uses_calibration = false,
          .by_name_only = true,
          .variants = [](const Grids&) -> std::vector<PolicyVariant> {
            return {{"none", "", [](const Replication& replication, int T0) {
                       const Cascade cascade = best_cascade_in_hindsight(replication.tape);
                       LaneSpec lane;
                       lane.T0 = T0;
                       lane.order = Order::listed;
                       lane.stop = Stop::last_reaches_threshold;
                       lane.length = static_cast<int>(cascade.boxes.size());
                       std::copy(cascade.boxes.begin(), cascade.boxes.end(), lane.list);
                       std::copy(cascade.thresholds.begin(), cascade.thresholds.end(), lane.threshold);
                       return lane;
                     }}};
          }};
}

}  // namespace pandora::policies
