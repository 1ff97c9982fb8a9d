// A period of a naive lane in which boxes may be opened again, nothing need be opened, or a box is deployed unopened.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "naive_lane.hpp"
#include "naive_lane_draws.hpp"

namespace pandora::naive {

struct WiderPeriod {
  const Replication& replication;
  const LaneSpec& spec;
  const LaneDraws& draws;
  int t, row;
  Period period = {};  ///< with the scores of the boxes
  std::vector<int> left = {};

  /// `value(box, opening)`: the lane's value of an output that it opens.
  template <class Value>
  Period decide(Value&& value) {
    if (spec.score == Score::hindsight) return in_hindsight();
    const bool opens_all = explores(1);
    list_what_can_be_opened();
    double best = replication.actions.outside, last = 0.0;
    period.deployed = -1;
    if (spec.unopened) {
      if (best < best_left()) period.deployed = left[0] / N();
      return period;
    }
    while (!left.empty() && (opens_all || !stops(best, last))) {
      const auto [a, opening] = take_next();
      last = value(a, opening);
      period.queried.push_back(a);
      period.openings.push_back(opening);
      const bool later =
          period.deployed >= 0 && std::pair(a, opening) > std::pair(period.deployed, period.deployed_opening);
      if (last < best || (last == best && later)) continue;  // of equal ones the lowest box is deployed
      best = last;
      period.deployed = a;
      period.deployed_opening = opening;
    }
    return period;
  }

 private:
  int N() const { return replication.actions.openings; }
  bool explores(int which) const { return spec.epsilon > 0.0 && draws.uniform(t, which) < spec.epsilon; }
  bool listed() const { return spec.order == Order::listed && !explores(0); }

  // The boxes of a list in its order, else every opening of every box, box * N + opening, in the order of the rule.
  void list_what_can_be_opened() {
    if (listed()) return left.assign(spec.list, spec.list + spec.length);
    const bool random = explores(0) || spec.order == Order::random;
    std::vector<std::pair<double, int>> all;
    for (int place = 0; place < replication.tape.boxes() * N(); ++place)
      all.emplace_back(random ? draws.place(t, place) : period.score[place / N()], place);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [key, place] : all) left.push_back(place);
  }

  double best_left() const {
    double most = -1e300;
    for (const int place : left) most = std::max(most, period.score[listed() ? place : place / N()]);
    return most;
  }

  bool stops(double best, double last) const {
    const std::size_t k = period.queried.size();
    if (k == 0 && !replication.actions.has_outside()) return false;
    if (spec.stop == Stop::best_reaches_scores_left) return best >= best_left();
    if (spec.stop == Stop::last_reaches_threshold) return k > 0 && last >= spec.threshold[k - 1];
    if (spec.stop == Stop::after_first) return k > 0 || (spec.score == Score::learned_payoff && best >= best_left());
    return false;
  }

  std::pair<int, int> take_next() {
    const int place = left[0];
    left.erase(left.begin());
    if (!listed()) return {place / N(), place % N()};
    return {place, static_cast<int>(std::count(period.queried.begin(), period.queried.end(), place))};
  }

  Period in_hindsight() {
    const Tape& tape = replication.tape;
    double best = replication.actions.outside;
    period.deployed = -1;
    for (int a = 0; a < tape.boxes(); ++a)
      for (int k = 0; k < N(); ++k) {
        const std::size_t at = tape.at(row + k * tape.online_rows, a);
        const double value = tape.mu[at] - (replication.actions.uninspected ? 0.0 : tape.cost[at]);
        if (value <= best) continue;
        best = value;
        period.deployed = a;
        period.deployed_opening = k;
      }
    if (period.deployed < 0 || replication.actions.uninspected) return period;
    period.queried = {period.deployed};
    period.openings = {period.deployed_opening};
    return period;
  }
};

}  // namespace pandora::naive
