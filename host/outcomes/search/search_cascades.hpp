// Searches all fixed cascades whose thresholds come from given lists for the best one.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <optional>
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
