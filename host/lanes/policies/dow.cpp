#include <fmt/format.h>

#include "pandora/policy.hpp"

namespace pandora::policies {

// Algorithm alg:DOW:detailed with B_at = c_rho and beta_t = c_theta, as in Section 6.
Policy dow() {
  return {.name = "dow",
          .title = "DOW",
          .group = PolicyGroup::weitzman,
          .summary = "Double Optimistic Weitzman: bonuses c_rho on the indices, c_theta on the reward",
          .hyperparameters = {{"c_rho", "width of the index bonus, in place of B_at"},
                              {"c_theta", "width of the reward bonus, in place of beta_t"}},
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

}  // namespace pandora::policies
