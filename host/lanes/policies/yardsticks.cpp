// Yardsticks. They use values that no policy can know, so they do not compete.
#include <algorithm>
#include <vector>

#include "host/outcomes/search/fit_fixed_cascade.hpp"
#include "pandora/cascade_search.hpp"
#include "pandora/policy.hpp"

namespace pandora::policies {
namespace {

using LaneMaker = std::function<LaneSpec(const Replication&, int T0)>;

Policy yardstick(const char* name, const char* title, const char* summary, const char* reward, LaneMaker lane,
                 bool by_name_only = false) {
  return {.name = name,
          .title = title,
          .group = PolicyGroup::yardstick,
          .summary = summary,
          .uses_calibration = false,
          .by_name_only = by_name_only,
          .variants = [=](const Grids&) -> std::vector<PolicyVariant> {
            return {{reward, "", lane}};
          }};
}

// A lane that differs from the usual one by `differ`, for any replication.
template <class Differ>
LaneMaker lane_that(Differ differ) {
  return [differ](const Replication&, int T0) {
    LaneSpec lane;
    lane.T0 = T0;
    differ(lane);
    return lane;
  };
}

// A cascade fitted on the online periods themselves, with mu* seen.
LaneSpec cascade_in_hindsight(const Replication& replication, int T0) {
  const Tape& tape = replication.tape;
  const std::size_t first = tape.at(tape.online_row(0), 0), A = static_cast<std::size_t>(tape.boxes()),
                    rows = static_cast<std::size_t>(tape.online_rows);
  const std::span<const double> mu(tape.mu.data() + first, rows * A), cost(tape.cost.data() + first, rows * A);
  const FixedCascade best = fit_fixed_cascade({A, mu, mu, cost}, 1.0);
  return cascade_lane(T0, {{best.order.begin(), best.order.end()}, best.thresholds});
}

// The box and the number of its openings, n <= N, with the greatest mean of the best mu* of n outputs, or of the outside
// option if that is better, less their costs over the online periods.
LaneSpec best_openings(const Replication& replication, int T0, int N) {
  const Tape& tape = replication.tape;
  const Actions& actions = replication.actions;
  double best = 0.0;
  LaneSpec lane;
  lane.T0 = T0;
  lane.order = Order::listed;
  lane.stop = Stop::never;
  for (int a = 0; a < tape.boxes(); ++a) {
    std::vector<double> sums(static_cast<std::size_t>(N), 0.0);
    for (int t = 0; t < tape.online_rows; ++t) {
      double reached = actions.outside, spent = 0.0;
      const bool there = holds(tape.there(tape.online_row(t)), a);
      for (int k = 0; k < N && (there || actions.has_outside()); ++k) {
        const std::size_t at = tape.at(tape.online_row(t) + k * tape.online_rows, a);
        if (there) reached = std::max(reached, tape.mu[at]);
        if (there) spent += tape.cost[at];
        sums[static_cast<std::size_t>(k)] += reached - spent;
      }
    }
    const auto most = std::ranges::max_element(sums);
    if (lane.length > 0 && !(*most > best)) continue;
    best = *most;
    lane.length = static_cast<int>(most - sums.begin()) + 1;
    std::fill_n(lane.list, lane.length, a);
  }
  return lane;
}

LaneSpec best_of_n_outputs(const Replication& replication, int T0) {
  return best_openings(replication, T0, replication.actions.openings);
}

LaneSpec best_box(const Replication& replication, int T0) {
  LaneSpec lane = best_openings(replication, T0, 1);
  lane.stop = Stop::after_first;
  return lane;
}

}  // namespace

// Weitzman's rule with the oracle indices, the benchmark of every regret (Proposition prop:oracle-weitzman).
Policy oracle() {
  return yardstick("oracle", "Oracle", "Weitzman's rule with the true indices and mu*: the benchmark", "known",
                   lane_that([](LaneSpec& lane) { lane.score = Score::oracle_index; }));
}

Policy best_single() {
  return yardstick("best_single", "Best single box", "yardstick: the one box that is best in hindsight", "none",
                   best_box);
}

// A random order of boxes with the oracle's stopping rule, to measure the value of the order alone. It stops when max
// mu reaches the largest oracle index left.
Policy random_order() {
  return yardstick("random_order", "Random order", "yardstick: a random order with the oracle's stopping rule", "known",
                   lane_that([](LaneSpec& lane) {
                     lane.order = Order::random;
                     lane.score = Score::oracle_index;
                   }));
}

Policy query_all() {
  return yardstick("query_all", "Query all", "yardstick: opens every box and deploys the best output", "known",
                   lane_that([](LaneSpec& lane) { lane.stop = Stop::never; }));
}

// Opens and deploys in every period the box with the greatest mu* - c. No policy has a greater utility, whatever it
// knows beforehand: the best possible outcome is the best output, and opening other boxes only costs.
Policy hindsight() {
  return yardstick("hindsight", "Hindsight",
                   "yardstick: every period's best answer less its cost, known beforehand; a bound", "none",
                   lane_that([](LaneSpec& lane) { lane.score = Score::hindsight; }), true);
}

// The policy that the literature on best-of-N sampling asks for, with the best box and the best N in hindsight.
Policy best_of_n() {
  return yardstick("best_of_n", "Best of N",
                   "yardstick: opens the one box that is best in hindsight as often as is best, and deploys the best "
                   "output",
                   "known", best_of_n_outputs, true);
}

// docs/exact.md has its guarantee. It is the benchmark's neighbour: a rule that needs no dynamic programme.
Policy commit_or_search() {
  return yardstick("commit_or_search", "Commit or search",
                   "yardstick that knows the laws: commits to one box that it never opens, or to none, and plays "
                   "Weitzman's rule on the others; needs actions.uninspected",
                   "known", lane_that([](LaneSpec& lane) { lane.follow = Follow::committed; }), true);
}

Policy best_cascade() {
  return yardstick("best_cascade", "Best fixed cascade",
                   "yardstick: the fixed cascade with thresholds that is best in hindsight, mu* known", "none",
                   cascade_in_hindsight, true);
}

}  // namespace pandora::policies
