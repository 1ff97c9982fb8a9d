// From the tallies of units to means with their intervals, with the paper's values beside them.
#include "host/studies/results/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "host/ground/base/printable.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "pandora/environment.hpp"
#include "published_data.hpp"

namespace pandora {
namespace {

constexpr double kRounding = 0.005;  // half a unit in the last printed place

PublishedValue value(const std::string& number, const std::string& half_width) {
  return {number_of(number).value(), number_of(half_width).value()};
}

Estimate scaled(Estimate e, double factor) {
  return {factor * e.mean, factor * e.half_width_95, factor * e.standard_error};
}

double per_period(double sum, const LaneTally& tally) {
  return sum / tally.periods;
}

// A period on a table of outcomes: the row that all models answer in, or a row for each opening of each of them.
struct PeriodRows {
  const PromptOutcomes& table;
  const Actions& actions;
  std::span<const std::uint32_t> rows;

  // The value of the answer that an arm shows; arms are models if they answer once.
  double of(const std::vector<float>& values, int arm) const {
    const std::size_t row = rows[rows.size() == 1 ? 0 : static_cast<std::size_t>(arm)];
    return static_cast<double>(values[row * table.models + static_cast<std::size_t>(actions.box_of(arm))]);
  }

  // The values of PromptStatistics, except the gap.
  std::array<double, 4> values(std::uint32_t outcome, double price) const {
    const int A = static_cast<int>(table.models), outside = actions.outside_arm(A),
              deployed = static_cast<int>(deployed_box(outcome));
    double dollars = 0.0, calls = 0.0;
    for (int arm = 0; arm < A * actions.openings; ++arm)
      if (holds(opened_bits(outcome), arm)) {
        dollars += of(table.dollars, arm);
        calls += 1.0;
      }
    const double quality = deployed == outside ? actions.outside : of(table.quality, deployed);
    return {quality - price * dollars, quality, 1000.0 * dollars, calls};
  }
};

// The sums behind PromptStatistics, in their order.
std::array<SumsByPrompt, 5> sums_by_prompt(std::span<const UnitResult> units, std::size_t lane, double price,
                                           const Actions& actions) {
  const auto of_table = std::ranges::find_if(units, [](const UnitResult& unit) { return unit.table != nullptr; });
  const std::size_t prompts = of_table == units.end() ? 0 : of_table->table->rows;
  std::array<SumsByPrompt, 5> out;
  out.fill({std::vector<double>(prompts), std::vector<double>(prompts)});
  for (const UnitResult& unit : units) {
    if (!counts(unit, lane) || unit.table == nullptr) continue;
    const std::vector<std::uint32_t>&own = unit.notes[lane].outcomes, &benchmark = unit.notes[0].outcomes;
    const PromptOutcomes& table = *unit.table;
    const std::size_t each = actions.openings > 1 ? table.models * static_cast<std::size_t>(actions.openings) : 1;
    if (own.size() * each != unit.prompts.size() || benchmark.size() != own.size()) continue;
    for (std::size_t t = 0; t < own.size(); ++t) {
      const PeriodRows period{table, actions, std::span(unit.prompts).subspan(t * each, each)};
      const std::size_t prompt = table.prompt[period.rows[0]];
      const auto [utility, quality, dollars, calls] = period.values(own[t], price);
      const double values[] = {utility, quality, dollars, calls, period.values(benchmark[t], price)[0] - utility};
      for (std::size_t k = 0; k < out.size(); ++k) {
        out[k].sums[prompt] += values[k];
        out[k].periods[prompt] += 1.0;
      }
    }
  }
  return out;
}

// For environments without prompts: the same means with intervals over replications. Dollars are computed from the
// price.
PromptStatistics statistics_over_replications(std::span<const UnitResult> units, std::size_t lane, double price) {
  const auto of = [&](auto member) {
    return over_replications(
        units, lane, [=](const LaneTally&, const LaneTally& own) { return per_period(std::invoke(member, own), own); });
  };
  return {of(&LaneTally::utility), of(&LaneTally::quality),
          scaled(of(&LaneTally::cost), price > 0.0 ? 1000.0 / price : kUnknown), of(&LaneTally::queries),
          over_replications(units, lane, [](const LaneTally& oracle, const LaneTally& own) {
            return per_period(oracle.utility, oracle) - per_period(own.utility, own);
          })};
}

std::vector<RowStatistic> make_row_statistics() {
  const auto own = [](double LaneTally::*sum) {
    return [sum](const LaneTally&, const LaneTally& t) { return per_period(t.*sum, t); };
  };
  const auto lost = [](double LaneTally::*sum) {
    return [sum](const LaneTally& oracle, const LaneTally& t) {
      return per_period(oracle.*sum, oracle) - per_period(t.*sum, t);
    };
  };
  std::vector<RowStatistic> out = {
      {"regret_x1000", "half_width_95_x1000", "regret", 1000.0, &SummaryRow::regret, lost(&LaneTally::utility)},
      {"realised_regret_x1000", "realised_half_width_95_x1000", nullptr, 1000.0, &SummaryRow::realised_regret,
       lost(&LaneTally::realised_utility)},
      {"quality_x1000", "quality_half_width_95_x1000", nullptr, 1000.0, &SummaryRow::quality, own(&LaneTally::quality)},
      {"realised_quality_x1000", "realised_quality_half_width_95_x1000", nullptr, 1000.0, &SummaryRow::realised_quality,
       own(&LaneTally::realised_quality)},
      {"cost_x1000", "cost_half_width_95_x1000", nullptr, 1000.0, &SummaryRow::cost, own(&LaneTally::cost)},
      {"queries_per_period", "queries_per_period_half_width_95", nullptr, 1.0, &SummaryRow::queries,
       [](const LaneTally&, const LaneTally& t) { return per_period(t.queries(), t); }}};
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

// Over the existing replications of one group of cells.
Estimate over_orders(std::span<const UnitResult> units, double OrderFrequencies::*member) {
  std::vector<double> values;
  for (const UnitResult& unit : units)
    if (unit.order.permutations > 0.0) values.push_back(unit.order.*member);
  return estimate(values);
}

// Whether both the lane and the oracle's were run.
bool is_there(const UnitResult& unit, std::size_t lane) {
  return lane < unit.lanes.size() && unit.lanes[0].ran() && unit.lanes[lane].ran();
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
        if (!is_there(u, lane)) continue;
        ++(counts(u, lane) ? row.replications : row.failed);
        if (counts(u, lane)) row.unsolved_refits += u.lanes[lane].unsolved_refits;
      }
      row.periods = study.periods;
      for (const RowStatistic& statistic : row_statistics())
        statistic.in(row) = scaled(over_replications(units, lane, statistic.of), statistic.factor);
      if (const TraceKeys* keys = trace_keys(unit.environment); keys != nullptr) {
        row.prompts = periods_are_prompts(unit.environment) ? prompt_statistics(units, lane, keys->price, study.actions)
                                                            : statistics_over_replications(units, lane, keys->price);
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
    // Means over different replications are not comparable. If lanes failed or are missing, those with the most
    // replications are compared.
    if (row.replications > found->replications ||
        (row.replications == found->replications && row.regret.mean < found->regret.mean))
      found = &row;
  }
  for (const auto& [key, row] : best) {
    row->best = true;
    const auto environment = std::ranges::find(study.environments, row->environment, &Environment::name);
    if (comparable(study, *environment))
      row->published = published_regret(row->regime, row->environment, row->T0, row->policy, row->reward);
    if (row->published && row->replications >= kLeastForComparison)
      row->inside_joint_95 = inside_joint_95(row->regret, *row->published);
  }
}

}  // namespace

std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) rows.push_back(split(line, ','));
  if (!rows.empty()) rows.erase(rows.begin());  // the names of the columns
  return rows;
}

