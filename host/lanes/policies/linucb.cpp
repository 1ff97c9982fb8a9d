#include <fmt/format.h>

#include "pandora/policy.hpp"

namespace pandora::policies {
namespace {

// LinUCB treats each box as an arm: one box per period, ridge regression of the net payoff r - c on psi(x).
LaneSpec linucb_lane(int T0, Learning learning, double c_b) {
  LaneSpec lane;
  lane.T0 = T0;
  lane.score = Score::learned_payoff;
  lane.stop = Stop::after_first;
  lane.learning = learning;
  lane.c_b = c_b;
  return lane;
}

}  // namespace

Policy linucb_online() {
  return {.name = "linucb_online",
          .title = "LinUCB (online)",
          .group = PolicyGroup::baseline,
          .summary = "LinUCB (online): one box per period, bonus c_b",
          .hyperparameters = {{"c_b", "width of LinUCB's bonus"}},
          .variants = [](const Grids& grids) {
            std::vector<PolicyVariant> variants;
            for (const double c_b : grids.values("c_b"))
              variants.push_back({"none", fmt::format("c_b={}", c_b),
                                  [=](const Replication&, int T0) { return linucb_lane(T0, Learning::online, c_b); }});
            return variants;
          }};
}

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
