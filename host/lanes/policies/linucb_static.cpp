#include "host/lanes/policies/linucb.hpp"

namespace pandora::policies {

Policy linucb_static() {
  return {
      .name = "linucb_static",
      .title = "LinUCB (static)",
      .group = PolicyGroup::baseline,
      .summary = "LinUCB (static): the regression of the T_0 calibration periods, no bonus",
      .needs_calibration = true,
      .variants = [](const Grids&) -> std::vector<PolicyVariant> {
        return {{"none", "", [](const Replication&, int T0) { return linucb_lane(T0, Learning::calibration, 0.0); }}};
      }};
}

}  // namespace pandora::policies
