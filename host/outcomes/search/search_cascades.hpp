// Among the fixed cascades whose thresholds come from given lists the best one, by a search of all.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace pandora {

/// Models in a fixed order. An opened answer is accepted, and opening ends, where what is seen of it reaches the
/// model's threshold; the last model has none. The best seen answer is deployed, the first of equal ones. A single
/// model is a cascade of one.
struct FixedCascade {
  std::vector<std::size_t> order;  ///< models, each at most once; not empty
  std::vector<double> thresholds;  ///< order.size() - 1
  bool operator==(const FixedCascade&) const = default;
};

/// What an answer that is opened brings; side by side, for they are read together.
struct OpenedAnswer {
  double seen;   ///< what accepts an answer, and which one is deployed
  double worth;  ///< of it where it is deployed
  double cost;   ///< of opening it, in units of worth
};

/// A prompt on its way.
struct Walk {
  double best = -std::numeric_limits<double>::infinity(), worth = 0.0, spent = 0.0;

  void open(const OpenedAnswer& answer) {
    const bool better = answer.seen > best;  // no branch: which it is, is a coin flip
    spent += answer.cost;
    worth = better ? answer.worth : worth;
    best = better ? answer.seen : best;
  }
  double utility() const { return worth - spent; }
};

/// A model over the prompts of a search.
struct SearchedModel {
  std::vector<OpenedAnswer> answers;
  std::vector<double> thresholds;  ///< that it may have, ascending
};

/// Utilities (means over the prompts) that differ by no more are ties.
inline constexpr double kUtilityTie = 1e-9;

/// Among the cascades of at most `longest` of the models the one with the greatest mean of worth - cost. Candidates
/// come by length, then models, then thresholds ascending; the first of the best wins. Model 0 alone where no utility
/// is finite. There is at least one model and one prompt. `first`: searches only cascades of at least two models that
/// begin with it.
FixedCascade search_cascades(const std::vector<SearchedModel>& models, std::size_t longest,
                             std::optional<std::size_t> first = {}, const std::atomic<bool>* interrupted = nullptr);

/// Throws Error (interrupted) where there is such a flag and it is set.
void end_fit_if(const std::atomic<bool>* interrupted);

}  // namespace pandora
