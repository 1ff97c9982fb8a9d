#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "host/ground/base/printable.hpp"
#include "host/ground/statistics/resampling.hpp"
#include "host/report/cells.hpp"
#include "host/report/report.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/study/study.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

using Kind = Figure::Kind;

// Said where intervals of single policies stand beside each other.
constexpr const char* kPairedIsNarrower =
    "Each interval is of one policy alone; differences on the same draws are known better (section Comparisons).";

// One environment and regime of one setting.
struct CellView {
  const Study& study;
  const Summary& summary;
  const std::vector<UnitResult>& results;
  const std::vector<PolicyTitle>& titles;
  std::string regime, environment;
  int T0;

  const SummaryRow* best(const PolicyTitle& title, int at_T0) const {
    for (const SummaryRow& row : summary.rows)
      if (row.best && row.policy == title.policy && row.reward == title.reward && row.T0 == at_T0) return &row;
    return nullptr;
  }
  const SummaryRow* oracle() const {
    for (const SummaryRow& row : summary.rows)
      if (row.policy == "oracle") return &row;
    return nullptr;
  }
  // What a caption says of those that have no row at its T_0.
  std::string left_out(std::optional<bool> knows = {}) const {
    std::string out;
    for (const PolicyTitle& title : titles)
      if ((!knows || title.knows_reward == *knows) && best(title, T0) == nullptr)
        out += (out.empty() ? "" : "; ") + title.brief;
    return out.empty() ? "" : fmt::format(" Without those that do not run at this T₀: {}.", out);
  }
  std::string name(const std::string& what) const { return fmt::format("{}-{}-{}", what, environment, regime); }
};

// The cumulative regret of a lane at the checkpoints, a curve for each replication that counts.
std::vector<std::vector<double>> curves_of(const std::vector<UnitResult>& results, std::size_t lane,
                                           std::size_t checkpoints) {
  std::vector<std::vector<double>> out;
  for (const UnitResult& unit : results) {
    if (!counts(unit, lane)) continue;
    std::vector<double>& curve = out.emplace_back();
    for (std::size_t k = 0; k < checkpoints; ++k) curve.push_back(unit.lanes[0].curve[k] - unit.lanes[lane].curve[k]);
  }
  return out;
}

void add_curves(const CellView& cell, std::vector<Figure>& figures) {
  const std::vector<int> periods = checkpoints(cell.study.periods);
  const double from = cell.study.periods / 30.0;
  for (const bool knows : {true, false})
    for (const bool logarithmic : {false, true}) {
      const std::string of_slopes = fmt::format(
          "; slopes are fitted from period {:.0f} on, ± 95% by the jackknife over replications", std::ceil(from));
      Figure figure = empty_figure(
          Kind::lines, cell.name(fmt::format("{}-{}", logarithmic ? "curves-loglog" : "curves", kKinds[knows])),
          "period t", "cumulative regret",
          fmt::format(
              "Cumulative regret against the oracle of {}, T₀ = {}, with 95% intervals over replications{}. {}{}",
              kind_text(knows), cell.T0, logarithmic ? of_slopes : "", kPairedIsNarrower, cell.left_out(knows)));
      figure.log_x = figure.log_y = logarithmic;
      for (const PolicyTitle& title : cell.titles) {
        const SummaryRow* row = cell.best(title, cell.T0);
        if (title.knows_reward != knows || row == nullptr) continue;
        Series series = series_of(title);
        for (std::size_t k = 0; k < periods.size(); ++k)
          add_point(series, periods[k],
                    over_replications(cell.results, row->lane, [k](const LaneTally& best, const LaneTally& own) {
                      return best.curve[k] - own.curve[k];
                    }));
        if (logarithmic) {
          const Estimate slope = growth_exponent(series.x, curves_of(cell.results, row->lane, periods.size()), from);
          series.label = with_slope(series.label, slope.mean, slope.half_width_95);
        }
        figure.series.push_back(std::move(series));
      }
      add_if_any(figures, std::move(figure));
    }
}

void add_T0(const CellView& cell, std::vector<Figure>& figures) {
  if (cell.study.T0.size() < 2) return;
  std::vector<int> values = cell.study.T0;
  std::sort(values.begin(), values.end());
  for (const bool knows : {true, false}) {
    Figure figure = empty_figure(Kind::line_points, cell.name(fmt::format("t0-{}", kKinds[knows])),
                                 "calibration periods T₀", "time-averaged regret × 1000",
                                 fmt::format("Time-averaged regret against T₀ of {}, with 95% intervals. {}",
                                             kind_text(knows), kPairedIsNarrower));
    for (const PolicyTitle& title : cell.titles) {
      if (title.knows_reward != knows) continue;
      Series series = series_of(title);
      for (const int T0 : values)
        if (const SummaryRow* row = cell.best(title, T0); row != nullptr) add_point(series, T0, row->regret);
      figure.series.push_back(std::move(series));
    }
    choose_axes(figure);
    add_if_any(figures, std::move(figure));
  }
}

