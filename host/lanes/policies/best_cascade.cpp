#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "pandora/cascade_search.hpp"
#include "pandora/policy.hpp"

namespace pandora::policies {
namespace {

// Fitted on the online periods themselves, mu* seen.
FrugalCascade best_in_hindsight(const Tape& tape) {
  const std::size_t first = tape.at(tape.online_row(0), 0), A = static_cast<std::size_t>(tape.boxes()),
                    rows = static_cast<std::size_t>(tape.online_rows);
  const std::span<const double> mu(tape.mu.data() + first, rows * A), cost(tape.cost.data() + first, rows * A);
  const FixedCascade best = fit_fixed_cascade({A, mu, mu, cost}, 1.0, all_rows(rows));
  return {{best.order.begin(), best.order.end()}, best.thresholds};
}

}  // namespace

// Yardstick in hindsight.
Policy best_cascade() {
  return {.name = "best_cascade",
          .title = "Best fixed cascade",
          .group = PolicyGroup::yardstick,
          .summary = "yardstick: the fixed cascade with thresholds that is best in hindsight, mu* known",
          .uses_calibration = false,
          .by_name_only = true,
          .variants = [](const Grids&) -> std::vector<PolicyVariant> {
            return {{"none", "", [](const Replication& replication, int T0) {
                       return cascade_lane(T0, best_in_hindsight(replication.tape));
                     }}};
          }};
}

}  // namespace pandora::policies
