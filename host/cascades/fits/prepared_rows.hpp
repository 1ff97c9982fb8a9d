// What fits on some rows of a table take from these rows whatever their models, price and kind: scores calibrated and
// features fitted, once for all of them.
#pragma once

#include <memory>
#include <mutex>

#include "host/cascades/fits/aim.hpp"
#include "host/outcomes/logs/labels.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"
#include "host/outcomes/tables/features.hpp"

namespace pandora {

/// The prompts of a table as indices are given them.
struct PreparedContext {
  FeatureMap features;
  std::vector<float> psi;          ///< rows x index_features; empty: 1 alone
  std::size_t index_features = 1;  ///< a 1 and the features
};

struct PreparedRows {
  std::vector<std::size_t> rows;  ///< that are fitted on, ascending
  /// All rows of the table x models: qualities estimated without the labels of rows that are not fitted on; empty where
  /// the table's own serve.
  std::vector<double> quality;
  std::vector<IsotonicMap> calibration;  ///< of each model; none for the truth
  std::vector<double> seen;              ///< all rows of the table x models; empty for the truth
  std::shared_ptr<const PreparedContext> context;
};

/// rows x m: 1, the features and zeros.
std::vector<float> psi_of(const FeatureMap& map, const TraceTable& table, std::size_t m,
                          const CountedRows& counted = {});

/// Of each number of psi the least and the greatest in these rows, where some are of raw columns; all else the features
/// themselves keep between -1 and 1. Empty where none is raw.
std::vector<std::pair<float, float>> psi_range(const PreparedContext& context, std::span<const std::size_t> rows);

/// Of a single fit.
PreparedRows prepared_rows(const TraceTable& table, const CascadeFitSettings& settings, std::vector<std::size_t> rows);

/// The sets of rows of a cross-validation: all that are neither in fold f nor in fold g. Each is prepared by whoever
/// asks for it first; threads may ask at once. The texts are counted once, and projections begin at that of all rows.
class PreparedFolds {
 public:
  /// The table must outlive this. `estimates`: of a table whose qualities are estimated; must outlive this as well.
  PreparedFolds(const TraceTable& table, const CascadeFitSettings& settings, std::size_t folds,
                const QualityEstimates* estimates = nullptr);

  const PromptGroups& groups() const { return groups_; }
  /// f = g = folds: all rows.
  std::shared_ptr<const PreparedRows> without(std::size_t f, std::size_t g) const;
  /// The same of the table with `which` of its models alone; `all` must outlive this as well.
  PreparedFolds(const PreparedFolds& all, const TraceTable& some, std::vector<std::size_t> which);

 private:
  struct Slot {
    std::once_flag once;
    std::shared_ptr<const PreparedRows> rows;
  };
  PreparedRows prepared(std::size_t f, std::size_t g) const;
  PreparedRows models_of(const PreparedRows& all) const;
  std::vector<std::unique_ptr<Slot>> empty_slots() const;

  const TraceTable* table_;
  CascadeFitSettings settings_;
  std::size_t folds_;
  const QualityEstimates* estimates_ = nullptr;
  PromptGroups groups_;
  TextCounts counts_;
  std::vector<std::unique_ptr<Slot>> slots_;  // of f and g, f x (folds + 1) + g
  const PreparedFolds* all_ = nullptr;        // whose models some are taken of
  std::vector<std::size_t> which_;
};

}  // namespace pandora