void add_hyperparameters(const CellView& cell, std::vector<Figure>& figures) {
  Figure figure = empty_figure(
      Kind::line_points, cell.name("hyperparameters"), "hyperparameter c", "time-averaged regret × 1000",
      fmt::format("Time-averaged regret against the width of the bonus at T₀ = {}, with 95% intervals; where a policy "
                  "has two, the other is the best one.",
                  cell.T0));
  for (const PolicyTitle& title : cell.titles) {
    Series series = series_of(title);
    std::map<double, const SummaryRow*> least;  // by the first hyperparameter
    for (const SummaryRow& row : cell.summary.rows) {
      if (row.policy != title.policy || row.reward != title.reward || row.T0 != cell.T0 || row.replications == 0)
        continue;
      const auto values = hyperparameter_values(row.hyperparameter);
      const std::optional<double> x = values.empty() ? std::nullopt : number_of(values[0].second);
      if (!x) continue;
      series.label = fmt::format("{} ({})", title.brief, values[0].first);
      const SummaryRow*& found = least.try_emplace(*x, &row).first->second;
      if (row.regret.mean < found->regret.mean) found = &row;
    }
    for (const auto& [x, row] : least) add_point(series, x, row->regret);
    if (least.size() > 1) figure.series.push_back(std::move(series));
  }
  choose_axes(figure);
  add_if_any(figures, std::move(figure));
}

void add_quality_and_cost(const CellView& cell, std::vector<Figure>& figures) {
  Figure figure = empty_figure(
      Kind::scatter, cell.name("quality-cost"), "cost × 1000, per period", "quality × 1000, per period",
      fmt::format("Quality, the mean μ* of the deployed outputs, against cost at T₀ = {}, with 95% intervals; utility "
                  "is quality minus cost.{}",
                  cell.T0, cell.left_out()));
  const auto add = [&](Series series, const SummaryRow* row) {
    if (row == nullptr || figure.series.size() == kMostMarkers) return;
    add_point(series, row->cost.mean, row->quality);
    const double half = std::isnan(row->cost.half_width_95) ? 0.0 : row->cost.half_width_95;
    series.x_low = {row->cost.mean - half};
    series.x_high = {row->cost.mean + half};
    figure.series.push_back(std::move(series));
  };
  for (const PolicyTitle& title : cell.titles) add(series_of(title), cell.best(title, cell.T0));
  add(Series{.label = "Oracle", .policy = "oracle", .reward = "known"}, cell.oracle());
  add_if_any(figures, std::move(figure));
}

// A bar per policy, with parts per box or per number of boxes.
void add_bars(const CellView& cell, std::vector<Figure>& figures) {
  const int A = cell.study.dimensions.boxes;
  if (A > static_cast<int>(kMostParts)) return;
  struct Bars {
    const char *name, *y_label, *caption, *part;
    bool stacked;
    std::function<double(const LaneTally&, int)> of;
  };
  const Bars all[] = {
      {"queries", "queries per period", "Queries of each box per period", "box {}", false,
       [](const LaneTally& t, int k) { return t.queries_of_box[k] / t.periods; }},
      {"deployments", "share of periods", "Deployments of each box, as a share of the periods", "box {}", true,
       [](const LaneTally& t, int k) { return t.deployments_of_box[k] / t.periods; }},
      {"depth", "share of periods", "Share of periods in which so many boxes were opened", "{} opened", true,
       [](const LaneTally& t, int k) { return t.depth[k + 1] / t.periods; }},
  };
  std::vector<std::pair<std::string, const SummaryRow*>> rows = {{"Oracle", cell.oracle()}};
  for (const PolicyTitle& title : cell.titles) rows.emplace_back(title.brief, cell.best(title, cell.T0));
  std::erase_if(rows, [](const auto& row) { return row.second == nullptr; });
  for (const Bars& bars : all) {
    Figure figure = empty_figure(Kind::bars, cell.name(bars.name), "policy", bars.y_label,
                                 fmt::format("{}, T₀ = {}.{}", bars.caption, cell.T0, cell.left_out()));
    figure.stacked = bars.stacked;
    for (const auto& [label, row] : rows) figure.categories.push_back(label);
    for (int k = 0; k < A; ++k) {
      Series series{fmt::format(fmt::runtime(bars.part), k + 1)};
      for (const auto& [label, row] : rows)
        series.y.push_back(over_replications(cell.results, row->lane, [&](const LaneTally&, const LaneTally& own) {
                             return bars.of(own, k);
                           }).mean);
      figure.series.push_back(std::move(series));
    }
    add_if_any(figures, std::move(figure));
  }
}

