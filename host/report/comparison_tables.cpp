// The results of comparisons, as tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "host/ground/statistics/statistics.hpp"
#include "host/ground/tables/table.hpp"
#include "host/report/cells.hpp"

namespace pandora {
namespace {

// The p value for no difference between the policies. If hyperparameters are chosen, it is that of the cross-fitted
// difference, because the least of several means is too small by chance.
double p_value(const ComparedRow& row) {
  if (!row.chooses()) return row.paired.p;
  const Estimate fitted = fitted_difference(row);
  if (fitted.standard_error == 0.0) return fitted.mean == 0.0 ? 1.0 : 0.0;
  return student_t_p_value(fitted.mean / fitted.standard_error, static_cast<double>(row.paired.n) - 1.0);
}

// Adjusted by Holm's method over all rows.
std::vector<double> p_values(const std::vector<ComparedPair>& pairs) {
  std::vector<double> p;
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) p.push_back(p_value(row));
  return holm_adjusted(p);
}

bool has_prompts(const ComparedPair& pair) {
  return std::ranges::any_of(pair.rows, [](const ComparedRow& row) { return row.over_prompts.has_value(); });
}

// Below the table; `p` are those of its rows.
std::vector<std::string> notes_of(const ComparedPair& pair, std::span<const double> p) {
  int ahead = 0, behind = 0;  // cells in which a is better, worse
  for (std::size_t k = 0; k < p.size(); ++k) {
    const double fitted = fitted_difference(pair.rows[k]).mean;
    const double judged = std::isnan(fitted) ? pair.rows[k].paired.difference.mean : fitted;
    ahead += p[k] < 0.05 && judged < 0.0 ? 1 : 0;
    behind += p[k] < 0.05 && judged > 0.0 ? 1 : 0;
  }
  const auto disagree = std::ranges::count_if(  // bootstrap and t
      pair.rows, [](const ComparedRow& row) { return differ(row.paired.difference, row.bootstrap); });
  std::vector<std::string> out = {
      fmt::format(
          "a is better in {} and worse in {} of {} cells (bold: Holm-adjusted p < 0.05 over all rows asked "
          "for{}). Ask for rows before you have seen them: p values of rows that were picked by their look "
          "are too small.",
          ahead, behind, p.size(),
          std::ranges::any_of(pair.rows, &ComparedRow::chooses) ? "; p is that of the cross-fitted difference" : ""),
      fmt::format("± (95%): Student's t; bootstrap 95%: studentised, {} samples. {}", kResamples,
                  disagree == 0 ? "They agree."
                                : fmt::format("They differ in {} cells (*), about 0 or by more than a fifth of the "
                                              "half-width: believe the bootstrap, or run more replications.",
                                              disagree)),
      "efficiency: an unpaired comparison would need so many times the replications.",
      fmt::format(
          "cross-fitted: hyperparameters chosen on one half of the replications and judged on the other, over {} "
          "splits, jackknife interval; optimism: the cross-fitted regret less the least mean regret of all, as the "
          "paper reports it: how much that flatters, and what is lost because a half chooses worse than all; a / b: "
          "of the cross-fitted regrets, jackknife interval.",
          kSplits)};
  if (has_prompts(pair))
    out.push_back(
        "± over prompts: what other prompts of the same kind would change; all else is over replications, which are "
        "orders of the same prompts, and says nothing about others.");
  if (std::ranges::any_of(pair.rows, &ComparedRow::partial)) out.push_back(kFewerReplications);
  return out;
}

std::string ratio_text(const RatioOfMeans& ratio) {
  if (!std::isfinite(ratio.ratio)) return "---";
  return fmt::format("{:.3f}{}", ratio.ratio,
                     ratio.interval.known() ? fmt::format(" ({})", interval_text(ratio.interval, 3)) : "");
}

Fields fields_of(const ComparedPair& pair, const ComparedRow& row, double holm, bool prompts) {
  const PairedDifference& d = row.paired;
  const Estimate fitted = fitted_difference(row);
  const RatioOfMeans ratio = ratio_of_means(row.a.fit, row.b.fit);
  const double over_prompts = row.over_prompts ? row.over_prompts->half_width_95 : std::nan("");
  const bool told = holm < 0.05;
  Fields out = cell_fields(pair, row, "a", "b");
  append(out, {number_field("regret_a_x1000", row.a.mean, "regret of a", 2),
               number_field("regret_b_x1000", row.b.mean, "regret of b", 2),
               number_field("difference_x1000", d.difference.mean, "a - b", 3),
               number_field("half_width_95_x1000", d.difference.half_width_95, "± (95%)", 3)});
  if (prompts) out.push_back(Field::shown_only("± over prompts", number_text(over_prompts, 3)));
  append(out, {Field::shown_only("bootstrap 95%",
                                 interval_text(row.bootstrap, 3) + (differ(d.difference, row.bootstrap) ? "*" : "")),
               Field("share_a_better", d.share_below, kDigits)
                   .shown("a better", d.n > 0 ? fmt::format("{:.0f}%", 100.0 * d.share_below) : "---"),
               number_field("relative_efficiency", d.relative_efficiency, "efficiency", 1),
               number_field("cross_fitted_difference_x1000", fitted.mean, "cross-fitted a - b", 3, told),
               number_field("cross_fitted_half_width_95_x1000", fitted.half_width_95, "± (95%) ", 3),
               Field("p_holm", holm, kDigits).shown("p (Holm)", Cell(p_value_text(holm), told)),
               number_field("optimism_a_x1000", row.a.fit.mean - row.a.mean, "optimism of a", 3),
               number_field("optimism_b_x1000", row.b.fit.mean - row.b.mean, "optimism of b", 3),
               {"bootstrap_low_95_x1000", row.bootstrap.low, kDigits},
               {"bootstrap_high_95_x1000", row.bootstrap.high, kDigits},
               Field("ratio", ratio.ratio, kDigits).shown("a / b (95%)", ratio_text(ratio)),
               {"ratio_low_95", ratio.interval.low, kDigits},
               {"ratio_high_95", ratio.interval.high, kDigits}});
  if (prompts) out.emplace_back("half_width_95_over_prompts_x1000", over_prompts, kDigits);
  return out;
}

}  // namespace

