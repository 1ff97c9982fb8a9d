#include "host/cascades/fits/trained_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/order_in_time.hpp"
#include "host/cascades/live/rules_json.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// Searches come by the dozen: for folds and pairs of folds, without each model, at other prices.
constexpr CascadeEffort kEffort{.most_prompts = 6000, .most_steps = 50'000'000};

// The mean of a - b and its standard error.
std::pair<double, double> mean_and_error(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  double sum = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] - b[i];
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / n)};
}

// Takes from every plan's quality so many standard errors of its mean.
void be_cautious(PlanWorths& worths, double errors) {
  const std::size_t rows = worths.quality.size() / worths.plans;
  for (std::size_t p = 0; p < worths.plans; ++p) {
    std::vector<double> quality;
    for (std::size_t row = 0; row < rows; ++row) quality.push_back(worths.quality[row * worths.plans + p]);
    const double error = mean_and_error(quality, std::vector<double>(rows)).second;
    for (std::size_t row = 0; row < rows; ++row) worths.quality[row * worths.plans + p] -= errors * error;
  }
}

}  // namespace

CascadeInput cascade_input(const CascadeOptions& cascade, const TraceTable& table, double judge_usd) {
  CascadeInput out;
  out.table = &table;
  for (const std::string& name : cascade.models) {
    const auto found = std::find(table.models.begin(), table.models.end(), name);
    if (found == table.models.end())
      table.refuse("has no model {} of the cascade{}; give a table with all of {}", name,
                   nearest_text(nearest(name, table.models)), fmt::join(cascade.models, ", "));
    out.columns.push_back(static_cast<std::size_t>(found - table.models.begin()));
  }
  out.evaluator = cascade.evaluator;
  if (cascade.evaluator != kNoEvaluator) out.shown = CalibratedEvaluator(table, cascade.evaluator).shown();
  out.judge_usd = judge_usd;
  if (!cascade.features.empty()) try {
      const auto context = std::make_shared<PreparedContext>();
      context->features = FeatureMap::from_json(nlohmann::json::parse(cascade.features));
      context->index_features = 1 + std::max<std::size_t>(1, context->features.size());  // as Cascade::context_of
      context->psi = psi_of(context->features, table, context->index_features);
      out.context = context;
    } catch (const Damaged& damaged) {
      throw Error(ExitCode::bad_data, fmt::format("the cascade's features: {}", damaged.what()));
    }
  else if (cascade.order.empty() && cascade.index_features != 1)
    throw Error(ExitCode::usage,
                fmt::format("the cascade is given {} numbers for each prompt, and not the features that they are; a "
                            "table cannot test it",
                            cascade.index_features));
  return out;
}

Routed run_prompts(Cascade& cascade, const CascadeInput& input, std::span<const std::size_t> rows,
                   ModelCounts* counts) {
  const std::size_t models = input.table->models.size();
  cascade.set_learning(false);
  if (counts != nullptr) counts->called = counts->deployed = std::vector<std::uint64_t>(input.columns.size());
  Routed out;
  for (const std::size_t row : rows) {
    const std::uint64_t request = cascade.begin(input.psi_of_row(row));
    const bool judged = cascade.needs_score(request);
    double dollars = 0.0, calls = 0.0;
    std::uint32_t called = 0;
    while (const std::optional<std::size_t> model = cascade.next(request)) {
      const std::size_t at = row * models + input.columns[*model];
      const double usd = input.table->cost[at] + (judged ? input.judge_usd : 0.0);
      // An estimate (with_estimated_first_calls) may be negative; a call's dollars may not, and decide nothing of a router.
      cascade.observe(request, *model,
                      {std::max(0.0, usd), judged ? std::vector{input.shown[at]} : std::vector<double>()});
      if (counts != nullptr) counts->judged += judged;
      dollars += usd;
      ++calls;
      called |= 1u << *model;
      if (counts != nullptr) ++counts->called[*model];
    }
    const std::size_t deployed = cascade.deploy(request);
    if (counts != nullptr) {
      ++counts->deployed[deployed];
      counts->by_prompt.push_back(called);
    }
    out.quality.push_back(input.table->quality[row * models + input.columns[deployed]]);
    out.dollars.push_back(dollars);
    out.calls.push_back(calls);
  }
  return out;
}

