#include <fmt/format.h>

#include "pandora/policy.hpp"

namespace pandora::policies {

// The plug-in rule, but with probability epsilon boxes come in a random order, and with probability epsilon a period
// opens all of them.
Policy epsilon_greedy_weitzman() {
  return {.name = "epsilon_greedy_weitzman",
          .title = "epsilon-greedy Weitzman",
          .group = PolicyGroup::past_the_paper,
          .summary = "Weitzman's rule with plug-in indices; a random order, and no stop, with probability epsilon each",
          .by_name_only = true,
          .hyperparameters = {{"epsilon", "probability that a period explores", {0.01, 0.1}, 0.0, 1.0}},
          .variants = [](const Grids& grids) {
            std::vector<PolicyVariant> variants;
            for (const RewardSetting& setting : kRewardSettings)
              for (const double epsilon : grids.values("epsilon"))
                variants.push_back({setting.name, fmt::format("epsilon={}", epsilon), [=](const Replication&, int T0) {
                                      LaneSpec lane = weitzman_lane(T0, Learning::online, setting.model, 0.0, 0.0);
                                      lane.epsilon = epsilon;
                                      return lane;
                                    }});
            return variants;
          }};
}

}  // namespace pandora::policies
