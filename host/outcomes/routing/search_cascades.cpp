#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "host/outcomes/routing/fit_fixed_cascade.hpp"

namespace pandora {
namespace {

using Groups = std::array<std::size_t, kMostThresholds + 1>;

// A prompt for which opening goes on.
struct Running {
  std::size_t prompt = 0;
  double best_seen = -std::numeric_limits<double>::infinity();
  double worth_of_best = 0.0;
  double spent = 0.0;

  void open(const SearchedModel& model) {
    const bool better = model.seen[prompt] > best_seen;  // no branch: which it is, is a coin flip
    spent += model.cost[prompt];
    worth_of_best = better ? model.worth[prompt] : worth_of_best;
    best_seen = better ? model.seen[prompt] : best_seen;
  }
  double utility() const { return worth_of_best - spent; }
};

// Depth-first over thresholds, so that candidates with a common prefix share its work. Prompts are sorted by how many
// thresholds accept them: those that go on after a threshold are the first ones, and the last two thresholds need not be
// tried value by value, for sums over the prompts of a kind give the utilities at all of them. Sums in another order
// round differently, so that these only rule candidates out; one that may win is summed up prompt by prompt.
class Search {
 public:
  Search(const std::vector<SearchedModel>& models, std::optional<std::size_t> first)
      : models_(models), first_(first), all_(models[0].seen.size()) {
    for (std::size_t prompt = 0; prompt < all_.size(); ++prompt) all_[prompt].prompt = prompt;
    levels_.assign(models.size(), all_);
    std::vector<double> spent(all_.size());
    for (const SearchedModel& model : models) {
      std::vector<std::size_t>& accepting = accepting_.emplace_back();
      for (std::size_t prompt = 0; prompt < all_.size(); ++prompt) {
        std::size_t reached = 0;
        while (reached < model.thresholds.size() && model.seen[prompt] >= model.thresholds[reached]) ++reached;
        accepting.push_back(reached);
        spent[prompt] += std::abs(model.cost[prompt]);
      }
    }
    // A mean of utilities of at most this size, put together in up to 6 kMostThresholds n steps, is off by less than
    // that.
    const double greatest = 1.0 + *std::max_element(spent.begin(), spent.end());
    const auto steps = static_cast<double>(6 * kMostThresholds * all_.size());
    rounding_ = steps * std::numeric_limits<double>::epsilon() * greatest;
  }

  FixedCascade run(std::size_t longest) {
    for (std::size_t length = first_ ? 2 : 1; length <= longest; ++length) {
      now_.thresholds.assign(length - 1, 0.0);
      extend(length);
    }
    if (best_.order.empty())
      best_.order = {first_.value_or(0)};  // no utility is finite: the lane fails where it meets the number
    return best_;
  }

 private:
  void extend(std::size_t length) {
    std::vector<std::size_t>& order = now_.order;
    if (order.size() == length) return length == 1 ? consider() : descend(0, all_, 0.0);
    for (std::size_t m = 0; m < models_.size(); ++m) {
      if (std::find(order.begin(), order.end(), m) != order.end()) continue;
      if (order.empty() && first_.value_or(m) != m) continue;
      order.push_back(m);
      extend(length);
      order.pop_back();
    }
  }

  const SearchedModel& model_at(std::size_t position) const { return models_[now_.order[position]]; }

  // What prompts earn that arrive at the position of the last threshold, by how many of its thresholds accept them.
  struct LastSums {
    Groups found{};
    std::array<double, kMostThresholds + 1> accepted{}, went_on{};
  };

  void add(LastSums& sums, std::size_t position, Running r) const {
    const std::size_t group = accepting_[now_.order[position]][r.prompt];
    ++sums.found[group];
    r.open(model_at(position));
    sums.accepted[group] += r.utility();
    r.open(model_at(position + 1));
    sums.went_on[group] += r.utility();
  }

