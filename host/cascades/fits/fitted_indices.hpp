// Indices that are learned from a table and judged on it, many times in a fit.
#pragma once

#include "host/cascades/fits/trained_table.hpp"
#include "pandora/weitzman.hpp"

namespace pandora {

/// What a Cascade of the same options learns from the same answers, and where it sends prompts, number by number;
/// without what a service needs beside that: requests that wait, a lock, a way back.
class FittedIndices {
 public:
  /// `options`: with rules, and without features, which `input` has. Learned from all models' answers to these rows.
  /// What `input` looks at must outlive this. `near`: learned from nearly the same rows at the same price; numbers are
  /// then the Cascade's up to the tolerance of solves, which set out from there.
  FittedIndices(const CascadeOptions& options, const CascadeInput& input, std::span<const std::size_t> calibration,
                const FittedIndices* near = nullptr);

  /// As run_prompts().
  Routed route(std::span<const std::size_t> rows, ModelCounts* counts = nullptr);

 private:
  std::span<const float> context_of(std::size_t row);
  Output output_of(std::size_t row, std::size_t model);
  double usd(std::size_t at) const { return input_.table->cost[at] + input_.judge_usd; }

  const CascadeInput input_;
  const LaneSpec rules_;
  const double price_;
  const std::vector<std::pair<float, float>> range_;
  WeitzmanEstimator estimator_;
  std::vector<float> context_, phi_;  // of the latest prompt and answer
};

}  // namespace pandora
