#include <fmt/format.h>

#include "host/lanes/policies/linucb.hpp"

namespace pandora::policies {

Policy linucb_online() {
  return {.name = "linucb_online",
          .title = "LinUCB (online)",
          .group = PolicyGroup::baseline,
          .summary = "LinUCB (online): one box per period, bonus c_b",
          .hyperparameters = {{"c_b", "width of LinUCB's bonus"}},
          .variants = [](const Grids& grids) {
            std::vector<PolicyVariant> variants;
            for (const double c_b : grids.of("c_b"))
              variants.push_back({"none", fmt::format("c_b={}", c_b),
                                  [=](const Replication&, int T0) { return linucb_lane(T0, Learning::online, c_b); }});
            return variants;
          }};
}

}  // namespace pandora::policies
