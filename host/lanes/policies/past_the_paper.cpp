// Variants of Weitzman's rule that are not in the paper.
#include <fmt/format.h>

#include "pandora/policy.hpp"

namespace pandora::policies {
namespace {

// A variant for each value of a hyperparameter and each reward setting; `lane` makes the lane.
template <class Lane>
std::vector<PolicyVariant> variants_over(const Grids& grids, const std::string& name, Lane lane) {
  std::vector<PolicyVariant> variants;
  for (const RewardSetting& setting : kRewardSettings)
    for (const double value : grids.values(name))
      variants.push_back({setting.name, fmt::format("{}={}", name, value),
                          [=](const Replication&, int T0) { return lane(T0, setting.model, value); }});
  return variants;
}

}  // namespace

// Slopes of the indices are shrunk towards a common one.
Policy shrunk_weitzman() {
  return {
      .name = "shrunk_weitzman",
      .title = "Shrunk Weitzman",
      .group = PolicyGroup::past_the_paper,
      .summary =
          "Weitzman's rule, slopes of the boxes shrunk towards a common one by two learned ridges; bonus c_shrunk, on "
          "a learned reward c_shrunk_theta",
      .by_name_only = true,
      .hyperparameters = {{"c_shrunk", "factor of the index bonus of shrunk_weitzman", {0.2}},
                          {"c_shrunk_theta", "factor of its bonus on a learned reward", {0.0}}},
      .variants = [](const Grids& grids) {
        std::vector<PolicyVariant> variants;
        for (const double c : grids.values("c_shrunk"))
          variants.push_back({"known", fmt::format("c_shrunk={}", c),
                              [=](const Replication&, int T0) { return shrunk_lane(T0, RewardModel::known, c); }});
        for (const double c : grids.values("c_shrunk"))
          for (const double c_theta : grids.values("c_shrunk_theta"))
            variants.push_back(
                {"unknown",
                 c_theta == 0.0 ? fmt::format("c_shrunk={}", c)
                                : fmt::format("c_shrunk={};c_shrunk_theta={}", c, c_theta),
                 [=](const Replication&, int T0) { return shrunk_lane(T0, RewardModel::learned, c, c_theta); }});
        return variants;
      }};
}

// Boxes of a group have one slope, which is learned from the samples of all of them.
Policy tied_weitzman() {
  return {.name = "tied_weitzman",
          .title = "Tied Weitzman",
          .group = PolicyGroup::past_the_paper,
          .summary =
              "Weitzman's rule, slopes of the boxes that model.ties names together estimated as one, each box with its "
              "own intercept; bonus c_tied",
          .by_name_only = true,
          .hyperparameters = {{"c_tied", "factor of the index bonus of tied_weitzman", {0.2}}},
          .variants = [](const Grids& grids) {
            return variants_over(grids, "c_tied", [](int T0, RewardModel reward, double c) {
              LaneSpec lane = shrunk_lane(T0, reward, c);
              lane.shrinkage = Shrinkage::tied;
              return lane;
            });
          }};
}

// Thompson sampling: DOW's bonus is replaced by a normal draw for every box and period, times c and the width.
Policy thompson_weitzman() {
  return {.name = "thompson_weitzman",
          .title = "Thompson Weitzman",
          .group = PolicyGroup::past_the_paper,
          .summary = "Weitzman's rule with sampled indices: a normal draw times c_thompson and the width",
          .by_name_only = true,
          .hyperparameters = {{"c_thompson", "factor on the width that thompson_weitzman draws from"}},
          .variants = [](const Grids& grids) {
            return variants_over(grids, "c_thompson", [](int T0, RewardModel reward, double c) {
              LaneSpec lane = weitzman_lane(T0, Learning::online, reward, c, 0.0);
              lane.thompson = true;
              return lane;
            });
          }};
}

// The plug-in rule with exploration: with probability epsilon boxes come in a random order, and with probability
// epsilon a period opens all of them.
Policy epsilon_greedy_weitzman() {
  return {.name = "epsilon_greedy_weitzman",
          .title = "epsilon-greedy Weitzman",
          .group = PolicyGroup::past_the_paper,
          .summary = "Weitzman's rule with plug-in indices; a random order, and no stop, with probability epsilon each",
          .by_name_only = true,
          .hyperparameters = {{"epsilon", "probability of a random order, and of no stop", {0.01, 0.1}, 0.0, 1.0}},
          .variants = [](const Grids& grids) {
            return variants_over(grids, "epsilon", [](int T0, RewardModel reward, double epsilon) {
              LaneSpec lane = weitzman_lane(T0, Learning::online, reward, 0.0, 0.0);
              lane.epsilon = epsilon;
              return lane;
            });
          }};
}

// Ignores contexts: a box's index is the reservation index of the outputs that it has shown so far. This is the
// minimiser of the index loss over constants, so it has the schedule and the ridge of all plug-in rules.
Policy empirical_weitzman() {
  return {.name = "empirical_weitzman",
          .title = "Empirical Weitzman",
          .short_title = "Empirical",
          .group = PolicyGroup::past_the_paper,
          .summary = "Weitzman's rule with the index of each box's samples, whatever the context",
          .by_name_only = true,
          .variants = [](const Grids&) {
            std::vector<PolicyVariant> variants;
            for (const RewardSetting& setting : kRewardSettings)
              variants.push_back({setting.name, "", [model = setting.model](const Replication&, int T0) {
                                    LaneSpec lane = weitzman_lane(T0, Learning::online, model, 0.0, 0.0);
                                    lane.context = false;
                                    return lane;
                                  }});
            return variants;
          }};
}

}  // namespace pandora::policies
