// Indices that are learned from a table and judged on it, many times in a fit.
#pragma once

#include "host/cascades/live/run_rows.hpp"
#include "pandora/weitzman.hpp"

namespace pandora {

/// What a Cascade of the same options learns from the same answers, and where it sends prompts, number by number;
/// without what a service needs beside that: requests that wait, a lock, a way back.
class FittedIndices {
 public:
  /// `options`: with rules, and without features, which `table` has. Learned from all models' answers to these rows.
  /// What `table` looks at must outlive this. `near`: learned from nearly the same rows at the same price; numbers are
  /// then the Cascade's up to the tolerance of solves, which set out from there.
  FittedIndices(const CascadeOptions& options, const CascadeRows& table, std::span<const std::size_t> calibration,
                const FittedIndices* near = nullptr);

  /// As run_rows().
  RowCalls run(std::span<const std::size_t> rows, const std::atomic<bool>* interrupted = nullptr);

 private:
  std::span<const float> context_of(std::size_t row);
  Output output_of(std::size_t row, std::size_t model);

  const CascadeRows table_;
  const LaneSpec rules_;
  const double price_;
  const std::vector<std::pair<float, float>> range_;
  WeitzmanEstimator estimator_;
  std::vector<float> context_, phi_;  // of the latest prompt and answer
};

}  // namespace pandora
