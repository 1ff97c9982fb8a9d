// A table as a fit on some of its rows sees it: scores calibrated and features fitted on those rows.
#pragma once

#include "host/cascades/fits/aim.hpp"
#include "host/cascades/fits/run_prompts.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"

namespace pandora {

/// What can be deployed: one model, an order with thresholds, or indices. With what can be said of it at a price.
struct CascadeCandidate {
  CascadeKind kind = CascadeKind::single;
  double price = 0.0;
  std::size_t model = 0;  ///< of the kind `single`
};

/// Each threshold in turn goes to the better one of the multiples of 0.05 beside it, or else of those of 0.01, if the
/// cascade then loses no more on these rows than half the standard error of the difference: on other prompts such a
/// threshold does as well. On random halves of two real tables, judged on the other halves, utilities changed by
/// -0.00006 to 0.00004.
FixedCascade with_readable_thresholds(FixedCascade cascade, const Outcomes& outcomes, double price,
                                      std::span<const std::size_t> rows);

class TrainedTable {
 public:
  /// The table must outlive this. `rows`: what is fitted on; not empty.
  TrainedTable(const TraceTable& table, const CascadeFitSettings& settings, std::vector<std::size_t> rows);

  /// A single model or thresholds. Judging costs where more than one model is called.
  FixedCascade fit_order(const CascadeCandidate& candidate) const;
  /// Indices are learned from all models' answers to the rows; of many rows, to some spread over them.
  Cascade cascade_of(const CascadeOptions& options) const;

  Routed route(const FixedCascade& cascade, std::span<const std::size_t> rows) const;

  /// To be deployed; calls only models that are in it.
  CascadeOptions options_of(const FixedCascade& cascade, double price) const;
  CascadeOptions options_of_indices(double price, bool with_features) const;
  const CascadeInput& input() const { return input_; }

 private:
  Outcomes outcomes(bool judged) const;
  std::size_t calibration_periods() const;
  std::vector<std::pair<float, float>> psi_range() const;

  const TraceTable& table_;
  const CascadeFitSettings& settings_;
  std::vector<std::size_t> rows_;
  CalibratedEvaluator evaluator_;
  std::vector<IsotonicMap> calibration_;  // of each model; none for the truth
  std::vector<double> seen_, judged_dollars_;
  FeatureMap features_;
  CascadeInput input_;  // for indices
};

}  // namespace pandora
