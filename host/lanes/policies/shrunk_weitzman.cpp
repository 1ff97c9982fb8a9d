#include <fmt/format.h>

#include "pandora/policy.hpp"

namespace pandora::policies {

// Weitzman's rule with indices whose slopes are shrunk towards a common one.
Policy shrunk_weitzman() {
  return {
      .name = "shrunk_weitzman",
      .title = "Shrunk Weitzman",
      .group = PolicyGroup::past_the_paper,
      .summary =
          "Weitzman's rule, slopes of the boxes shrunk towards a common one by two learned ridges; bonus c_shrunk, on "
          "a learned reward c_shrunk_theta",
      .by_name_only = true,
      .hyperparameters = {{"c_shrunk", "width of the index bonus of shrunk_weitzman", {0.2}},
                          {"c_shrunk_theta", "width of its bonus on a learned reward", {0.0}}},
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

}  // namespace pandora::policies