std::optional<PublishedValue> published_regret(const std::string& regime, const std::string& environment, int T0,
                                               const std::string& policy, const std::string& reward) {
  static const auto rows = csv_rows(published::kRegret);
  if (policy == "static_plugin" && reward != "unknown") return std::nullopt;
  for (const auto& row : rows)  // regime,environment,policy,reward,T0,regret_x1000,half_width_95_x1000,bold
    if (row[0] == regime && row[1] == environment && row[2] == policy && (row[3] == reward || row[3] == "unstated") &&
        std::stoi(row[4]) == T0)
      return value(row[5], row[6]);
  return std::nullopt;
}

std::optional<PublishedOracle> published_oracle(const std::string& regime, const std::string& environment) {
  static const auto rows = csv_rows(published::kOracle);
  for (const auto& row : rows)  // regime,environment,u,oracle_utility_x1000,half_width_95_x1000,boxes_queried
    if (row[0] == regime && row[1] == environment)
      return PublishedOracle{number_of(row[2]).value(), value(row[3], row[4]), {number_of(row[5]).value(), kRounding}};
  return std::nullopt;
}

std::optional<PublishedOrder> published_order(const std::string& regime, const std::string& environment) {
  static const auto rows = csv_rows(published::kOrder);
  for (const auto& row : rows)  // environment,regime, then value and half-width of the three statistics
    if (row[0] == environment && row[1] == regime)
      return PublishedOrder{value(row[2], row[3]), value(row[4], row[5]), value(row[6], row[7])};
  return std::nullopt;
}