FixedCascade with_readable_thresholds(FixedCascade cascade, const Outcomes& outcomes, double price,
                                      std::span<const std::size_t> rows) {
  constexpr double kErrors = 0.5;
  const std::vector<double> fitted = evaluate(outcomes, cascade, rows).utility(price);
  for (double& threshold : cascade.thresholds) {
    const double exact = threshold;
    double best = exact;
    for (const double parts : {20.0, 100.0}) {
      double most = -HUGE_VAL;
      for (const double near : {std::floor(exact * parts) / parts, std::ceil(exact * parts) / parts}) {
        threshold = near;
        const auto [more, error] = mean_and_error(evaluate(outcomes, cascade, rows).utility(price), fitted);
        if (more < -kErrors * error || more <= most) continue;
        most = more;
        best = near;
      }
      if (std::isfinite(most)) break;
    }
    threshold = best;
  }
  return cascade;
}

TrainedTable::TrainedTable(const TraceTable& table, const CascadeFitSettings& settings,
                           std::shared_ptr<const PreparedRows> rows)
    : table_(table), settings_(settings), prepared_(std::move(rows)), evaluator_(table, settings.shown()) {
  if (settings.judge() > 0.0) {
    judged_dollars_ = table.cost;
    for (double& x : judged_dollars_) x += settings.judge();
  }
  const bool router = settings.tries(CascadeKind::router), routed = settings.tries(CascadeKind::routed);
  if (!settings.tries(CascadeKind::indices) && !router && !routed) return;
  input_.table = &table;
  input_.columns = all_rows(table.models.size());
  input_.shown = evaluator_.shown();
  input_.judge_usd = settings.judge();
  input_.latency = settings.aim.most_latency.has_value();
  input_.context = prepared_->context;
  if (router || routed) {
    std::vector<FixedCascade> models;
    for (const std::size_t m : input_.columns) models.push_back({{m}, {}});
    PlanWorths worths = worths_of(models);
    if (settings.from_log()) be_cautious(worths, settings.caution);
    predictors_.emplace(psi_of(prepared_->rows), input_.context->index_features, std::move(worths));
  }
}

std::vector<float> TrainedTable::psi_of(std::span<const std::size_t> rows) const {
  std::vector<float> out;
  out.reserve(rows.size() * input_.context->index_features);
  for (const std::size_t row : rows) {
    const std::span<const float> psi = input_.psi_of_row(row);
    out.insert(out.end(), psi.begin(), psi.end());
  }
  return out;
}

PlanWorths TrainedTable::worths_of(const std::vector<FixedCascade>& plans) const {
  PlanWorths out{plans.size(), std::vector<double>(rows().size() * plans.size()), {}};
  out.dollars = out.quality;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const Routed routed = route(plans[p], rows());
    for (std::size_t i = 0; i < rows().size(); ++i) {
      out.quality[i * plans.size() + p] = routed.quality[i];
      out.dollars[i * plans.size() + p] = routed.dollars[i];
    }
  }
  return out;
}

Outcomes TrainedTable::outcomes(bool judged) const {
  Outcomes out = evaluator_.outcomes(prepared_->seen);
  if (!prepared_->quality.empty()) out.quality = prepared_->quality;
  if (judged && !judged_dollars_.empty()) out.dollars = judged_dollars_;
  if (settings_.aim.most_latency) out.latency = table_.latency;
  return out;
}

FixedCascade TrainedTable::fit_order(const CascadeCandidate& candidate) const {
  if (candidate.kind == CascadeKind::thresholds && candidate.seconds > 0.0)
    return fit_order_in_time(outcomes(true), candidate.price, candidate.seconds, rows());
  if (candidate.kind == CascadeKind::thresholds)
    return with_readable_thresholds(fit_fixed_cascade(outcomes(true), candidate.price, rows(), kEffort), outcomes(true),
                                    candidate.price, rows());
  return {{candidate.model}, {}};
}

