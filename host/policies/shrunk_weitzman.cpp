#include <fmt/format.h>

#include "host/policies/weitzman.hpp"

namespace pandora::policies {

// Weitzman's rule with indices whose slopes are shrunk towards a common one.
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
                variants.push_back({setting.name, fmt::format("c_shrunk={}", c),
                                    [=](const Replication&, int T0) { return shrunk_lane(T0, setting.model, c); }});
            return variants;
          }};
}

}  // namespace pandora::policies
