// The best fixed cascade, fitted to the outcomes of a table. Every opened answer is paid, one is deployed, and the
// utility of a prompt is the quality of the deployed answer minus price x dollars.
#pragma once

#include <cstdint>
#include <span>

#include "host/outcomes/search/search_cascades.hpp"

namespace pandora {

/// Prompts x models, row-major. Views: what they look at must outlive them.
struct Outcomes {
  std::size_t models = 0;
  std::span<const double> seen;     ///< what an answer seems worth once it is opened
  std::span<const double> quality;  ///< what it is worth if it is deployed
  std::span<const double> dollars;  ///< what opening it costs

  std::size_t rows() const { return models == 0 ? 0 : quality.size() / models; }
};

/// What a fit may take: about a second with these.
struct CascadeEffort {
  /// Of more prompts so many are looked at, spread evenly.
  std::size_t most_prompts = 20000;
  /// Steps (an answer that is opened for a candidate) of a search of all cascades up to a length.
  std::uint64_t most_steps = 400'000'000;
  /// Whether the beam search runs beside that of all cascades of all models, and the better result counts; `most_steps`
  /// then bounds additions of ThresholdSums. Else one search is made, of shorter cascades where those of all models are
  /// too many.
  bool both = false;
  /// Once it is true, the fit ends and throws Error (interrupted).
  const std::atomic<bool>* interrupted = nullptr;
};

/// The cascade with the greatest mean utility on these outcomes, of a row at least: what is seen accepts an answer and
/// decides which one is deployed, and the utility counts its quality.
///
/// All cascades of all models, or of at least min(4, models) of them where that is too much, with thresholds at 16 or 8
/// quantiles of what is seen; where even that is too much, a beam search that puts one model more into the best
/// cascades so far, anywhere in their order. Then one threshold after the other goes to its best value among all that
/// are seen, until none improves.
///
/// `first`: searches only cascades of at least two models that begin with this one, where there are two.
FixedCascade fit_fixed_cascade(const Outcomes& outcomes, double price, const CascadeEffort& effort = {},
                               std::optional<std::size_t> first = {});

}  // namespace pandora
