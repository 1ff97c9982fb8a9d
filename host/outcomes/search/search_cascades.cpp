#include "host/outcomes/search/search_cascades.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/ground/base/error.hpp"

namespace pandora {
namespace {

// Tries every order, depth-first, so that orders with the same beginning share that work. ThresholdSums handles all
// thresholds of an order at once. Its sums are added in another order and round differently. Where that could decide,
// candidates are summed up prompt by prompt and position by position.
class Search {
 public:
  Search(const std::vector<SearchedModel>& models, std::optional<std::size_t> first,
         const std::atomic<bool>* interrupted)
      : models_(models),
        first_(first),
        interrupted_(interrupted),
        prompts_(models[0].answers.size()),
        utilities_(prompts_) {
    std::vector<double> greatest(prompts_, 0.0);  // the greatest magnitude of a utility of the prompt
    std::size_t thresholds = 0;
    for (const SearchedModel& model : models) {
      std::vector<std::uint32_t>& reached = reached_.emplace_back();
      for (std::size_t prompt = 0; prompt < prompts_; ++prompt) {
        std::uint32_t n = 0;
        const OpenedAnswer& answer = model.answers[prompt];
        while (n < model.thresholds.size() && answer.seen >= model.thresholds[n]) ++n;
        reached.push_back(n);
        const double size = std::abs(answer.cost) + std::abs(answer.worth);
        if (std::isfinite(size)) greatest[prompt] += size;  // others make sums with which no candidate wins
      }
      thresholds += model.thresholds.size();
    }
    // The most roundings in a mean of utilities, by ThresholdSums or by consider().
    const auto steps = static_cast<double>(2 * (prompts_ + thresholds + 2 * models.size()));
    rounding_ = 2.0 * steps * std::numeric_limits<double>::epsilon() *
                (1.0 + *std::max_element(greatest.begin(), greatest.end()));
  }

  FixedCascade run(std::size_t longest) {
    for (std::size_t length = first_ ? 2 : 1; length <= longest; ++length) {
      // For each number of positions: the results of ended prompts, and the state of the others.
      levels_.assign(length, {ThresholdSums(prompts_), std::vector<Walk>(prompts_)});
      extend(length);
    }
    if (best_.order.empty())
      best_.order = {first_.value_or(0)};  // no utility is finite: the lane will fail at that number
    return best_;
  }

 private:
  struct Level {
    ThresholdSums sums;
    std::vector<Walk> walks;  // of the prompts that go on
  };

  void extend(std::size_t length) {
    for (std::size_t m = 0; m < models_.size(); ++m) {
      if (std::find(order_.begin(), order_.end(), m) != order_.end()) continue;
      if (order_.empty() && first_.value_or(m) != m) continue;
      const std::size_t position = order_.size();
      const Level& here = levels_[position];
      const std::size_t count = models_[m].thresholds.size();
      if (position + 1 < length && count == 0) continue;
      end_fit_if(interrupted_);
      order_.push_back(m);
      Level* const next = position + 1 == length ? nullptr : &levels_[position + 1];
      for (const std::uint32_t prompt : here.sums.go_on()) {
        Walk walk = here.walks[prompt];
        walk.open(models_[m].answers[prompt]);
        utilities_[prompt] = walk.utility();
        if (next != nullptr) next->walks[prompt] = walk;
      }
      if (next != nullptr) {
        next->sums.follow(here.sums, reached_[m], count, utilities_);
        extend(length);
      } else {
        here.sums.total(utilities_, totals_);
        pick();
      }
      order_.pop_back();
    }
  }

  // Picks the best so far among the order's candidates, whose utilities the totals give up to rounding.
  void pick() {
    const double prompts = static_cast<double>(prompts_);
    for (std::size_t at = 0; at < totals_.size(); ++at) {
      const double more = totals_[at] / prompts - (best_utility_ + kUtilityTie);
      if (!(more > -2.0 * rounding_)) continue;
      const FixedCascade candidate = candidate_at(at);
      if (more > 2.0 * rounding_) {
        take(candidate, totals_[at] / prompts, false);
        continue;
      }
      if (!exact_) take(best_, exact_utility(best_), true);
      if (const double utility = exact_utility(candidate); utility > best_utility_ + kUtilityTie)
        take(candidate, utility, true);
    }
  }

  void take(const FixedCascade& cascade, double utility, bool exact) {
    best_ = cascade;
    best_utility_ = utility;
    exact_ = exact;
  }

