#include "pandora/policy.hpp"

namespace pandora::policies {

// Yardstick in hindsight: the box with the greatest mean of mu* - c over the replication's online periods.
Policy best_single() {
  return {.name = "best_single",
          .title = "Best single box",
          .group = PolicyGroup::yardstick,
          .summary = "yardstick: the one box that is best in hindsight",
          .uses_calibration = false,
          .variants = [](const Grids&) -> std::vector<PolicyVariant> {
            return {{"none", "", [](const Replication& replication, int T0) {
                       const Tape& tape = replication.tape;
                       double best = 0.0;
                       LaneSpec lane;
                       lane.T0 = T0;
                       lane.order = Order::listed;
                       lane.stop = Stop::after_first;
                       lane.length = 1;
                       for (int a = 0; a < tape.boxes(); ++a) {
                         double sum = 0.0;
                         for (int t = 0; t < tape.online_rows; ++t) {
                           const std::size_t at = tape.at(tape.online_row(t), a);
                           sum += tape.mu[at] - tape.cost[at];
                         }
                         if (a == 0 || sum > best) {
                           best = sum;
                           lane.list[0] = a;
                         }
                       }
                       return lane;
                     }}};
          }};
}

}  // namespace pandora::policies
