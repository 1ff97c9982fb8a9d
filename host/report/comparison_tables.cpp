#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/ground/statistics/student_t.hpp"
#include "host/report/compare_text.hpp"

namespace pandora {
namespace {

Estimate fitted_difference(const ComparedRow& row) {
  return jackknife_estimate(difference(row.a.fit, row.b.fit));
}

// Of no difference between what the policies promise: with hyperparameters to choose from, that of the cross-fitted
// difference, for the least mean of several is too small by chance.
double p_value(const ComparedRow& row) {
  if (row.a.choices <= 1 && row.b.choices <= 1) return row.paired.p;
  const Estimate fitted = fitted_difference(row);
  if (std::isnan(fitted.half_width_95)) return fitted.half_width_95;
  const double degrees = static_cast<double>(row.paired.n) - 1.0;
  if (fitted.half_width_95 == 0.0) return fitted.mean == 0.0 ? 1.0 : 0.0;
  return student_t_p_value(fitted.mean * student_t_quantile(0.975, degrees) / fitted.half_width_95, degrees);
}

std::vector<double> adjusted_p_values(const std::vector<ComparedPair>& pairs) {
  std::vector<double> p;
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) p.push_back(p_value(row));
  return holm_adjusted(p);
}

std::string cell_text(const ComparedRow& row) {
  return fmt::format("{}{}{}, {}, {}", row.setting, row.setting.empty() ? "" : ", ", row.environment, row.regime,
                     row.T0 ? fmt::format("T0={}", *row.T0) : "any T0");
}

Cell number_cell(double value, int decimals, bool bold = false) {
  return exact_cell(number_text(value, decimals), value, bold);
}

constexpr std::size_t kAfterInterval = 6;  // columns up to the t interval

// What a row tells beside its numbers, for the notes below the table.
struct Told {
  int ahead = 0, behind = 0;  // cells in which a is better, worse
  int differ = 0;             // in which bootstrap and t tell different things
  bool partial = false, choose = false;

  void count(const ComparedRow& row, bool told, double judged) {
    ahead += told && judged < 0.0 ? 1 : 0;
    behind += told && judged > 0.0 ? 1 : 0;
    differ += pandora::differ(row.paired.difference, row.bootstrap) ? 1 : 0;
    partial = partial || row.paired.n < static_cast<std::size_t>(row.replications);
    choose = choose || row.a.choices > 1 || row.b.choices > 1;
  }

  std::vector<std::string> notes(std::size_t cells, bool prompts) const {
    std::vector<std::string> out = {
        fmt::format("a is better in {} and worse in {} of {} cells (bold: Holm-adjusted p < 0.05 over all rows asked "
                    "for{}). Ask for rows before you have seen them: p values of rows that were picked by their look "
                    "are too small.",
                    ahead, behind, cells, choose ? "; p is that of the cross-fitted difference" : ""),
        fmt::format("± (95%): Student's t; bootstrap 95%: studentised, {} samples. {}", kResamples,
                    differ == 0 ? "They agree."
                                : fmt::format("They differ in {} cells (*), about 0 or by more than a fifth of the "
                                              "half-width: believe the bootstrap, or run more replications.",
                                              differ)),
        "efficiency: an unpaired comparison would need so many times the replications.",
        fmt::format(
            "cross-fitted: hyperparameters chosen on one half of the replications and judged on the other, over "
            "{} splits, jackknife interval; optimism: the cross-fitted regret less the least mean regret of all, as "
            "the "
            "paper reports it: how much that flatters, and what is lost because a half chooses worse than all; a / b: "
            "of the cross-fitted regrets, jackknife interval.",
            kSplits)};
    if (prompts)
      out.push_back(
          "± over prompts: what other prompts of the same kind would change; all else is over replications, which are "
          "orders of the same prompts, and says nothing about others.");
    if (partial)
      out.push_back(
          "n is less than the study's replications where lanes failed or are not there yet; a "
          "hyperparameter that has fewer than others is left out.");
    return out;
  }
};

std::string ratio_text(const RatioOfMeans& ratio) {
  if (!std::isfinite(ratio.ratio)) return "---";
  return fmt::format("{:.3f}{}", ratio.ratio,
                     ratio.interval.known() ? fmt::format(" ({})", interval_text(ratio.interval, 3)) : "");
}

bool has_prompts(const ComparedPair& pair) {
  return std::any_of(pair.rows.begin(), pair.rows.end(),
                     [](const ComparedRow& row) { return row.over_prompts.has_value(); });
}

}  // namespace

