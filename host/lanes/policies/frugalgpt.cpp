#include "pandora/cascade_search.hpp"
#include "pandora/policy.hpp"

namespace pandora::policies {

// A fixed cascade with acceptance thresholds, found by exhaustive search on full-information calibration data. From six
// boxes on the cascades are so many that only shorter ones are searched (longest_cascade).
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
