// The paper's policies (Section 6), except its oracle.
#include <fmt/format.h>

#include "pandora/cascade_search.hpp"
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

// Algorithm alg:DOW:detailed with B_at = c_rho and beta_t = c_theta, as in Section 6.
Policy dow() {
  return {.name = "dow",
          .title = "DOW",
          .group = PolicyGroup::weitzman,
          .summary = "Double Optimistic Weitzman: bonuses c_rho on the indices, c_theta on the reward",
          .hyperparameters = {{"c_rho", "factor of the index bonus, in place of B_at"},
                              {"c_theta", "factor of the reward bonus, in place of beta_t"}},
          .variants = [](const Grids& grids) {
            std::vector<PolicyVariant> variants;
            for (const double c_rho : grids.values("c_rho"))
              variants.push_back({"known", fmt::format("c_rho={}", c_rho), [=](const Replication&, int T0) {
                                    return weitzman_lane(T0, Learning::online, RewardModel::known, c_rho, 0.0);
                                  }});
            for (const double c_rho : grids.values("c_rho"))
              for (const double c_theta : grids.values("c_theta"))
                variants.push_back(
                    {"unknown", fmt::format("c_rho={};c_theta={}", c_rho, c_theta), [=](const Replication&, int T0) {
                       return weitzman_lane(T0, Learning::online, RewardModel::learned, c_rho, c_theta);
                     }});
            return variants;
          }};
}

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

Policy linucb_online() {
  return {.name = "linucb_online",
          .title = "LinUCB (online)",
          .group = PolicyGroup::baseline,
          .summary = "LinUCB (online): one box per period, bonus c_b",
          .hyperparameters = {{"c_b", "factor of LinUCB's bonus"}},
          .variants = [](const Grids& grids) {
            std::vector<PolicyVariant> variants;
            for (const double c_b : grids.values("c_b"))
              variants.push_back({"none", fmt::format("c_b={}", c_b),
                                  [=](const Replication&, int T0) { return linucb_lane(T0, Learning::online, c_b); }});
            return variants;
          }};
}

// A router: it deploys the box with the greatest upper bound of its reward unopened, and pays nothing.
Policy linucb_router() {
  return {.name = "linucb_router",
          .title = "LinUCB router",
          .group = PolicyGroup::past_the_paper,
          .summary = "LinUCB over rewards: deploys one box unopened; bonus c_b; needs actions.uninspected",
          .by_name_only = true,
          .hyperparameters = {{"c_b", "factor of LinUCB's bonus"}},
          .variants = [](const Grids& grids) {
            std::vector<PolicyVariant> variants;
            for (const double c_b : grids.values("c_b"))
              variants.push_back({"none", fmt::format("c_b={}", c_b), [=](const Replication&, int T0) {
                                    LaneSpec lane = linucb_lane(T0, Learning::online, c_b);
                                    lane.unopened = true;
                                    return lane;
                                  }});
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

// A fixed cascade with acceptance thresholds, found by exhaustive search on full-information calibration data. From six
// boxes on there are too many cascades, so only shorter ones are searched (longest_cascade).
Policy frugalgpt() {
  return {
      .name = "frugalgpt",
      .title = "FrugalGPT",
      .group = PolicyGroup::baseline,
      .summary =
          "FrugalGPT: the best fixed cascade with thresholds on the calibration data, mu* known; of any length for A "
          "<= 5, of at most 5 boxes for A = 6, 4 for A <= 11, 3 beyond",
      .needs_calibration = true,
      .variants = [](const Grids&) -> std::vector<PolicyVariant> {
        return {{"known", "", [](const Replication& replication, int T0) {
                   return cascade_lane(T0, search_cascade(replication.tape, T0));
                 }}};
      }};
}

}  // namespace pandora::policies
