#include "host/studies/results/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "host/lanes/model/trace_keys.hpp"

namespace pandora {
namespace {

Estimate scaled(Estimate e, double factor) {
  return {factor * e.mean, factor * e.half_width_95};
}

double per_period(double sum, const LaneTally& tally) {
  return sum / tally.periods;
}

std::vector<RowStatistic> make_row_statistics() {
  std::vector<RowStatistic> out;
  const auto add = [&out](const char* column, const char* half_width, const char* title, double factor,
                          Estimate SummaryRow::*member, auto&& of) {
    out.push_back(
        {column, half_width, title, factor, [member](SummaryRow& row) -> Estimate& { return row.*member; }, of});
  };
  const auto own = [](double LaneTally::*sum) {
    return [sum](const LaneTally&, const LaneTally& t) { return per_period(t.*sum, t); };
  };
  const auto lost = [](double LaneTally::*sum) {
    return [sum](const LaneTally& oracle, const LaneTally& t) {
      return per_period(oracle.*sum, oracle) - per_period(t.*sum, t);
    };
  };
  add("regret_x1000", "half_width_95_x1000", "regret", 1000.0, &SummaryRow::regret, lost(&LaneTally::utility));
  add("realised_regret_x1000", "realised_half_width_95_x1000", nullptr, 1000.0, &SummaryRow::realised_regret,
      lost(&LaneTally::realised_utility));
  add("quality_x1000", "quality_half_width_95_x1000", nullptr, 1000.0, &SummaryRow::quality, own(&LaneTally::quality));
  add("realised_quality_x1000", "realised_quality_half_width_95_x1000", nullptr, 1000.0, &SummaryRow::realised_quality,
      own(&LaneTally::realised_quality));
  add("cost_x1000", "cost_half_width_95_x1000", nullptr, 1000.0, &SummaryRow::cost, own(&LaneTally::cost));
  add("queries_per_period", "queries_per_period_half_width_95", nullptr, 1.0, &SummaryRow::queries,
      [](const LaneTally&, const LaneTally& t) { return per_period(t.queries(), t); });
  const auto add_part = [&out](const RegretPart& part, const char* title, std::function<Estimate&(SummaryRow&)> in) {
    out.push_back({fmt::format("{}_x1000", part.name), fmt::format("{}_half_width_95_x1000", part.name), title, 1000.0,
                   std::move(in), [member = part.member](const LaneTally&, const LaneTally& t) {
                     return per_period(t.regret.*member, t);
                   }});
  };
  for (int k = 0; k < kCountOfParts; ++k)
    add_part(kRegretParts[k], kRegretParts[k].title, [k](SummaryRow& row) -> Estimate& { return row.parts[k]; });
  for (int k = 0; k < kCountOfGaps; ++k)
    add_part(kPathGaps[k], nullptr, [k](SummaryRow& row) -> Estimate& { return row.gaps[k]; });
  return out;
}

// The value of `pick` over the replications of one cell group that are there.
template <class Pick>
Estimate over_orders(std::span<const UnitResult> units, Pick&& pick) {
  std::vector<double> values;
  for (const UnitResult& unit : units)
    if (unit.order.permutations > 0.0) values.push_back(pick(unit.order));
  return estimate(values);
}

bool fails(const UnitResult& unit, std::size_t lane) {
  return lane < unit.lanes.size() && unit.lanes[0].ran() && unit.lanes[lane].ran() && !counts(unit, lane);
}

void add_rows(const Study& study, const Plan& plan, const Unit& unit, std::span<const UnitResult> units,
              Summary& summary) {
  for (int T0 : study.T0)
    for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
      const PlannedLane& planned = plan.lanes[lane];
      if (planned.policy->uses_calibration && planned.T0 != T0) continue;
      SummaryRow row;
      row.regime = regime_name(unit.regime);
      row.environment = unit.environment.name;
      row.T0 = T0;
      row.policy = planned.policy->name;
      row.reward = planned.variant.reward;
      row.hyperparameter = planned.variant.hyperparameter;
      row.lane = lane;
      row.lane_name = lane_name(planned);
      for (const UnitResult& u : units) {
        row.replications += counts(u, lane) ? 1 : 0;
        row.failed += fails(u, lane) ? 1 : 0;
        if (counts(u, lane) && u.lanes[lane].unsolved_refits > 0.0)  // NaN where another version did not count them
          row.unsolved_refits += u.lanes[lane].unsolved_refits;
      }
      row.periods = study.periods;
      for (const RowStatistic& statistic : row_statistics())
        statistic.in(row) = scaled(over_replications(units, lane, statistic.of), statistic.factor);
      if (const TraceKeys* keys = trace_keys(unit.environment); keys != nullptr) {
        row.prompts = prompt_statistics(units, lane, keys->price);
        row.told = row.reward == "known" && hides_quality(keys->evaluator);
      }
      summary.rows.push_back(std::move(row));
    }
}

void mark_best(const Study& study, std::vector<SummaryRow>& rows) {
  std::map<std::tuple<std::string, std::string, int, std::string, std::string>, SummaryRow*> best;
  for (SummaryRow& row : rows) {
    if (row.replications == 0) continue;
    SummaryRow*& found =
        best.try_emplace({row.regime, row.environment, row.T0, row.policy, row.reward}, &row).first->second;
    // Means over different replications do not compare: where lanes failed or are not there yet, the most complete
    // count.
    if (row.replications > found->replications ||
        (row.replications == found->replications && row.regret.mean < found->regret.mean))
      found = &row;
  }
  for (const auto& [key, row] : best) {
    row->best = true;
    const auto environment = std::find_if(study.environments.begin(), study.environments.end(),
                                          [&, row = row](const Environment& e) { return e.name == row->environment; });
    if (comparable(study, *environment))
      row->published = published_regret(row->regime, row->environment, row->T0, row->policy, row->reward);
    if (row->published && row->replications >= kLeastForComparison)
      row->inside_joint_95 = inside_joint_95(row->regret.mean, row->regret.half_width_95, *row->published);
  }
}

}  // namespace

