#include "oracle/exact_programme.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracle/reservation_index.hpp"

namespace pandora {
namespace {

// The values of all boxes, ascending, each once.
std::vector<double> levels_of(const FiniteProblem& problem) {
  std::vector<double> out;
  for (const FiniteBox& box : problem.boxes) out.insert(out.end(), box.values.begin(), box.values.end());
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

// States are numbers: `opened` in mixed radix, times the ranks of the best value, of which 0 is bottom.
class Programme {
 public:
  explicit Programme(const FiniteProblem& problem) : problem_(problem), levels_(levels_of(problem)) {
    ranks_ = levels_.size() + 1;
    std::size_t states = ranks_;
    for (const FiniteBox& box : problem.boxes) {
      strides_.push_back(states);
      states *= static_cast<std::size_t>(box.openings) + 1;
      std::vector<std::size_t>& of_box = rank_of_.emplace_back();
      for (const double value : box.values)
        of_box.push_back(static_cast<std::size_t>(std::ranges::lower_bound(levels_, value) - levels_.begin()) + 1);
      means_.push_back(box.mean());
    }
    values_.assign(states, 0.0);
    // An opening leads to a state of a larger number, so states are solved from the last one down.
    for (std::size_t state = states; state-- > 0;) values_[state] = choice(state).value;
  }

  ExactProgramme table() const {
    ExactProgramme out{values_[0], {}};
    std::vector<double> reached(values_.size(), 0.0);
    reached[0] = 1.0;
    for (std::size_t state = 0; state < values_.size(); ++state) {
      if (!(reached[state] > 0.0)) continue;
      const FiniteChoice best = choice(state);
      FiniteState& row =
          out.states.emplace_back(FiniteState{{}, {}, reached[state], best.action, best.box, best.value});
      for (std::size_t box = 0; box < strides_.size(); ++box) row.opened.push_back(opened(state, box));
      if (const std::size_t rank = state % ranks_; rank > 0) row.best = levels_[rank - 1];
      if (best.action != FiniteAction::open) continue;
      const auto box = static_cast<std::size_t>(best.box);
      for (std::size_t k = 0; k < rank_of_[box].size(); ++k)
        reached[after(state, box, k)] += reached[state] * problem_.boxes[box].probabilities[k];
    }
    return out;
  }

  FiniteChoice at(const std::vector<int>& opened, std::optional<double> best) const {
    std::size_t state = 0;
    for (std::size_t box = 0; box < strides_.size(); ++box)
      state += strides_[box] * static_cast<std::size_t>(opened[box]);
    if (!best) return choice(state);
    // The greatest level that is not above b, as a rank, and how far b is on the way to the next one.
    const std::size_t rank = static_cast<std::size_t>(std::ranges::upper_bound(levels_, *best) - levels_.begin());
    double way = 0.0;
    if (rank > 0 && rank < levels_.size()) way = (*best - levels_[rank - 1]) / (levels_[rank] - levels_[rank - 1]);
    return choice_from(state + std::max<std::size_t>(rank, 1), way, *best);
  }

 private:
  int opened(std::size_t state, std::size_t box) const {
    return static_cast<int>(state / strides_[box]) % (problem_.boxes[box].openings + 1);
  }
  std::size_t after(std::size_t state, std::size_t box, std::size_t k) const {
    const std::size_t rank = state % ranks_;
    return state - rank + strides_[box] + std::max(rank, rank_of_[box][k]);
  }

  FiniteChoice choice(std::size_t state) const {
    const std::size_t rank = state % ranks_;
    return choice_from(state, 0.0, rank > 0 ? std::optional(levels_[rank - 1]) : std::nullopt);
  }

  // The choice with the best value `best`, which lies `way` (a share) beyond the level of the state.
  FiniteChoice choice_from(std::size_t state, double way, std::optional<double> best) const {
    FiniteChoice out;
    const auto take = [&out](double value, FiniteAction action, int box = -1) {
      if (value > out.value) out = {value, action, box};
    };
    if (best) take(*best, FiniteAction::deploy);
    if (problem_.outside) take(*problem_.outside, FiniteAction::outside);
    for (const bool opens : {false, true}) {
      if (!opens && !problem_.uninspected) continue;
      for (std::size_t box = 0; box < strides_.size(); ++box) {
        const FiniteBox& of = problem_.boxes[box];
        if (opened(state, box) == of.openings) continue;
        double value = opens ? -of.cost : means_[box];
        for (std::size_t k = 0; opens && k < of.values.size(); ++k) {
          const std::size_t next = after(state, box, k);
          const bool between = way > 0.0 && next % ranks_ == state % ranks_;  // the draw is not above b
          value += of.probabilities[k] *
                   (between ? values_[next] + way * (values_[next + 1] - values_[next]) : values_[next]);
        }
        take(value, opens ? FiniteAction::open : FiniteAction::uninspected, static_cast<int>(box));
      }
    }
    return out;
  }

  const FiniteProblem& problem_;
  std::vector<double> levels_, means_;
  std::size_t ranks_ = 0;
  std::vector<std::size_t> strides_;
  std::vector<std::vector<std::size_t>> rank_of_;  // by box and value
  std::vector<double> values_;
};

double FiniteBox::mean() const {
  return std::inner_product(values.begin(), values.end(), probabilities.begin(), 0.0);
}

double count_states(const FiniteProblem& problem) {
  double states = static_cast<double>(levels_of(problem).size() + 1);
  for (const FiniteBox& box : problem.boxes) states *= box.openings + 1;
  return states;
}

ExactProgramme solve_exactly(const FiniteProblem& problem) {
  return Programme(problem).table();
}

FinitePolicy::FinitePolicy(const FiniteProblem& problem) : programme_(std::make_shared<const Programme>(problem)) {}

FiniteChoice FinitePolicy::at(const std::vector<int>& opened, std::optional<double> best) const {
  return programme_->at(opened, best);
}

double weitzman_value(const FiniteProblem& problem) {
  // P(max <= x) is the product over draws of P(min(v, sigma) <= x); the expectation sums over the points where it jumps.
  std::vector<double> points;
  if (problem.outside) points.push_back(*problem.outside);
  std::vector<std::vector<std::pair<double, double>>> laws;
  for (const FiniteBox& box : problem.boxes) {
    const double sigma = index_of_values(box.values, box.cost, box.probabilities);
    auto& law = laws.emplace_back();
    for (std::size_t k = 0; k < box.values.size(); ++k) {
      law.emplace_back(std::min(box.values[k], sigma), box.probabilities[k]);
      points.push_back(law.back().first);
    }
  }
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  double value = 0.0, before = 0.0;
  for (const double point : points) {
    double below = problem.outside && *problem.outside > point ? 0.0 : 1.0;
    for (std::size_t i = 0; i < laws.size(); ++i) {
      double share = 0.0;
      for (const auto& [at, probability] : laws[i]) share += at <= point ? probability : 0.0;
      below *= std::pow(share, problem.boxes[i].openings);
    }
    value += point * (below - before);
    before = below;
  }
  return value;
}

Commitment commit_or_search(const FiniteProblem& problem) {
  FiniteProblem opened = problem;
  opened.uninspected = false;
  Commitment best{weitzman_value(opened), -1};
  for (std::size_t box = 0; problem.uninspected && box < problem.boxes.size(); ++box) {
    FiniteProblem committed = opened;
    const double mean = problem.boxes[box].mean();
    committed.outside = std::max(mean, problem.outside.value_or(mean));
    committed.boxes.erase(committed.boxes.begin() + static_cast<std::ptrdiff_t>(box));
    if (const double value = weitzman_value(committed); value > best.value) best = {value, static_cast<int>(box)};
  }
  return best;
}

double relaxation_bound(const FiniteProblem& problem) {
  const auto bound = [&](double price) {
    double sum = std::max(price, problem.outside.value_or(price));
    for (const FiniteBox& box : problem.boxes) sum += solve_exactly({{box}, problem.uninspected, price}).value - price;
    return sum;
  };
  // The least value of a convex function: below `low` each box is used, above `high` none.
  double low = problem.outside.value_or(0.0), high = low;
  for (const FiniteBox& box : problem.boxes) {
    const auto [least, greatest] = std::ranges::minmax(box.values);
    low = std::min(low, least - box.openings * box.cost);
    high = std::max(high, greatest);
  }
  constexpr int kThirds = 90;  // the interval shrinks by 1e-16
  for (int k = 0; k < kThirds; ++k) {
    const double left = low + (high - low) / 3.0, right = high - (high - low) / 3.0;
    if (bound(left) <= bound(right))
      high = right;
    else
      low = left;
  }
  return bound(high);
}

}  // namespace pandora
