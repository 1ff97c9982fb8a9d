// The best fixed cascade, fitted to the outcomes of a table. Every opened answer is paid for and one is deployed. The
// utility of a prompt is the quality of the deployed answer minus price x dollars.
#pragma once

#include <cstdint>
#include <span>

#include "host/outcomes/search/search_cascades.hpp"

namespace pandora {

/// Prompts x models, row-major. These are views; the data must outlive them.
struct Outcomes {
  std::size_t models = 0;
  std::span<const double> seen;     ///< the value that an answer appears to have once it is opened
  std::span<const double> quality;  ///< its true value if it is deployed
  std::span<const double> dollars;  ///< the dollars that opening it costs

  std::size_t rows() const { return models == 0 ? 0 : quality.size() / models; }
};

/// Limits on the work of a fit: about a second with these.
struct CascadeEffort {
  /// If there are more prompts, a fit uses this many, spread evenly.
  std::size_t most_prompts = 20000;
  /// How many steps a search of all cascades up to a length may take; a step opens an answer for a candidate.
  std::uint64_t most_steps = 400'000'000;
  /// Whether to run both the beam search and the search of all cascades of all models, and to return the better result;
  /// `most_steps` then bounds additions of ThresholdSums. Otherwise one search is made, which tries only shorter
  /// cascades if those of all models are too many.
  bool both = false;
  /// Once the flag is true, the fit ends and throws Error (interrupted).
  const std::atomic<bool>* interrupted = nullptr;
};

/// The cascade with the greatest mean utility on these outcomes, which must have at least one row. `seen` decides which
/// answer is accepted and which one is deployed; the utility counts its quality.
///
/// The fit tries all cascades of all models, or of at least min(4, models) of them if all are too many, with thresholds
/// at 16 or 8 quantiles of `seen`. If even that is too much, a beam search inserts one model at a time, anywhere in the
/// order, into the best cascades so far. Then one threshold after the other moves to its best value among all seen
/// values, until none improves.
///
/// `first`: searches only cascades of at least two models that begin with this model, if there are two models.
FixedCascade fit_fixed_cascade(const Outcomes& outcomes, double price, const CascadeEffort& effort = {},
                               std::optional<std::size_t> first = {});

}  // namespace pandora
