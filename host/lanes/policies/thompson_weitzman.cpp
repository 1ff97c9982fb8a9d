#include <fmt/format.h>

#include "pandora/policy.hpp"

namespace pandora::policies {

// Thompson sampling: in place of DOW's bonus a normal draw of every box and period, times c and the width.
Policy thompson_weitzman() {
  return {.name = "thompson_weitzman",
          .title = "Thompson Weitzman",
          .group = PolicyGroup::past_the_paper,
          .summary = "Weitzman's rule with sampled indices: a normal draw times c_thompson and the width",
          .by_name_only = true,
          .hyperparameters = {{"c_thompson", "factor on the width that thompson_weitzman draws from"}},
          .variants = [](const Grids& grids) {
            std::vector<PolicyVariant> variants;
            for (const RewardSetting& setting : kRewardSettings)
              for (const double c : grids.values("c_thompson"))
                variants.push_back({setting.name, fmt::format("c_thompson={}", c), [=](const Replication&, int T0) {
                                      LaneSpec lane = weitzman_lane(T0, Learning::online, setting.model, c, 0.0);
                                      lane.thompson = true;
                                      return lane;
                                    }});
            return variants;
          }};
}

}  // namespace pandora::policies