bool inside_joint_95(const Estimate& ours, const PublishedValue& published) {
  // If both sides are exact (one permutation in regime A), allow for the rounding of the printed number.
  const double joint = std::hypot(1.96 * ours.standard_error, published.half_width_95);
  return std::abs(ours.mean - published.value) <= std::max(joint, kRounding);
}

Estimate SumsByPrompt::estimate() const {
  double count = 0.0, sum = 0.0, squares = 0.0, prompts = 0.0;
  for (std::size_t p = 0; p < sums.size(); ++p) {
    count += periods[p];
    sum += sums[p];
    prompts += periods[p] > 0.0 ? 1.0 : 0.0;
  }
  if (count == 0.0) return {kUnknown};
  const double mean = sum / count;
  for (std::size_t p = 0; p < sums.size(); ++p) squares += std::pow(sums[p] - mean * periods[p], 2);
  return student_estimate(mean, std::sqrt(prompts / (prompts - 1.0) * squares) / count, prompts - 1.0);
}

SumsByPrompt utility_by_prompt(std::span<const UnitResult> units, std::size_t lane, double price,
                               const Actions& actions) {
  return sums_by_prompt(units, lane, price, actions)[0];
}

PromptStatistics prompt_statistics(std::span<const UnitResult> units, std::size_t lane, double price,
                                   const Actions& actions) {
  const auto sums = sums_by_prompt(units, lane, price, actions);
  return {sums[0].estimate(), sums[1].estimate(), sums[2].estimate(), sums[3].estimate(), sums[4].estimate()};
}

const std::vector<RowStatistic>& row_statistics() {
  static const std::vector<RowStatistic> all = make_row_statistics();
  return all;
}

bool counts(const UnitResult& unit, std::size_t lane) {
  return is_there(unit, lane) && unit.lanes[0].failure == Failure::none && unit.lanes[lane].failure == Failure::none;
}

bool outside(const Estimate& ours, const PublishedValue& published, int replications) {
  return replications >= kLeastForComparison && !std::isnan(ours.mean) && !inside_joint_95(ours, published);
}

bool comparable(const Study& study, const Environment& environment) {
  return study.dimensions == Dimensions{} && study.periods == kPaperPeriods &&
         std::ranges::count(paper_environments(), environment) > 0;
}

const SummaryRow* best_row(const Summary& summary, const std::string& policy, const std::string& reward, int T0,
                           const std::string& regime, const std::string& environment) {
  const auto row = std::ranges::find_if(summary.rows, [&](const SummaryRow& r) {
    return r.best && r.policy == policy && r.reward == reward && r.T0 == T0 && r.regime == regime &&
           r.environment == environment;
  });
  return row == summary.rows.end() ? nullptr : &*row;
}

std::string plus_minus(const Estimate& e, int decimals) {
  if (std::isnan(e.mean)) return "---";
  return e.half_width_95 > 0.0 ? fmt::format("{:.{}f}±{:.{}f}", e.mean, decimals, e.half_width_95, decimals)
                               : fmt::format("{:.{}f}", e.mean, decimals);
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
      const auto mean = [&units](auto&& sum) {
        return over_replications(units, 0, [&](const LaneTally& t, const LaneTally&) { return per_period(sum(t), t); });
      };
      const bool linear = unit.environment.indices == Indices::linear,
                 drawn = linear || static_cast<bool>(find_drawer(environment));
      OracleRow row{regime, environment, drawn ? std::nan("") : unit.environment.cost_level, {}, {}, {}, linear};
      row.utility_x1000 = scaled(mean([](const LaneTally& t) { return t.utility; }), 1000.0);
      row.boxes_queried = mean([](const LaneTally& t) { return t.queries(); });
      if (known) row.published = published_oracle(regime, environment);
      summary.oracle.push_back(std::move(row));
    }
    if (study.order) {
      OrderRow row{environment,
                   regime,
                   over_orders(units, &OrderFrequencies::permutations),
                   over_orders(units, &OrderFrequencies::max_mass),
                   over_orders(units, &OrderFrequencies::min_mass),
                   {}};
      // Table 3 does not depend on the horizon.
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