  FixedCascade candidate_at(std::size_t at) const {
    FixedCascade out{order_, std::vector<double>(order_.size() - 1)};
    for (std::size_t position = out.thresholds.size(); position-- > 0;) {
      const std::vector<double>& thresholds = models_[order_[position]].thresholds;
      out.thresholds[position] = thresholds[at % thresholds.size()];
      at /= thresholds.size();
    }
    return out;
  }

  double exact_utility(const FixedCascade& cascade) const {
    std::vector<std::size_t> running(prompts_), left;
    for (std::size_t prompt = 0; prompt < prompts_; ++prompt) running[prompt] = prompt;
    std::vector<Walk> walks(prompts_);
    double utility = 0.0;
    for (std::size_t position = 0; position < cascade.order.size(); ++position) {
      const SearchedModel& model = models_[cascade.order[position]];
      left.clear();
      for (const std::size_t prompt : running) {
        walks[prompt].open(model.answers[prompt]);
        if (position + 1 == cascade.order.size() || model.answers[prompt].seen >= cascade.thresholds[position])
          utility += walks[prompt].utility();
        else
          left.push_back(prompt);
      }
      std::swap(running, left);
    }
    return utility / static_cast<double>(prompts_);
  }

  const std::vector<SearchedModel>& models_;
  const std::optional<std::size_t> first_;
  const std::atomic<bool>* const interrupted_;
  const std::size_t prompts_;
  std::vector<std::vector<std::uint32_t>> reached_;  // for each model: how many of its thresholds a prompt reaches
  std::vector<Level> levels_;                        // by the number of positions before
  std::vector<double> utilities_, totals_;
  double rounding_;
  std::vector<std::size_t> order_;
  FixedCascade best_;
  double best_utility_ = -std::numeric_limits<double>::infinity();
  bool exact_ = true;
};

}  // namespace

ThresholdSums::ThresholdSums(std::size_t rows) : rows_(rows), cells_(rows), ended_(1) {
  std::iota(rows_.begin(), rows_.end(), std::uint32_t{0});
}

// Makes cell k the sum of cells 0 to k, along the axis of each position. `inner`: numbers side by side in a cell.
void ThresholdSums::from_below(std::vector<double>& sums, std::size_t inner) const {
  std::size_t below = inner;  // the distance between a cell and the next along the axis
  for (std::size_t position = counts_.size(); position-- > 0;) {
    const std::size_t block = below * counts_[position];
    for (std::size_t begin = 0; begin < sums.size(); begin += block)
      for (double* at = sums.data() + begin + below; at < sums.data() + begin + block; at += below)
        for (std::size_t i = 0; i < below; ++i) at[i] += (at - below)[i];
    below = block;
  }
}

void ThresholdSums::follow(const ThresholdSums& before, std::span<const std::uint32_t> reached, std::size_t count,
                           std::span<const double> values) {
  counts_ = before.counts_;
  combinations_ = before.combinations_ * count;
  rows_.clear();
  cells_.clear();
  ended_.assign(combinations_, 0.0);
  for (std::size_t i = 0; i < before.rows_.size(); ++i) {
    const std::uint32_t row = before.rows_[i], r = reached[row];
    const std::size_t cell = before.cells_[i] * count;
    if (r > 0) ended_[cell + r - 1] += values[row];
    if (r == count) continue;  // it ends under every threshold
    rows_.push_back(row);
    cells_.push_back(static_cast<std::uint32_t>(cell + r));
  }
  before.from_below(ended_, count);
  for (std::size_t begin = 0; begin < combinations_; begin += count) {
    for (std::size_t k = count; k-- > 1;) ended_[begin + k - 1] += ended_[begin + k];
    for (std::size_t k = 0; k < count; ++k) ended_[begin + k] += before.ended_[begin / count];
  }
  counts_.push_back(count);
}

void ThresholdSums::total(std::span<const double> values, std::vector<double>& out) const {
  out.assign(combinations_, 0.0);
  for (std::size_t i = 0; i < rows_.size(); ++i) out[cells_[i]] += values[rows_[i]];
  from_below(out, 1);
  for (std::size_t i = 0; i < combinations_; ++i) out[i] += ended_[i];
}

void end_fit_if(const std::atomic<bool>* interrupted) {
  if (interrupted != nullptr && *interrupted) throw Error(ExitCode::interrupted, "interrupted; nothing was fitted");
}

FixedCascade search_cascades(const std::vector<SearchedModel>& models, std::size_t longest,
                             std::optional<std::size_t> first, const std::atomic<bool>* interrupted) {
  return Search(models, first, interrupted).run(longest);
}

}  // namespace pandora