Estimate fitted_difference(const ComparedRow& row) {
  return jackknife_estimate(difference(row.a.fit, row.b.fit));
}

std::string cell_text(const ComparedRow& row) {
  return fmt::format("{}{}{}, {}, {}", row.setting, row.setting.empty() ? "" : ", ", row.environment, row.regime,
                     row.T0 ? fmt::format("T0={}", *row.T0) : "any T0");
}

Fields cell_fields(const ComparedPair& pair, const ComparedRow& row, const char* a, const char* b) {
  return {Field::shown_only("cell", cell_text(row)),
          {a, pair.a},
          {b, pair.b},
          {"setting", row.setting},
          {"environment", row.environment},
          {"regime", row.regime},
          {"T0", row.T0 ? *row.T0 : std::nan(""), "{}"},
          Field("replications", row.paired.n).shown("n", fmt::format("{}", row.paired.n))};
}

Field number_field(const char* column, double value, const char* title, int decimals, bool bold) {
  return Field(column, value, kDigits).shown(title, decimals, bold);
}

std::vector<Table> comparison_tables(const std::vector<ComparedPair>& pairs) {
  const std::vector<double> p = p_values(pairs);
  std::vector<Table> tables;
  std::span<const double> left = p;
  for (const ComparedPair& pair : pairs) {
    const std::span<const double> own = left.first(pair.rows.size());
    left = left.subspan(own.size());
    Columns columns;
    for (std::size_t k = 0; k < own.size(); ++k) columns.add(fields_of(pair, pair.rows[k], own[k], has_prompts(pair)));
    Table& table = tables.emplace_back(columns.table());
    table.label = "compare";
    table.title =
        fmt::format("{} (a) against {} (b): time-averaged regret x 1000, paired over replications", pair.a, pair.b);
    table.notes = notes_of(pair, own);
  }
  return tables;
}

Columns comparison_columns(const std::vector<ComparedPair>& pairs) {
  const bool prompts = std::ranges::any_of(pairs, has_prompts);
  const std::vector<double> p = p_values(pairs);
  Columns out;
  auto next = p.begin();
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) out.add(fields_of(pair, row, *next++, prompts));
  return out;
}

}  // namespace pandora
