// After Atsidakou and others (2024): indices linear in psi by online regression, without a bonus.
#include "pandora/policy.hpp"

namespace pandora::rivals {

// Contextual Pandora's box by reduction to online regression (Atsidakou, Caramanis, Gatsouli, Papadigenopoulos and
// Tzamos, 2024). Indices are linear in psi and minimise the linear-quadratic loss; Weitzman's rule uses them without a
// bonus. The regression here is the exact minimiser with a ridge, as everywhere in this project.
Policy atsidakou() {
  return {
      .name = "atsidakou",
      .title = "Atsidakou et al.",
      .group = PolicyGroup::past_the_paper,
      .summary = "Weitzman's rule with linear indices fitted by the linear-quadratic loss of Atsidakou et al. (2024)",
      .by_name_only = true,
      .variants = [](const Grids&) {
        std::vector<PolicyVariant> variants;
        for (const RewardSetting& setting : kRewardSettings)
          variants.push_back({setting.name, "", [=](const Replication&, int T0) {
                                LaneSpec lane = weitzman_lane(T0, Learning::online, setting.model, 0.0, 0.0);
                                lane.loss = Loss::linear_quadratic;
                                return lane;
                              }});
        return variants;
      }};
}

}  // namespace pandora::rivals
