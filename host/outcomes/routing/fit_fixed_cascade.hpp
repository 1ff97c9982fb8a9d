// The best fixed cascade: fitted to the outcomes of a table, and among all whose thresholds come from given lists.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "host/outcomes/routing/routing.hpp"

namespace pandora {

/// What a fit may take: about a second with these.
struct CascadeEffort {
  /// Of more prompts so many are looked at, evenly over those that are given.
  std::size_t most_prompts = 20000;
  /// Steps (an answer that is opened for a candidate) of a search of all cascades up to a length.
  std::uint64_t most_steps = 400'000'000;
  /// Whether a beam search is made beside that of all cascades of all models, and steps are counted as additions of
  /// ThresholdSums; the better one's cascade is taken. Else one search is made, of shorter cascades where those of all
  /// models are too many.
  bool both = false;
  /// Once it is true, the fit ends and throws Error (interrupted).
  const std::atomic<bool>* interrupted = nullptr;
};

/// The cascade with the greatest mean utility on these rows: what is seen accepts an answer and decides which one is
/// deployed, and the utility counts its quality.
///
/// All cascades of all models, or of at least min(4, models) of them where that is too much, with thresholds at 16 or 8
/// quantiles of what is seen; where even that is too much, a beam search that puts one model more into the best
/// cascades so far, anywhere in their order. Then one threshold after the other goes to its best value among all that
/// are seen, until none improves. rows is not empty.
///
/// `first`: among the cascades of two models or more that begin with this one, where there are two.
FixedCascade fit_fixed_cascade(const Outcomes& outcomes, double price, std::span<const std::size_t> rows,
                               const CascadeEffort& effort = {}, std::optional<std::size_t> first = {});

/// A model over the prompts of a search; columns of one length.
struct SearchedModel {
  std::vector<double> seen;        ///< what accepts an answer, and which one is deployed
  std::vector<double> worth;       ///< what a deployed answer is worth
  std::vector<double> cost;        ///< of opening, in units of worth
  std::vector<double> thresholds;  ///< that it may have, ascending, at most kMostThresholds
};

inline constexpr std::size_t kMostThresholds = 32;

/// Utilities (means over the prompts) that differ by no more are ties.
inline constexpr double kUtilityTie = 1e-9;

/// Among the cascades of at most `longest` of the models the one with the greatest mean of worth - cost. Candidates
/// come by length, then models, then thresholds ascending; the first of the best wins. Model 0 alone where no utility
/// is finite. There is at least one model and one prompt. `first`: as fit_fixed_cascade() has it.
FixedCascade search_cascades(const std::vector<SearchedModel>& models, std::size_t longest,
                             std::optional<std::size_t> first = {}, const std::atomic<bool>* interrupted = nullptr);

/// Throws Error (interrupted) where there is such a flag and it is set.
void end_fit_if(const std::atomic<bool>* interrupted);

}  // namespace pandora
