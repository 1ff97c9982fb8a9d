#include <fmt/format.h>

#include "host/policies/weitzman.hpp"

namespace pandora::policies {

// Algorithm alg:DOW:detailed with B_at = c_rho and beta_t = c_theta, as in Section 6.
Policy dow() {
  return {"dow", "Double Optimistic Weitzman: bonuses c_rho on the indices, c_theta on the reward", false, true,
          [](const std::vector<double>& grid) {
            std::vector<PolicyVariant> variants;
            for (const double c_rho : grid)
              variants.push_back({"known", fmt::format("c_rho={}", c_rho), [=](const Replication&, int T0) {
                                    return weitzman_lane(T0, Learning::online, RewardModel::known, c_rho, 0.0);
                                  }});
            for (const double c_rho : grid)
              for (const double c_theta : grid)
                variants.push_back(
                    {"unknown", fmt::format("c_rho={};c_theta={}", c_rho, c_theta), [=](const Replication&, int T0) {
                       return weitzman_lane(T0, Learning::online, RewardModel::learned, c_rho, c_theta);
                     }});
            return variants;
          }};
}

}  // namespace pandora::policies
