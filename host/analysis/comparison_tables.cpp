#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/analysis/compare_text.hpp"

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
    table.columns = {"cell",         "n",          "regret of a",        "regret of b", "a - b",    "± (95%)",
                     "a better",     "efficiency", "cross-fitted a - b", "± (95%) ",    "p (Holm)", "optimism of a",
                     "optimism of b"};
    const bool prompts = has_prompts(pair);
    if (prompts) table.columns.insert(table.columns.begin() + 6, "± over prompts");
    int ahead = 0, behind = 0;
    bool partial = false, choose = false;
    for (const ComparedRow& row : pair.rows) {
      const double holm = adjusted[next++];
      const PairedDifference& d = row.paired;
      const Estimate fitted = fitted_difference(row);
      const double judged = std::isnan(fitted.mean) ? d.difference.mean : fitted.mean;
      const bool told = holm < 0.05;
      ahead += told && judged < 0.0 ? 1 : 0;
      behind += told && judged > 0.0 ? 1 : 0;
      partial = partial || d.n < static_cast<std::size_t>(row.replications);
      choose = choose || row.a.choices > 1 || row.b.choices > 1;
      table.rows.push_back(
          {{cell_text(row), exact_cell(fmt::format("{}", d.n), static_cast<double>(d.n)), number_cell(row.a.mean, 2),
            number_cell(row.b.mean, 2), number_cell(d.difference.mean, 3), number_cell(d.difference.half_width_95, 3),
            d.n > 0 ? fmt::format("{:.0f}%", 100.0 * d.share_below) : "---", number_cell(d.relative_efficiency, 1),
            number_cell(fitted.mean, 3, told), number_cell(fitted.half_width_95, 3),
            exact_cell(p_value_text(holm), holm, told), number_cell(row.a.fit.mean - row.a.mean, 3),
            number_cell(row.b.fit.mean - row.b.mean, 3)}});
      if (prompts) {
        std::vector<Cell>& cells = table.rows.back().cells;
        cells.insert(cells.begin() + 6, row.over_prompts ? number_cell(row.over_prompts->half_width_95, 3) : "---");
      }
    }
    table.notes = {
        fmt::format("a is better in {} and worse in {} of {} cells (bold: Holm-adjusted p < 0.05 over all rows asked "
                    "for{}).",
                    ahead, behind, pair.rows.size(), choose ? "; p is that of the cross-fitted difference" : ""),
        "efficiency: an unpaired comparison would need so many times the replications.",
        fmt::format(
            "cross-fitted: hyperparameters chosen on one half of the replications and judged on the other, over "
            "{} splits, jackknife interval; optimism: by how much the least mean regret of all, as the paper "
            "reports it, is below that.",
            kSplits)};
    if (prompts)
      table.notes.push_back(
          "± over prompts: what other prompts of the same kind would change; all else is over replications, which are "
          "orders of the same prompts, and says nothing about others.");
    if (partial)
      table.notes.push_back(
          "n is less than the study's replications where lanes failed or are not there yet; a "
          "hyperparameter that has fewer than others is left out.");
    tables.push_back(std::move(table));
  }
  return tables;
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
                   "optimism_b_x1000"};
  const bool prompts = std::any_of(pairs.begin(), pairs.end(), has_prompts);
  if (prompts) table.columns.push_back("half_width_95_over_prompts_x1000");
  std::size_t next = 0;
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) {
      const PairedDifference& d = row.paired;
      const Estimate fitted = fitted_difference(row);
      Row out{{pair.a, pair.b, row.setting, row.environment, row.regime, row.T0 ? fmt::format("{}", *row.T0) : "",
               fmt::format("{}", d.n)}};
      for (const double value : {row.a.mean, row.b.mean, d.difference.mean, d.difference.half_width_95, d.share_below,
                                 d.relative_efficiency, fitted.mean, fitted.half_width_95, adjusted[next],
                                 row.a.fit.mean - row.a.mean, row.b.fit.mean - row.b.mean})
        out.cells.push_back(number_cell(value, 6));
      if (prompts) out.cells.push_back(row.over_prompts ? number_cell(row.over_prompts->half_width_95, 6) : "");
      ++next;
      table.rows.push_back(std::move(out));
    }
  return table;
}

}  // namespace pandora
