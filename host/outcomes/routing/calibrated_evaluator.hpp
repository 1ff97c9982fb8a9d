// What is seen of an answer when it is opened: its quality, or a judge's score that is calibrated.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/outcomes/routing/isotonic.hpp"
#include "host/outcomes/routing/routing.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

class CalibratedEvaluator {
 public:
  /// "quality", "score" or "score:NAME". Throws Error (usage) for anything else, for nothing at all with what the table
  /// has, and Error (bad_data) for a score that the table does not have. The table must outlive this.
  CalibratedEvaluator(const TraceTable& table, const std::string& name);

  bool is_truth() const { return score_ == nullptr; }
  /// The judge's scores; nullptr for the truth.
  const ScoreColumn* score() const { return score_; }
  /// rows x models, row-major, as it stands in the table.
  std::span<const double> shown() const;
  /// Maps of the score fitted on these rows, of each model its own; none for the truth.
  std::vector<IsotonicMap> calibrate(std::span<const std::size_t> rows) const;
  /// rows x models, row-major: what is seen of every answer of the table, calibrated on these rows; empty for the
  /// truth.
  std::vector<double> seen(std::span<const std::size_t> rows) const;
  /// The table with what seen() gave, which must outlive the result.
  Outcomes outcomes(const std::vector<double>& seen) const;

 private:
  const TraceTable& table_;
  const ScoreColumn* score_ = nullptr;
};

}  // namespace pandora
