// A table as a cascade meets it, its prompts one after the other as a service would send them, and as a fit on some of
// its rows sees it: scores calibrated and features fitted on those rows.
#pragma once

#include <map>
#include <mutex>

#include "host/cascades/fits/fitted_indices.hpp"
#include "host/cascades/fits/prepared_rows.hpp"
#include "host/outcomes/routing/router.hpp"
#include "pandora/cascade.hpp"

namespace pandora {

/// A table as a cascade meets it.
struct CascadeInput {
  const TraceTable* table = nullptr;  ///< must outlive this
  std::vector<std::size_t> columns;   ///< of the cascade's models, which of the table's
  std::string evaluator;              ///< as CalibratedEvaluator takes it
  std::span<const double> shown;  ///< rows x the table's models: what the evaluator shows, as it stands in the table
  std::shared_ptr<const PreparedContext> context = std::make_shared<const PreparedContext>();
  double judge_usd = 0.0;  ///< added to the dollars of every call of a request that needs scores
  bool latency = false;    ///< whether anybody asks for the seconds of calls

  std::span<const float> psi_of_row(std::size_t row) const {
    static constexpr float kOne = 1.0f;
    const std::size_t m = context->index_features;
    return context->psi.empty() ? std::span(&kOne, 1) : std::span(context->psi).subspan(row * m, m);
  }
};

/// For a cascade and a table it was perhaps not fitted on. Throws Error (bad_data) where the table lacks a model, a
/// score or a column of the features, Error (usage) for an evaluator that tables do not have (column:NAME).
CascadeInput cascade_input(const CascadeOptions& cascade, const TraceTable& table, double judge_usd);

/// How often each model of the cascade was called and its answer deployed.
struct ModelCounts {
  std::vector<std::uint64_t> called, deployed;
  std::uint64_t judged = 0;                   ///< calls of requests that need scores
  std::vector<std::uint32_t> by_prompt = {};  ///< of run_prompts(), in the order of its rows: bit m, model m was called
};

/// The named rows, one after the other. Nothing is learned: every prompt meets the cascade as it is.
Routed run_prompts(Cascade& cascade, const CascadeInput& input, std::span<const std::size_t> rows,
                   ModelCounts* counts = nullptr);

/// What can be deployed, and at which price.
struct CascadeCandidate {
  CascadeKind kind = CascadeKind::single;
  double price = 0.0;
  std::size_t model = 0;  ///< of the kind `single`
  double seconds = 0.0;   ///< of thresholds: within which they are fitted (fit_order_in_time); 0: there is no hurry
};

/// Each threshold in turn goes to the better one of the multiples of 0.05 beside it, or else of those of 0.01, if the
/// cascade then loses no more on these rows than half the standard error of the difference: on other prompts such a
/// threshold does as well. On random halves of two real tables, judged on the other halves, utilities changed by
/// -0.00006 to 0.00004.
FixedCascade with_readable_thresholds(FixedCascade cascade, const Outcomes& outcomes, double price,
                                      std::span<const std::size_t> rows);

/// Plans, and who chooses among them.
struct FittedRouter {
  RoutedPlans chosen;
  std::vector<FixedCascade> plans;  ///< those that `chosen` names
  bool of_models = false;           ///< of the kind `router`: plans were the models alone
};

class TrainedTable {
 public:
  /// The table must outlive this. `rows`: what is fitted on; not empty.
  TrainedTable(const TraceTable& table, const CascadeFitSettings& settings, std::vector<std::size_t> rows)
      : TrainedTable(table, settings,
                     std::make_shared<const PreparedRows>(prepared_rows(table, settings, std::move(rows)))) {}
  TrainedTable(const TraceTable& table, const CascadeFitSettings& settings, std::shared_ptr<const PreparedRows> rows);

  /// A single model or thresholds. Judging costs where more than one model is called.
  FixedCascade fit_order(const CascadeCandidate& candidate) const;
  /// Of the kind `router` plans are the models alone; of the kind `routed` also the best order with thresholds that
  /// begins with each model. Plans that are chosen for hardly any prompt are left out.
  FittedRouter fit_router(const CascadeCandidate& candidate) const;
  /// That indices are learned from, of all models' answers: of many rows some, spread over them.
  std::vector<std::size_t> calibration_rows() const;
  /// Of options_of_indices() without features; `near`: as FittedIndices has it.
  FittedIndices fit_indices(double price, const FittedIndices* near = nullptr) const {
    return {options_of_indices(price, false), index_rows(), calibration_rows(), near};
  }
  /// For FittedIndices; views of this.
  CascadeRows index_rows() const;
  /// Indices are learned from all models' answers to these.
  Cascade cascade_of(const CascadeOptions& options) const;

  Routed route(const FixedCascade& cascade, std::span<const std::size_t> rows) const {
    return evaluate(outcomes(cascade.order.size() > 1), cascade, rows);
  }
  Routed route(const FittedRouter& fitted, double price, std::span<const std::size_t> rows) const;
  /// As run_prompts().
  Routed route(FittedIndices& indices, std::span<const std::size_t> rows, ModelCounts* counts = nullptr) const;

  /// Of which a cascade consists: those that it calls or, where it is to explore, all.
  std::vector<std::size_t> models_of(const std::vector<FixedCascade>& plans) const;
  /// To be deployed; calls only models that are in it.
  CascadeOptions options_of(const FixedCascade& cascade, double price) const;
  CascadeOptions options_of(const FittedRouter& fitted, double price) const;
  CascadeOptions options_of_indices(double price, bool with_features) const;
  /// Of the candidate, fitted.
  CascadeOptions fit_options(const CascadeCandidate& candidate) const;
  const CascadeInput& input() const { return input_; }

 private:
  Outcomes outcomes(bool judged) const;
  std::size_t calibration_periods() const {
    constexpr std::size_t kMostAnswers = 40'000;  // that indices are learned from, of prompts spread over the table
    return std::min(rows().size(), std::max<std::size_t>(1, kMostAnswers / table_.models.size()));
  }
  PlanWorths worths_of(const std::vector<FixedCascade>& plans) const;
  std::vector<float> psi_of(std::span<const std::size_t> rows) const;
  PlanWorths predicted(const FittedRouter& fitted, std::span<const std::size_t> rows) const;
  CascadeOptions options_with(const std::vector<std::size_t>& models, double price) const;
  const std::vector<std::size_t>& rows() const { return prepared_->rows; }
  const FeatureMap& features() const { return input_.context->features; }

  const TraceTable& table_;
  const CascadeFitSettings& settings_;
  std::shared_ptr<const PreparedRows> prepared_;
  CalibratedEvaluator evaluator_;
  std::vector<double> judged_dollars_;
  CascadeInput input_;                        // for indices and routers
  std::optional<PlanPredictors> predictors_;  // of the models alone
  // What they predict of rows does not depend on the price: by learner, of the rows that were asked for last.
  struct Predicted {
    std::vector<std::size_t> rows;
    PlanWorths worths;
  };
  mutable std::mutex mutex_;
  mutable std::map<std::size_t, Predicted> predicted_;
};

}  // namespace pandora