FittedRouter TrainedTable::fit_router(const CascadeCandidate& candidate) const {
  constexpr CascadeEffort kLittle{.most_prompts = 3000, .most_steps = 5'000'000};  // one for each model to begin with
  std::vector<FixedCascade> plans;
  for (std::size_t m = 0; m < table_.models.size(); ++m) plans.push_back({{m}, {}});
  RoutedPlans chosen;
  if (candidate.kind == CascadeKind::router) {
    chosen = predictors_->best(candidate.price);
  } else {
    for (std::size_t m = 0; m < table_.models.size(); ++m) {
      FixedCascade plan = fit_fixed_cascade(outcomes(true), candidate.price, rows(), kLittle, m);
      if (plan.order.size() > 1)
        plans.push_back(with_readable_thresholds(std::move(plan), outcomes(true), candidate.price, rows()));
    }
    chosen = PlanPredictors(*predictors_, worths_of(plans)).best(candidate.price);
  }
  FittedRouter out{std::move(chosen), {}, candidate.kind == CascadeKind::router};
  for (const std::size_t p : out.chosen.plans) out.plans.push_back(plans[p]);
  return out;
}

PlanWorths TrainedTable::predicted(const FittedRouter& fitted, std::span<const std::size_t> rows) const {
  if (!fitted.of_models) return fitted.chosen.router.predict_all(psi_of(rows));
  const std::lock_guard lock(mutex_);
  Predicted& known = predicted_[fitted.chosen.learner];
  if (known.worths.plans == 0 || !std::ranges::equal(known.rows, rows))
    known = {{rows.begin(), rows.end()}, predictors_->routers()[fitted.chosen.learner].predict_all(psi_of(rows))};
  return known.worths.of_plans(fitted.chosen.plans);
}

Routed TrainedTable::route(const FittedRouter& fitted, double price, std::span<const std::size_t> rows) const {
  std::vector<std::vector<std::size_t>> of_plan(fitted.plans.size());  // positions in `rows`
  const PlanWorths worths = predicted(fitted, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) of_plan[worths.best(i, price)].push_back(i);
  Routed out = empty_rows(rows.size());
  for (std::size_t p = 0; p < of_plan.size(); ++p) {
    std::vector<std::size_t> own;
    for (const std::size_t i : of_plan[p]) own.push_back(rows[i]);
    put_rows(out, route(fitted.plans[p], own), of_plan[p]);
  }
  return out;
}

CascadeRows TrainedTable::index_rows() const {
  return {table_.models.size(), input_.context->index_features,
          input_.context->psi,  outcomes(true).dollars,
          input_.shown,         table_.quality};
}

Routed TrainedTable::route(FittedIndices& indices, std::span<const std::size_t> rows, ModelCounts* counts) const {
  const std::size_t models = table_.models.size();
  const CascadeRows table = index_rows();
  const RowCalls calls = indices.run(rows);
  if (counts != nullptr) counts->called = counts->deployed = std::vector<std::uint64_t>(models);
  Routed out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double dollars = 0.0, seconds = 0.0, called = 0.0;
    for (std::size_t k = 0; k < models && calls.called[i * models + k] >= 0; ++k) {
      const auto model = static_cast<std::size_t>(calls.called[i * models + k]);
      dollars += table.usd[rows[i] * models + model];
      if (input_.latency) seconds += table_.latency[rows[i] * models + model];
      ++called;
      if (counts != nullptr) {
        ++counts->called[model];
        ++counts->judged;
      }
    }
    const auto deployed = static_cast<std::size_t>(calls.deployed[i]);
    if (counts != nullptr) ++counts->deployed[deployed];
    out.quality.push_back(table_.quality[rows[i] * models + deployed]);
    out.dollars.push_back(dollars);
    out.calls.push_back(called);
    if (input_.latency) out.latency.push_back(seconds);
  }
  return out;
}

}  // namespace pandora
