// A verdict as tables for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/report/compare_text.hpp"
#include "host/report/verdict.hpp"

namespace pandora {
namespace {

constexpr const char* kOpen = "open";

std::string title_of(const Verdict& verdict, const std::string& text) {
  return (verdict.setting.empty() ? "" : verdict.setting + ": ") + text;
}

Cell estimate_cell(const Estimate& e, int decimals = 2) {
  return exact_cell(plus_minus(e, decimals), e.mean);
}

Cell z_cell(const Judgement& judgement) {
  return exact_cell(number_text(judgement.z, 2), judgement.z, !std::isnan(judgement.z) && !judgement.inside);
}

// What intervals of few replications are not.
void add_warning(Table& table, const Verdict& verdict) {
  constexpr std::size_t kFewReplications = 20;
  if (verdict.least < kFewReplications)
    table.notes.push_back(fmt::format(
        "z takes the intervals at their word: of {} replications they are too narrow, and |z| is too large.",
        verdict.least));
}

std::string count_text(std::size_t inside, std::size_t of) {
  return fmt::format("{} of {}", inside, of);
}

Table numbers_table(const Verdict& verdict) {
  Table table;
  table.label = "numbers";
  table.title = title_of(
      verdict, fmt::format("Published numbers: ours of {} replications, the paper's, ± 1.96 standard errors, and the "
                           "difference in standard errors of both",
                           verdict.least));
  table.columns = {"number", "ours", "published", "z", "adjusted", "published ", "z adjusted"};
  std::string panel;
  for (const JudgedNumber& number : verdict.numbers) {
    if (const std::string own = number.regime + " " + number.environment; own != panel) {
      panel = own;
      table.rows.push_back({{}, "regime " + panel});
    }
    const bool masses = number.kind == NumberKind::greatest_mass || number.kind == NumberKind::least_mass;
    const int decimals = masses || number.kind == NumberKind::boxes ? 3 : 2;
    const auto published = [&](double half_width) {
      return estimate_cell({number.published.value, std::isnan(half_width) ? 0.0 : half_width});
    };
    table.rows.push_back(
        {{number.name(), estimate_cell(number.plain.ours, decimals), published(number.plain.published_half_width_95),
          z_cell(number.plain), estimate_cell(number.adjusted.ours, decimals),
          published(number.adjusted.published_half_width_95), z_cell(number.adjusted)}});
  }
  table.notes = {
      "Regrets and utilities x 1000. Bold: outside the joint 95% interval. Regrets are those of the hyperparameter "
      "with "
      "the least mean, on either side.",
      fmt::format("adjusted: what our replications predict for 50 whose oracle has the published utility and boxes{}; "
                  "the published half-width is then what these leave open. From {} replications on.",
                  verdict.costs ? ", corrected for the costs that we happened to draw" : "", kLeastForAdjustment),
      "boxes: the paper gives no half-width; what our scatter gives in 50 replications stands in."};
  if (verdict.least < static_cast<std::size_t>(kLeastForComparison))
    table.notes.push_back(fmt::format("z is told from {} replications on.", kLeastForComparison));
  else
    add_warning(table, verdict);
  return table;
}

Table rows_table(const Verdict& verdict) {
  Table table;
  table.label = "rows";
  table.title = title_of(verdict, "Ours / published, mean over the cells of a row, ± 1.96 standard errors of both");
  table.columns = {"row", "inside", "ratio", "rms of z", "inside, adjusted", "ratio, adjusted", "rms of z, adjusted"};
  for (const RowVerdict& row : verdict.rows)
    table.rows.push_back(
        {{row.row.name(), count_text(row.inside, row.cells), estimate_cell(row.ratio, 3),
          exact_cell(number_text(row.rms_z, 2), row.rms_z),
          std::isnan(row.adjusted_rms_z) ? Cell("---") : count_text(row.adjusted_inside, row.cells),
          estimate_cell(row.adjusted_ratio, 3), exact_cell(number_text(row.adjusted_rms_z, 2), row.adjusted_rms_z)}});
  table.notes = {
      "The four T_0 of a panel share instances: the errors of its published numbers are taken to be correlated over "
      "T_0 as ours are, which the paper's one oracle utility per panel suggests; panels are independent."};
  return table;
}

Table counts_table(const Verdict& verdict) {
  Table table;
  table.label = "counts";
  table.title = title_of(verdict,
                         "Numbers inside the joint 95% interval, and how many would be if 50 of our own "
                         "replications had been published");
  table.columns = {"numbers", "of",       "inside, paper", "own sets",     "mean",
                   "least",   "greatest", "at or below",   "rms z, paper", "rms z, own sets"};
  for (const CountVerdict& count : verdict.counts) {
    const std::size_t sets = count.sets.size();
    double mean = 0.0, rms = 0.0;
    for (std::size_t s = 0; s < sets; ++s) {
      mean += count.sets[s] / static_cast<double>(sets);
      rms += count.sets_rms_z[s] / static_cast<double>(sets);
    }
    const auto of_sets = [sets](double value, int decimals) {
      return sets == 0 ? Cell("---") : exact_cell(number_text(value, decimals), value);
    };
    const int least = sets == 0 ? 0 : *std::min_element(count.sets.begin(), count.sets.end()),
              greatest = sets == 0 ? 0 : *std::max_element(count.sets.begin(), count.sets.end());
    const auto below =
        std::count_if(count.sets.begin(), count.sets.end(), [&](int inside) { return inside <= count.published; });
    table.rows.push_back(
        {{count.what + (count.adjusted ? ", adjusted" : ""), fmt::format("{}", count.of),
          std::isnan(count.rms_z) ? Cell("---") : Cell(fmt::format("{:.4g}", count.published)), fmt::format("{}", sets),
          of_sets(mean, 1), of_sets(least, 0), of_sets(greatest, 0), of_sets(static_cast<double>(below), 0),
          exact_cell(number_text(count.rms_z, 2), count.rms_z), of_sets(rms, 2)}});
  }
  table.notes = {
      "own sets: disjoint sets of 50 of our replications, each in the place of the published numbers (its best "
      "hyperparameters chosen on it, printed to two decimals) against our other replications.",
      "50 of ours: the paper's count is the mean over our sets, each as if it were all that we had; own sets are "
      "judged against one other."};
  if (!verdict.counts.empty() && verdict.counts[0].sets.empty())
    table.notes.push_back("Sets take 100 replications at least.");
  return table;
}

std::string holds_text(Holds holds) {
  return holds == Holds::yes ? "holds" : holds == Holds::no ? "fails" : kOpen;
}

Table findings_table(const Verdict& verdict) {
  Table table;
  table.label = "findings";
  table.title = title_of(verdict,
                         "The findings of Section 6.2: in how many cells the 95% interval says that they hold, "
                         "leaves it open, or says that they fail");
  table.columns = {"finding", "cells", "holds", kOpen, "fails", "by means", "published means"};
  for (const Finding& finding : verdict.findings) {
    std::size_t means = 0, published = 0, told = 0;
    for (const FindingCell& cell : finding.cells) {
      means += cell.mean_agrees ? 1 : 0;
      told += cell.published ? 1 : 0;
      published += cell.published.value_or(false) ? 1 : 0;
    }
    table.rows.push_back({{}, fmt::format("{}: {}", finding.label(), finding.statement)});
    table.rows.push_back(
        {{finding.label(), fmt::format("{}", finding.cells.size()), fmt::format("{}", finding.count(Holds::yes)),
          fmt::format("{}", finding.count(Holds::open)), fmt::format("{}", finding.count(Holds::no)),
          fmt::format("{}", means), told == 0 ? Cell("---") : Cell(count_text(published, told))}});
  }
  table.notes = {
      "by means: cells in which the means alone agree. Each interval stands by itself: of many cells in which a claim "
      "is just false, one in forty seems to hold.",
      "The paper says \"generally\", \"low\", \"comparable\", \"substantially\", \"small\": the statements say what is "
      "meant here. CSV and JSON have every cell."};
  return table;
}

Table exceptions_table(const Verdict& verdict) {
  Table table;
  table.label = "exceptions";
  table.title = title_of(verdict,
                         "Cells in which a finding does not hold or is open: differences, paired over "
                         "replications, with 95% intervals");
  table.columns = {"cell", "difference", "judgement", "published means", "compared"};
  for (const Finding& finding : verdict.findings) {
    if (finding.count(Holds::yes) == finding.cells.size()) continue;
    table.rows.push_back({{}, fmt::format("{}: {}", finding.label(), finding.difference)});
    for (const FindingCell& cell : finding.cells)
      if (cell.holds != Holds::yes)
        table.rows.push_back({{cell.cell, estimate_cell(cell.difference), holds_text(cell.holds),
                               cell.published ? (*cell.published ? "agree" : "do not agree") : "---", cell.compared}});
  }
  return table;
}

Table prices_table(const Verdict& verdict) {
  Table table;
  table.label = "prices";
  table.title = title_of(verdict,
                         "The price of an unknown reward: regret x 1000, unknown less known, mean over the "
                         "cells of a regime, ± 1.96 standard errors");
  table.columns = {"policy", "regime", "cells", "ours", "published", "z", "p"};
  table.row_headers = 2;
  for (const PriceOfUnknown& price : verdict.prices)
    table.rows.push_back({{price.policy, price.regime, fmt::format("{}", price.cells), estimate_cell(price.ours, 3),
                           price.published ? estimate_cell(*price.published, 3) : Cell("---"),
                           exact_cell(number_text(price.z, 2), price.z), exact_cell(p_value_text(price.p), price.p)}});
  table.notes = {
      "The paper gives no error of a difference: its half-width is what the scatter of ours, over replications that "
      "share all draws, gives in 50 replications."};
  add_warning(table, verdict);
  return table;
}

}  // namespace

std::vector<Table> verdict_tables(const Verdict& verdict, const std::string& only) {
  std::vector<Table> out;
  const auto add = [&](const std::string& part, bool there, Table (*make)(const Verdict&)) {
    if (there && (only.empty() || only == part)) out.push_back(make(verdict));
  };
  add("numbers", !verdict.numbers.empty(), numbers_table);
  add("rows", !verdict.rows.empty(), rows_table);
  add("counts", !verdict.counts.empty(), counts_table);
  add("findings", !verdict.findings.empty(), findings_table);
  const bool exceptions = std::any_of(verdict.findings.begin(), verdict.findings.end(),
                                      [](const Finding& f) { return f.count(Holds::yes) < f.cells.size(); });
  add("findings", exceptions, exceptions_table);
  add("prices", !verdict.prices.empty(), prices_table);
  return out;
}

}  // namespace pandora
