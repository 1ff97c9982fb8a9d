#include <fmt/format.h>

#include "host/policies/weitzman.hpp"

namespace pandora::policies {

// Weitzman's rule with indices whose slopes are shrunk towards a common one (kernels/rules/shrinkage.hpp), and a bonus
// on the width of C_aa. Every box is opened first until it has five samples: a box that starts with a bad one could
// else stay closed for good.
Policy shrunk_weitzman() {
  return {.name = "shrunk_weitzman",
          .title = "Shrunk Weitzman",
          .group = PolicyGroup::past_the_paper,
          .summary =
              "Weitzman's rule, slopes of the boxes shrunk towards a common one by two learned ridges; bonus c_shrunk",
          .by_name_only = true,
          .hyperparameters = {{"c_shrunk", "width of the index bonus of shrunk_weitzman", {0.2}}},
          .variants = [](const Grids& grids) {
            std::vector<PolicyVariant> variants;
            for (const RewardSetting& setting : kRewardSettings)
              for (const double c : grids.of("c_shrunk"))
                variants.push_back({setting.name, fmt::format("c_shrunk={}", c), [=](const Replication&, int T0) {
                                      LaneSpec lane = weitzman_lane(T0, Learning::online, setting.model, c, 0.0);
                                      lane.fit = Fit::shrunk;
                                      lane.bonus.kind = Bonus::log_ratio;
                                      lane.forced = 5;
                                      return lane;
                                    }});
            return variants;
          }};
}

}  // namespace pandora::policies
