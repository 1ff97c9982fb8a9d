#include "pandora/policy.hpp"

namespace pandora::policies {
namespace {

// Learned indices without optimism, with mu* known and unknown.
std::vector<PolicyVariant> plug_in_variants(Learning learning) {
  std::vector<PolicyVariant> variants;
  for (const RewardSetting& setting : kRewardSettings)
    variants.push_back({setting.name, "", [=](const Replication&, int T0) {
                          return weitzman_lane(T0, learning, setting.model, 0.0, 0.0);
                        }});
  return variants;
}

}  // namespace

Policy online_plugin() {
  return {.name = "online_plugin",
          .title = "Online Plug-in Weitzman",
          .short_title = "Online plug-in",
          .group = PolicyGroup::weitzman,
          .summary = "Online Plug-in Weitzman: learns rho (and theta) online, no optimism",
          .variants = [](const Grids&) { return plug_in_variants(Learning::online); }};
}

Policy static_plugin() {
  return {.name = "static_plugin",
          .title = "Static Plug-in Weitzman",
          .short_title = "Static plug-in",
          .group = PolicyGroup::baseline,
          .summary = "Static Plug-in Weitzman: estimates once from the T_0 calibration periods",
          .needs_calibration = true,
          .variants = [](const Grids&) { return plug_in_variants(Learning::calibration); }};
}

}  // namespace pandora::policies
