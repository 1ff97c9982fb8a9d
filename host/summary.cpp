#include "host/summary.hpp"

#include <cmath>

namespace pandora {
namespace {

Estimate scaled(Estimate e, double factor) {
  return {factor * e.mean, factor * e.half_width_95};
}

// The value of `pick` over the replications of one cell group.
template <class Pick>
Estimate over(const UnitResult* units, int replications, Pick&& pick) {
  std::vector<double> values;
  for (int r = 0; r < replications; ++r) values.push_back(pick(units[r]));
  return estimate(values);
}

void add_rows(const Study& study, const Plan& plan, const Unit& unit, const UnitResult* units, Summary& summary) {
  const int R = study.replications;
  const std::string regime = regime_name(unit.regime);
  for (int T0 : study.T0)
    for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
      const PlannedLane& planned = plan.lanes[lane];
      if (planned.policy->uses_calibration && planned.T0 != T0) continue;
      SummaryRow row{regime,
                     unit.environment.name,
                     T0,
                     planned.policy->name,
                     planned.variant.reward,
                     planned.variant.hyperparameter,
                     R,
                     study.periods,
                     {},
                     {},
                     0.0,
                     false,
                     {},
                     {}};
      row.regret = scaled(
          over(units, R, [&](const UnitResult& u) { return u.lanes[0].utility - u.lanes[lane].utility; }), 1000.0);
      row.realised_regret = scaled(
          over(units, R,
               [&](const UnitResult& u) { return u.lanes[0].realised_utility - u.lanes[lane].realised_utility; }),
          1000.0);
      row.queries_per_period = over(units, R, [&](const UnitResult& u) { return u.lanes[lane].queries; }).mean;
      summary.rows.push_back(std::move(row));
    }
}

void mark_best(std::vector<SummaryRow>& rows) {
  for (std::size_t begin = 0, end; begin < rows.size(); begin = end) {
    std::size_t best = begin;
    for (end = begin; end < rows.size() && rows[end].policy == rows[begin].policy &&
                      rows[end].reward == rows[begin].reward && rows[end].T0 == rows[begin].T0 &&
                      rows[end].environment == rows[begin].environment && rows[end].regime == rows[begin].regime;
         ++end)
      if (rows[end].regret.mean < rows[best].regret.mean) best = end;
    SummaryRow& row = rows[best];
    row.best = true;
    row.published = published_regret(row.regime, row.environment, row.T0, row.policy, row.reward);
    if (row.published && row.replications >= kLeastForComparison)
      row.inside_joint_95 = inside_joint_95(row.regret.mean, row.regret.half_width_95, *row.published);
  }
}

}  // namespace

Estimate estimate(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  double sum = 0.0, squares = 0.0;
  for (double v : values) sum += v;
  const double mean = sum / n;
  for (double v : values) squares += (v - mean) * (v - mean);
  return {mean, values.size() > 1 ? 1.96 * std::sqrt(squares / (n - 1.0) / n) : 0.0};
}

bool outside(const Estimate& ours, const PublishedValue& published, int replications) {
  return replications >= kLeastForComparison && !inside_joint_95(ours.mean, ours.half_width_95, published);
}

Summary summarise(const Study& study, const Plan& plan, const std::vector<UnitResult>& results) {
  Summary summary;
  const int R = study.replications;
  for (std::size_t first = 0; first < plan.units.size(); first += static_cast<std::size_t>(R)) {
    const Unit& unit = plan.units[first];
    const UnitResult* units = results.data() + first;
    const std::string regime = regime_name(unit.regime);
    if (study.regret) {
      add_rows(study, plan, unit, units, summary);
      summary.oracle.push_back({regime, unit.environment.name, unit.environment.cost_level,
                                scaled(over(units, R, [](const UnitResult& u) { return u.lanes[0].utility; }), 1000.0),
                                over(units, R, [](const UnitResult& u) { return u.lanes[0].queries; }),
                                published_oracle(regime, unit.environment.name)});
    }
    if (study.order)
      summary.order.push_back({unit.environment.name, regime,
                               over(units, R, [](const UnitResult& u) { return u.order.permutations; }),
                               over(units, R, [](const UnitResult& u) { return u.order.max_mass; }),
                               over(units, R, [](const UnitResult& u) { return u.order.min_mass; }),
                               published_order(regime, unit.environment.name)});
  }
  mark_best(summary.rows);
  return summary;
}

}  // namespace pandora
