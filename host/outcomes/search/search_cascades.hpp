// Searches all fixed cascades whose thresholds come from given lists for the best one. To that end it has sums over
// rows for every combination of a cascade's thresholds, all at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace pandora {

/// Models in a fixed order. An opened answer is accepted, and opening ends, if its seen value reaches the model's
/// threshold; the last model has none. The answer with the best seen value is deployed, the first of equal ones. A
/// single model is a cascade of length one.
struct FixedCascade {
  std::vector<std::size_t> order;  ///< models, each at most once; not empty
  std::vector<double> thresholds;  ///< order.size() - 1
  bool operator==(const FixedCascade&) const = default;
};

/// The numbers of an opened answer. They lie side by side because they are read together.
struct OpenedAnswer {
  double seen;   ///< the value by which an answer is accepted and chosen for deployment
  double worth;  ///< its value if it is deployed
  double cost;   ///< the cost of opening it, in units of worth
};

/// The state of a prompt in a cascade.
struct Walk {
  double best = -std::numeric_limits<double>::infinity(), worth = 0.0, spent = 0.0;

  void open(const OpenedAnswer& answer) {
    const bool better = answer.seen > best;  // without a branch, because the result is unpredictable
    spent += answer.cost;
    worth = better ? answer.worth : worth;
    best = better ? answer.seen : best;
  }
  double utility() const { return worth - spent; }
};

/// A model over the prompts of a search.
struct SearchedModel {
  std::vector<OpenedAnswer> answers;
  std::vector<double> thresholds;  ///< the thresholds that may be chosen, ascending
};

/// Positions 0, 1, ... each have ascending thresholds. A row reaches the first r thresholds of a position. Under
/// threshold k it ends there if r > k, and goes on to the next position if r <= k. So where it ends under a combination
/// depends only on its cell (r of position 0, r of position 1, ...). Sums over cells, accumulated along one axis after
/// the other, are sums for combinations: rows with r <= k go on (a sum from below), rows with r > k end (a sum from
/// above). For n rows and positions with c thresholds each, a position costs n + p c^p additions instead of up to
/// n c^p.
///
/// The rows after some positions. Values are given for all n rows, but only those of rows in go_on() are read. No value
/// is ever subtracted: a sum of n values is rounded at most n + all thresholds + positions times.
class ThresholdSums {
 public:
  /// The state before the first position.
  explicit ThresholdSums(std::size_t rows);

  /// The state after one more position than `before`: how many of its `count` thresholds each row has `reached`, and
  /// the value of a row that ends there.
  void follow(const ThresholdSums& before, std::span<const std::uint32_t> reached, std::size_t count,
              std::span<const double> values);

  /// The rows that go on under some combination, ascending.
  const std::vector<std::uint32_t>& go_on() const { return rows_; }
  /// For each combination (those of the last position side by side), the sum over all rows: the values at the positions
  /// where rows have ended, and `values` of those that go on.
  void total(std::span<const double> values, std::vector<double>& out) const;

 private:
  void from_below(std::vector<double>& sums, std::size_t inner) const;

  std::size_t combinations_ = 1;
  std::vector<std::size_t> counts_;   // of thresholds, by position
  std::vector<std::uint32_t> rows_;   // the rows that go on
  std::vector<std::uint32_t> cells_;  // the cells of these rows
  std::vector<double> ended_;         // sums by combination
};

/// Utilities (means over the prompts) that differ by no more than this count as equal.
inline constexpr double kUtilityTie = 1e-9;

/// The cascade with the greatest mean of worth - cost, among those of at most `longest` of the models. Candidates come
/// by length, then models, then thresholds ascending; the first of the best wins. Model 0 alone if no utility is
/// finite. There must be at least one model and one prompt. `first`: searches only cascades of at least two models that
/// begin with it.
FixedCascade search_cascades(const std::vector<SearchedModel>& models, std::size_t longest,
                             std::optional<std::size_t> first = {}, const std::atomic<bool>* interrupted = nullptr);

/// Throws Error (interrupted) if the flag is not null and is set.
void end_fit_if(const std::atomic<bool>* interrupted);

}  // namespace pandora
