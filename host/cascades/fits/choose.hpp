// Which candidate is deployed.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "host/cascades/fits/cross_validation.hpp"

namespace pandora {

/// The best candidate of a kind.
struct PickedCandidate {
  std::size_t candidate = 0;
  bool met = true;     ///< whether it keeps the bound; there is none under a price
  double bound = 0.0;  ///< what dollars per prompt do not exceed, or quality does not fall below, with 95% confidence
};

struct CascadeChoice {
  std::optional<PickedCandidate> single, thresholds, indices;
  CascadeKind cascade = CascadeKind::thresholds;  ///< which of the two kinds of cascades
  bool compared = false;                          ///< whether both kinds were to be had
  Interval difference;                            ///< in worth, indices less thresholds
  double difference_error = 0.0;                  ///< its standard error
  double judged_calls = 0.0;  ///< of what a fit deploys, per prompt; 0 where that is one model alone
  Interval gain;  ///< in worth, of that kind over the single model; in a fit that deploys it that of the promise
  CascadeKind kind = CascadeKind::single;  ///< what is deployed

  const PickedCandidate& of(CascadeKind which) const;
  const PickedCandidate& chosen() const { return of(kind); }
};

/// What is to be large, row by row: the utility under a price, the quality under a bound on dollars, minus the dollars
/// per 1,000 prompts under a bound on the quality.
std::vector<double> worth_by_row(const WorthByRow& routed, const CascadeAim& aim, double price);

/// Under a bound the candidates of a kind are tried in their order, from the one that keeps it most easily, until one
/// does not keep it with 95% confidence; the last one that did is picked, or the first where none did. A bound that is
/// kept is so with that confidence although several were tried: they are a fixed sequence of tests. Of the two kinds
/// of cascades thresholds are the simpler one, and win where the other is not better by its standard error. The single
/// model is chosen where the interval of the cascade's gain does not lie above 0.
CascadeChoice choose(const std::vector<CascadeCandidate>& candidates, const JudgedCandidates& judged,
                     const CascadeAim& aim);

/// A choice, and those that are made without each fold: what the same procedure does with other prompts.
struct NestedChoice {
  CascadeChoice choice;
  /// By fold, of what was chosen without it: all that is deployed, the kind of cascades, the single model.
  std::vector<WorthByRow> kept, cascade, single;
};
NestedChoice choose_nested(const std::vector<CascadeCandidate>& candidates, const CrossValidated& judged,
                           const CascadeAim& aim);

/// What is deployed, by the gain where both keep the bound; else the one that does, or comes nearer to it.
void decide(CascadeChoice& choice, const CascadeAim& aim);

}  // namespace pandora