const std::vector<RowStatistic>& row_statistics() {
  static const std::vector<RowStatistic> all = make_row_statistics();
  return all;
}

bool counts(const UnitResult& unit, std::size_t lane) {
  return lane < unit.lanes.size() && unit.lanes[0].ran() && unit.lanes[lane].ran() &&
         unit.lanes[0].failure == Failure::none && unit.lanes[lane].failure == Failure::none;
}

bool outside(const Estimate& ours, const PublishedValue& published, int replications) {
  return replications >= kLeastForComparison && !std::isnan(ours.mean) &&
         !inside_joint_95(ours.mean, ours.half_width_95, published);
}

bool comparable(const Study& study, const Environment& environment) {
  return study.dimensions == Dimensions{} && study.periods == kPaperPeriods &&
         std::find(paper_environments().begin(), paper_environments().end(), environment) != paper_environments().end();
}

Summary summarise(const Study& study, const Plan& plan, const std::vector<UnitResult>& results) {
  Summary summary;
  const std::size_t R = static_cast<std::size_t>(study.replications);
  for (std::size_t first = 0; first < plan.units.size(); first += R) {
    const Unit& unit = plan.units[first];
    const std::span<const UnitResult> units(results.data() + first, R);
    const std::string regime = regime_name(unit.regime), environment = unit.environment.name;
    const bool known = comparable(study, unit.environment);
    if (study.regret) {
      add_rows(study, plan, unit, units, summary);
      const bool linear = unit.environment.indices == Indices::linear;
      OracleRow row{regime, environment, linear ? std::nan("") : unit.environment.cost_level, {}, {}, {}};
      row.utility_x1000 = scaled(
          over_replications(
              units, 0, [](const LaneTally& oracle, const LaneTally&) { return per_period(oracle.utility, oracle); }),
          1000.0);
      row.boxes_queried = over_replications(
          units, 0, [](const LaneTally& oracle, const LaneTally&) { return per_period(oracle.queries(), oracle); });
      if (known) row.published = published_oracle(regime, environment);
      summary.oracle.push_back(std::move(row));
    }
    if (study.order) {
      OrderRow row{environment, regime, {}, {}, {}, {}};
      row.permutations = over_orders(units, [](const OrderFrequencies& f) { return f.permutations; });
      row.max_mass = over_orders(units, [](const OrderFrequencies& f) { return f.max_mass; });
      row.min_mass = over_orders(units, [](const OrderFrequencies& f) { return f.min_mass; });
      // The horizon does not enter Table 3.
      Study of_paper = study;
      of_paper.periods = kPaperPeriods;
      if (comparable(of_paper, unit.environment) && study.order_contexts == kPaperOrderContexts)
        row.published = published_order(regime, environment);
      summary.order.push_back(std::move(row));
    }
  }
  mark_best(study, summary.rows);
  return summary;
}

}  // namespace pandora