  // All thresholds from a position on, for the prompts that arrive there, given what the others have earned. Between
  // two thresholds that accept the same prompts the lesser wins, for its candidates come first and the others tie.
  void descend(std::size_t position, std::span<const Running> arriving, double earned) {
    LastSums last;
    if (position + 2 == now_.order.size()) {
      for (const Running& r : arriving) add(last, position, r);
      return try_last(position, last, earned);
    }
    const SearchedModel& model = model_at(position);
    const std::vector<std::size_t>& accepting = accepting_[now_.order[position]];
    Groups found{}, end{};  // prompts by the number of thresholds that accept, and where they end when sorted by it
    for (const Running& r : arriving) ++found[accepting[r.prompt]];
    std::partial_sum(found.begin(), found.end(), end.begin());
    Groups at{};
    std::copy(end.begin(), end.end() - 1, at.begin() + 1);
    std::vector<Running>& sorted = levels_[position];
    for (Running r : arriving) {
      r.open(model);
      earned += r.utility();
      sorted[at[accepting[r.prompt]]++] = r;
    }
    // The next threshold sees the prompts that this one lets go on; where it is the last one, their sums only grow.
    const bool last_is_next = position + 3 == now_.order.size();
    for (std::size_t k = 0; k < model.thresholds.size(); ++k) {
      for (std::size_t i = k > 0 ? end[k - 1] : 0; i < end[k]; ++i) {
        earned -= sorted[i].utility();  // of all that is earned, what the prompts that go on have not
        if (last_is_next) add(last, position + 1, sorted[i]);
      }
      if (k > 0 && found[k] == 0) continue;
      now_.thresholds[position] = model.thresholds[k];
      if (last_is_next)
        try_last(position + 1, last, earned);
      else
        descend(position + 1, std::span(sorted).first(end[k]), earned);
    }
  }

  // The candidates at each value of the last threshold, whose utilities the sums tell up to rounding.
  void try_last(std::size_t position, const LastSums& sums, double earned) {
    const std::vector<double>& thresholds = model_at(position).thresholds;
    for (std::size_t k = 0; k < thresholds.size(); ++k) {
      if (k > 0 && sums.found[k] == 0) continue;
      double utility = earned;
      for (std::size_t group = 0; group <= thresholds.size(); ++group)
        utility += group > k ? sums.accepted[group] : sums.went_on[group];
      now_.thresholds[position] = thresholds[k];
      if (utility / prompts() > best_utility_ + kUtilityTie - rounding_) consider();
    }
  }

  // The candidate is the best if its utility, position by position and prompt by prompt, says so.
  void consider() {
    std::vector<Running> running = all_, left;
    double utility = 0.0;
    for (std::size_t position = 0; position < now_.order.size(); ++position) {
      const SearchedModel& model = model_at(position);
      left.clear();
      for (Running& r : running) {
        r.open(model);
        if (position + 1 == now_.order.size() || model.seen[r.prompt] >= now_.thresholds[position])
          utility += r.utility();
        else
          left.push_back(r);
      }
      std::swap(running, left);
    }
    if (utility / prompts() > best_utility_ + kUtilityTie) {
      best_utility_ = utility / prompts();
      best_ = now_;
    }
  }

  double prompts() const { return static_cast<double>(all_.size()); }
  const std::vector<SearchedModel>& models_;
  const std::optional<std::size_t> first_;
  std::vector<std::vector<std::size_t>> accepting_;  // of each model: how many of its thresholds a prompt reaches
  std::vector<Running> all_;                         // every prompt, before the first model
  std::vector<std::vector<Running>> levels_;         // by position: room for the prompts that arrive there
  double rounding_;
  FixedCascade now_, best_;
  double best_utility_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

FixedCascade search_cascades(const std::vector<SearchedModel>& models, std::size_t longest,
                             std::optional<std::size_t> first) {
  return Search(models, first).run(longest);
}

}  // namespace pandora
