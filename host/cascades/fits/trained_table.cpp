#include "host/cascades/fits/trained_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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
  out.shown = CalibratedEvaluator(table, cascade.evaluator).shown();
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
  else if (cascade.rules && cascade.index_features != 1)
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
    double dollars = 0.0, calls = 0.0;
    std::uint32_t called = 0;
    while (const std::optional<std::size_t> model = cascade.next(request)) {
      const std::size_t at = row * models + input.columns[*model];
      const double usd = input.table->cost[at] + input.judge_usd;
      cascade.observe(request, *model, {usd, {input.shown[at]}});
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
    : table_(table), settings_(settings), prepared_(std::move(rows)), evaluator_(table, settings.evaluator) {
  if (settings.judge() > 0.0) {
    judged_dollars_ = table.cost;
    for (double& x : judged_dollars_) x += settings.judge();
  }
  if (settings.indices)
    input_ = {&table, all_rows(table.models.size()), evaluator_.shown(), prepared_->context, settings.judge()};
}

Outcomes TrainedTable::outcomes(bool judged) const {
  Outcomes out = evaluator_.outcomes(prepared_->seen);
  if (judged && !judged_dollars_.empty()) out.dollars = judged_dollars_;
  return out;
}

FixedCascade TrainedTable::fit_order(const CascadeCandidate& candidate) const {
  if (candidate.kind == CascadeKind::thresholds)
    return with_readable_thresholds(fit_fixed_cascade(outcomes(true), candidate.price, rows(), kEffort), outcomes(true),
                                    candidate.price, rows());
  return {{candidate.model}, {}};
}

std::vector<std::size_t> TrainedTable::calibration_rows() const {
  const std::size_t periods = calibration_periods();
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < periods; ++i) out.push_back(rows()[i * rows().size() / periods]);
  return out;
}

Cascade TrainedTable::cascade_of(const CascadeOptions& options) const {
  Cascade cascade(options);
  int period = 0;
  for (const std::size_t row : options.rules ? calibration_rows() : std::vector<std::size_t>()) {
    ++period;
    for (std::size_t a = 0; a < table_.models.size(); ++a) {
      const std::size_t at = row * table_.models.size() + a;
      const Observation seen{table_.cost[at] + settings_.judge(), {input_.shown[at]}};
      cascade.calibrate(period, input_.psi_of_row(row), a, seen, table_.quality[at]);
    }
  }
  return cascade;
}

CascadeOptions TrainedTable::options_of(const FixedCascade& cascade, double price) const {
  CascadeOptions out;
  out.price = price;
  out.evaluator = settings_.evaluator;
  std::vector<std::size_t> used = cascade.order;
  std::sort(used.begin(), used.end());
  for (const std::size_t m : used) {
    out.models.push_back(table_.models[m]);
    if (!prepared_->calibration.empty())
      out.calibration.push_back({prepared_->calibration[m].scores, prepared_->calibration[m].qualities});
  }
  for (const std::size_t m : cascade.order)
    out.order.push_back(static_cast<std::size_t>(std::lower_bound(used.begin(), used.end(), m) - used.begin()));
  out.thresholds = cascade.thresholds;
  return out;
}

CascadeOptions TrainedTable::options_of_indices(double price, bool with_features) const {
  CascadeOptions out;
  out.models = table_.models;
  out.price = price;
  out.evaluator = settings_.evaluator;
  // No bonus: all answers to the rows are known, and what is judged is what is deployed.
  out.rules = shrunk_rules(!evaluator_.is_truth(), 0.0, static_cast<int>(calibration_periods()));
  out.index_features = static_cast<int>(input_.context->index_features);
  if (with_features && features().size() > 0) {
    out.features = features().to_json().dump();
    out.index_features = 1;
  }
  out.psi_range = psi_range();
  return out;
}

// Of raw columns; all else the features themselves keep between -1 and 1.
std::vector<std::pair<float, float>> TrainedTable::psi_range() const {
  const std::vector<std::string> names = features().names();
  const auto raw = [](const std::string& name) { return name.starts_with("raw:"); };
  if (std::none_of(names.begin(), names.end(), raw)) return {};
  std::vector<std::pair<float, float>> out(input_.context->index_features, {-1.0f, 1.0f});
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (!raw(names[j])) continue;
    const auto at = [&](std::size_t row) { return input_.context->psi[row * input_.context->index_features + 1 + j]; };
    out[1 + j] = {at(rows()[0]), at(rows()[0])};
    for (const std::size_t row : rows())
      out[1 + j] = {std::min(out[1 + j].first, at(row)), std::max(out[1 + j].second, at(row))};
  }
  return out;
}

}  // namespace pandora
