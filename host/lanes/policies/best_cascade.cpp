#include <algorithm>

#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "pandora/policy.hpp"

namespace pandora::policies {

namespace {

// Fitted on the online periods themselves, mu* seen.
FixedCascade fitted(const Tape& tape) {
  const std::size_t first = tape.at(tape.online_row(0), 0), A = static_cast<std::size_t>(tape.boxes()),
                    rows = static_cast<std::size_t>(tape.online_rows);
  const std::span<const double> mu(tape.mu.data() + first, rows * A), cost(tape.cost.data() + first, rows * A);
  return fit_fixed_cascade({A, mu, mu, cost}, 1.0, all_rows(rows));
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
                       const FixedCascade cascade = fitted(replication.tape);
                       LaneSpec lane;
                       lane.T0 = T0;
                       lane.order = Order::listed;
                       lane.stop = Stop::last_reaches_threshold;
                       lane.length = static_cast<int>(cascade.order.size());
                       std::copy(cascade.order.begin(), cascade.order.end(), lane.list);
                       std::copy(cascade.thresholds.begin(), cascade.thresholds.end(), lane.threshold);
                       return lane;
                     }}};
          }};
}

}  // namespace pandora::policies
