// What a fit makes of its rows as the options of a cascade, which can be deployed.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "host/cascades/fits/trained_table.hpp"
#include "host/cascades/live/rules_json.hpp"

namespace pandora {
namespace {

std::vector<std::size_t> models_in(const std::vector<FixedCascade>& plans) {
  std::set<std::size_t> out;
  for (const FixedCascade& plan : plans) out.insert(plan.order.begin(), plan.order.end());
  return {out.begin(), out.end()};
}

std::vector<std::size_t> positions_among(const std::vector<std::size_t>& used, const std::vector<std::size_t>& models) {
  std::vector<std::size_t> out;
  for (const std::size_t m : models)
    out.push_back(static_cast<std::size_t>(std::lower_bound(used.begin(), used.end(), m) - used.begin()));
  return out;
}

}  // namespace

CascadeOptions TrainedTable::fit_options(const CascadeCandidate& candidate) const {
  if (candidate.kind == CascadeKind::indices) return options_of_indices(candidate.price, true);
  return routes(candidate.kind) ? options_of(fit_router(candidate), candidate.price)
                                : options_of(fit_order(candidate), candidate.price);
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

CascadeOptions TrainedTable::options_with(const std::vector<std::size_t>& models, double price) const {
  CascadeOptions out;
  out.price = price;
  out.evaluator = settings_.evaluator;
  for (const std::size_t m : models) {
    out.models.push_back(table_.models[m]);
    if (!prepared_->calibration.empty())
      out.calibration.push_back({prepared_->calibration[m].scores, prepared_->calibration[m].qualities});
  }
  return out;
}

std::vector<std::size_t> TrainedTable::models_of(const std::vector<FixedCascade>& plans) const {
  return settings_.explore > 0.0 ? all_rows(table_.models.size()) : models_in(plans);
}

CascadeOptions TrainedTable::options_of(const FixedCascade& cascade, double price) const {
  const std::vector<std::size_t> used = models_of({cascade});
  CascadeOptions out = options_with(used, price);
  out.order = positions_among(used, cascade.order);
  out.thresholds = cascade.thresholds;
  return out;
}

CascadeOptions TrainedTable::options_of(const FittedRouter& fitted, double price) const {
  const std::vector<std::size_t> used = models_of(fitted.plans);
  CascadeOptions out = options_with(used, price);
  for (const FixedCascade& plan : fitted.plans)
    out.plans.push_back({positions_among(used, plan.order), plan.thresholds});
  if (calls_one_model(out)) out.calibration.clear();
  out.router = fitted.chosen.router.to_json().dump();
  if (features().size() > 0) out.features = features().to_json().dump();
  out.psi_range = psi_range(*input_.context, rows());
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
  out.psi_range = psi_range(*input_.context, rows());
  return out;
}

}  // namespace pandora