std::vector<Table> comparison_tables(const std::vector<ComparedPair>& pairs) {
  const std::vector<double> adjusted = adjusted_p_values(pairs);
  std::vector<Table> tables;
  std::size_t next = 0;
  for (const ComparedPair& pair : pairs) {
    Table table;
    table.label = "compare";
    table.title =
        fmt::format("{} (a) against {} (b): time-averaged regret x 1000, paired over replications", pair.a, pair.b);
    table.columns = {
        "cell",       "n",          "regret of a",        "regret of b", "a - b",    "± (95%)",       "bootstrap 95%",
        "a better",   "efficiency", "cross-fitted a - b", "± (95%) ",    "p (Holm)", "optimism of a", "optimism of b",
        "a / b (95%)"};
    const bool prompts = has_prompts(pair);
    if (prompts) table.columns.insert(table.columns.begin() + kAfterInterval, "± over prompts");
    Told told;
    for (const ComparedRow& row : pair.rows) {
      const double holm = adjusted[next++];
      const PairedDifference& d = row.paired;
      const Estimate fitted = fitted_difference(row);
      told.count(row, holm < 0.05, std::isnan(fitted.mean) ? d.difference.mean : fitted.mean);
      table.rows.push_back(
          {{cell_text(row), exact_cell(fmt::format("{}", d.n), static_cast<double>(d.n)), number_cell(row.a.mean, 2),
            number_cell(row.b.mean, 2), number_cell(d.difference.mean, 3), number_cell(d.difference.half_width_95, 3),
            interval_text(row.bootstrap, 3) + (differ(d.difference, row.bootstrap) ? "*" : ""),
            d.n > 0 ? fmt::format("{:.0f}%", 100.0 * d.share_below) : "---", number_cell(d.relative_efficiency, 1),
            number_cell(fitted.mean, 3, holm < 0.05), number_cell(fitted.half_width_95, 3),
            exact_cell(p_value_text(holm), holm, holm < 0.05), number_cell(row.a.fit.mean - row.a.mean, 3),
            number_cell(row.b.fit.mean - row.b.mean, 3), ratio_text(ratio_of_means(row.a.fit, row.b.fit))}});
      if (prompts) {
        std::vector<Cell>& cells = table.rows.back().cells;
        cells.insert(cells.begin() + kAfterInterval,
                     row.over_prompts ? number_cell(row.over_prompts->half_width_95, 3) : "---");
      }
    }
    table.notes = told.notes(pair.rows.size(), prompts);
    tables.push_back(std::move(table));
  }
  return tables;
}

Table rivals_table(const std::vector<ComparedPair>& pairs) {
  const std::vector<double> adjusted = adjusted_p_values(pairs);
  Table table;
  table.label = "rivals";
  table.title = "Each policy less the base: time-averaged regret x 1000, paired over replications";
  table.heading_column = "cell";
  table.columns = {"policy", "base", "n", "regret", "less the base", "± (95%)", "p (Holm)", "cross-fitted", "± (95%) "};
  table.row_headers = 2;
  std::vector<std::pair<std::string, std::vector<Row>>> cells;  // in the order of the first pair
  std::size_t next = 0;
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) {
      const double holm = adjusted[next++];
      const Estimate fitted = fitted_difference(row);
      const std::string cell = cell_text(row);
      auto at = std::find_if(cells.begin(), cells.end(), [&](const auto& one) { return one.first == cell; });
      if (at == cells.end()) at = cells.insert(cells.end(), {cell, {}});
      at->second.push_back(
          {{pair.b, pair.a, exact_cell(fmt::format("{}", row.paired.n), static_cast<double>(row.paired.n)),
            number_cell(row.b.mean, 2), number_cell(-row.paired.difference.mean, 2, holm < 0.05),
            number_cell(row.paired.difference.half_width_95, 2), exact_cell(p_value_text(holm), holm, holm < 0.05),
            number_cell(-fitted.mean, 2), number_cell(fitted.half_width_95, 2)}});
    }
  for (auto& [cell, rows] : cells) {
    table.rows.push_back({{}, cell});
    table.rows.insert(table.rows.end(), rows.begin(), rows.end());
  }
  table.notes = {
      "Below 0 is better than the base; bold: Holm-adjusted p < 0.05 over all rows. n: replications that both have; "
      "± by Student's t; cross-fitted: hyperparameters chosen on one half of the replications and judged on the other, "
      "of which p speaks. `pandora compare` tells more."};
  return table;
}

Table comparison_csv(const std::vector<ComparedPair>& pairs) {
  const std::vector<double> adjusted = adjusted_p_values(pairs);
  Table table;
  table.columns = {"a",
                   "b",
                   "setting",
                   "environment",
                   "regime",
                   "T0",
                   "replications",
                   "regret_a_x1000",
                   "regret_b_x1000",
                   "difference_x1000",
                   "half_width_95_x1000",
                   "share_a_better",
                   "relative_efficiency",
                   "cross_fitted_difference_x1000",
                   "cross_fitted_half_width_95_x1000",
                   "p_holm",
                   "optimism_a_x1000",
                   "optimism_b_x1000",
                   "bootstrap_low_95_x1000",
                   "bootstrap_high_95_x1000",
                   "ratio",
                   "ratio_low_95",
                   "ratio_high_95"};
  const bool prompts = std::any_of(pairs.begin(), pairs.end(), has_prompts);
  if (prompts) table.columns.push_back("half_width_95_over_prompts_x1000");
  std::size_t next = 0;
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) {
      const PairedDifference& d = row.paired;
      const Estimate fitted = fitted_difference(row);
      const RatioOfMeans ratio = ratio_of_means(row.a.fit, row.b.fit);
      Row out{{pair.a, pair.b, row.setting, row.environment, row.regime, row.T0 ? fmt::format("{}", *row.T0) : "",
               fmt::format("{}", d.n)}};
      for (const double value :
           {row.a.mean, row.b.mean, d.difference.mean, d.difference.half_width_95, d.share_below, d.relative_efficiency,
            fitted.mean, fitted.half_width_95, adjusted[next], row.a.fit.mean - row.a.mean, row.b.fit.mean - row.b.mean,
            row.bootstrap.low, row.bootstrap.high, ratio.ratio, ratio.interval.low, ratio.interval.high})
        out.cells.push_back(number_cell(value, 6));
      if (prompts) out.cells.push_back(row.over_prompts ? number_cell(row.over_prompts->half_width_95, 6) : "");
      ++next;
      table.rows.push_back(std::move(out));
    }
  return table;
}

}  // namespace pandora