// What tables and summary.csv say of a row beside its regret, as the parts of the regret: a group of bars per policy.
void add_statistics(const CellView& cell, std::vector<Figure>& figures) {
  Figure figure = empty_figure(
      Kind::bars, cell.name("regret-parts"), "policy", "part of the regret × 1000",
      fmt::format("What the regret is made of, T₀ = {}: a wrong order of boxes, querying stopped too early, too many "
                  "boxes opened, a wrong output deployed.{}",
                  cell.T0, cell.left_out()));
  std::vector<const SummaryRow*> rows;
  for (const PolicyTitle& title : cell.titles)
    if (const SummaryRow* row = cell.best(title, cell.T0); row != nullptr && row->replications > 0) {
      rows.push_back(row);
      figure.categories.push_back(title.brief);
    }
  for (const RowStatistic& statistic : row_statistics()) {
    if (statistic.title == nullptr || &statistic == &row_statistics()[0]) continue;
    Series series{statistic.title};
    for (const SummaryRow* row : rows) series.y.push_back(statistic.of_row(*row).mean);
    figure.series.push_back(std::move(series));
  }
  add_if_any(figures, std::move(figure));
}

FigureGroup published_figures(const Summary& summary, const std::vector<PolicyTitle>& titles) {
  FigureGroup group{"Published against reproduced", {}};
  for (const char* regime : {"A", "B"}) {
    Figure values = empty_figure(
        Kind::scatter, fmt::format("published-{}", regime), "published regret × 1000", "reproduced regret × 1000",
        fmt::format(
            "Regime {}: all cells of the paper's table, with 95% intervals of ours and ± 1.96 standard errors of the paper's.",
            regime));
    Figure scores = empty_figure(
        Kind::scatter, fmt::format("z-scores-{}", regime), values.x_label, "z (standard errors)",
        fmt::format("Regime {}: difference of reproduced and published regret in joint standard errors.", regime));
    values.log_x = values.log_y = values.diagonal = scores.log_x = true;
    scores.references = {{1.96, false, "±1.96"}, {-1.96, false, ""}};
    for (const PolicyTitle& title : titles) {
      Series value = series_of(title), score = series_of(title);
      for (const SummaryRow& row : summary.rows) {
        if (!row.published || row.regime != regime || row.policy != title.policy || row.reward != title.reward)
          continue;
        const PublishedValue& p = *row.published;
        add_point(value, p.value, row.regret);
        value.x_low.push_back(p.value - p.half_width_95);
        value.x_high.push_back(p.value + p.half_width_95);
        const double error = std::hypot(row.regret.standard_error, p.standard_error());
        score.x.push_back(p.value);
        score.y.push_back((row.regret.mean - p.value) / error);
      }
      values.series.push_back(std::move(value));
      scores.series.push_back(std::move(score));
    }
    add_if_any(group.figures, std::move(values));
    add_if_any(group.figures, std::move(scores));
  }
  return group;
}

}  // namespace

int usual_T0(const Study& study, const Plan& plan) {
  const auto all_run = [&plan](int T0) {
    std::set<std::string> with, without;
    for (const PlannedLane& lane : plan.lanes)
      (!lane.policy->uses_calibration || lane.T0 == T0 ? with : without).insert(lane.policy->name);
    return std::includes(with.begin(), with.end(), without.begin(), without.end());
  };
  std::vector<int> values = study.T0;
  std::sort(values.begin(), values.end());
  if (std::any_of(values.begin(), values.end(), all_run)) std::erase_if(values, [&](int T0) { return !all_run(T0); });
  int found = values[0];
  for (const int T0 : values)
    if (T0 <= study.periods / 100) found = T0;
  return found;
}

std::vector<FigureGroup> study_figures(StoredResults& results, std::optional<int> T0,
                                       const std::vector<std::string>& policies) {
  const Study& study = results.settings()[0].setting.study;
  if (T0) require_T0({*T0}, study);
  const int shown = T0.value_or(usual_T0(study, results.settings()[0].plan));
  if (!results.settings()[0].setting.varied.empty()) return varied_figures(results.summaries(), shown, policies);
  std::vector<FigureGroup> groups;
  Summary all;
  results.for_each_group([&](std::size_t setting, const Plan& plan, const std::vector<UnitResult>& units) {
    const Study& own = results.settings()[setting].setting.study;
    if (!own.regret) return;
    Summary summary = summarise(own, plan, units);
    const std::vector<PolicyTitle> titles = titles_shown(summary, policies);
    const CellView cell{own,  summary, units, titles, regime_name(plan.units[0].regime), plan.units[0].environment.name,
                        shown};
    FigureGroup group{fmt::format("{}, regime {}", environment_title(cell.environment), cell.regime), {}};
    add_curves(cell, group.figures);
    add_T0(cell, group.figures);
    add_hyperparameters(cell, group.figures);
    add_quality_and_cost(cell, group.figures);
    add_statistics(cell, group.figures);
    add_bars(cell, group.figures);
    for (Figure& figure : group.figures) figure.caption += study_sizes(own);
    groups.push_back(std::move(group));
    append(std::move(summary), all);
  });
  if (FigureGroup published = published_figures(all, titles_shown(all, policies)); !published.figures.empty()) {
    for (Figure& figure : published.figures) figure.caption += study_sizes(study);
    groups.insert(groups.begin(), std::move(published));
  }
  return groups;
}

}  // namespace pandora
