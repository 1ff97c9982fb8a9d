// The paper's tables, and tables of studies that vary keys.
#include "host/studies/results/regret_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "host/studies/results/other_tables.hpp"
#include "host/studies/results/policy_titles.hpp"

namespace pandora {
namespace {

constexpr const char* kNothing = "---";
constexpr const char* kPublishedWith = ", (published ± 1.96 standard errors)";
// Why a small number of stars says little. It was measured; see docs/results.md.
constexpr const char* kStarsByChance =
    " Where both are right 5% are (7% with ten replications), and several at once, for the entries of an environment "
    "share their instances: experiments/verdict judges the count.";

std::string with_published(const Estimate& ours, const std::optional<PublishedValue>& published, int replications,
                           bool has_half_width = true) {
  if (!published) return plus_minus(ours);
  return fmt::format("{} ({}){}", plus_minus(ours),
                     plus_minus({published->value, has_half_width ? published->half_width_95 : 0.0}),
                     outside(ours, *published, replications) ? "*" : "");
}

// A value of the published ones, if there are any.
template <class Published>
std::optional<PublishedValue> value_of(const std::optional<Published>& published, PublishedValue Published::*member) {
  return published ? std::optional((*published).*member) : std::nullopt;
}

// Policies that the study has.
std::vector<PolicyTitle> chosen_titles(const Study& study, const Summary& summary) {
  std::vector<PolicyTitle> titles = policy_titles(summary);
  std::erase_if(titles, [&](const PolicyTitle& t) {
    return std::ranges::count(study.policies, t.policy) == 0 &&
           std::ranges::none_of(summary.rows,
                                [&](const SummaryRow& r) { return r.policy == t.policy && r.reward == t.reward; });
  });
  return titles;
}

// The number to which each title's entry of a column is compared: the least mean among those that compete.
struct Least {
  double known = std::numeric_limits<double>::quiet_NaN(), unknown = known;

  void see(const PolicyTitle& title, const SummaryRow* row) {
    if (row == nullptr || title.yardstick) return;
    double& least = title.knows_reward ? known : unknown;
    least = std::fmin(least, row->regret.mean);
  }
  bool is(const PolicyTitle& title, const SummaryRow* row) const {
    return row != nullptr && !title.yardstick && row->regret.mean == (title.knows_reward ? known : unknown);
  }
};

// The settings that decide the costs of an environment, between `open` and `close`; empty if its own code decides.
std::string costs_text(const OracleRow& oracle, const char* open, const char* close) {
  if (std::isnan(oracle.u) && !oracle.linear_indices) return "";
  return open + (oracle.linear_indices ? "linear indices" : fmt::format("u = {:g}", oracle.u)) + close;
}

std::string panel_heading(const OracleRow& oracle, int replications, std::size_t number, TableLayout layout) {
  constexpr const char* kNumbers[] = {"i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"};
  const std::string utility =
      with_published(oracle.utility_x1000, value_of(oracle.published, &PublishedOracle::utility_x1000), replications);
  const std::string boxes = with_published(
      oracle.boxes_queried, value_of(oracle.published, &PublishedOracle::boxes_queried), replications, false);
  if (layout == TableLayout::paper)
    return fmt::format("{}{}: {}oracle utility × 10³: {}; {} boxes queried",
                       number < std::size(kNumbers) ? fmt::format("({}) ", kNumbers[number]) : "",
                       environment_title(oracle.environment), costs_text(oracle, "", "; "), utility, boxes);
  return fmt::format("{}{}: oracle utility x 1000 {}; {} boxes queried", oracle.environment,
                     costs_text(oracle, " (", ")"), utility, boxes);
}

std::string replications_text(const Summary& summary, const Study& study) {
  int least = study.replications, most = 0;
  for (const SummaryRow& row : summary.rows) {
    least = std::min(least, row.replications + row.failed);
    most = std::max(most, row.replications + row.failed);
  }
  if (least == study.replications) return fmt::format("{} replications", study.replications);
  return least == most ? fmt::format("the {} of {} replications that are there", most, study.replications)
                       : fmt::format("the {} to {} of {} replications that are there", least, most, study.replications);
}

std::vector<std::string> regret_notes(std::span<const SettingSummary> settings, bool compared) {
  std::vector<std::string> notes;
  if (std::ranges::any_of(settings[0].setting.study.T0, [](int T0) { return T0 > 0; }))
    notes.push_back("The T0 calibration periods come before the horizon; the regret does not count them.");
  int failed = 0, marked = 0, missed = 0;
  double unsolved = 0.0;
  for (const SettingSummary& s : settings)
    for (const SummaryRow& row : s.summary.rows) {
      unsolved += row.unsolved_refits;
      failed += row.failed;
      marked += row.inside_joint_95 ? 1 : 0;
      missed += row.inside_joint_95 && !*row.inside_joint_95 ? 1 : 0;
    }
  if (failed > 0)
    notes.push_back(fmt::format("Failed lanes are left out, {} over all rows; see failures.csv.", failed));
  if (unsolved > 0.0)
    notes.push_back(fmt::format("Joint refits that estimation.joint_steps ended: {:g} over all rows.", unsolved));
  add_notes_on_rows(settings, notes);
  if (!compared) return notes;
  if (marked > 0)
    notes.push_back(fmt::format("* outside the joint 95% interval of ours and the published value: {} of {} regrets.{}",
                                missed, marked, missed > 0 ? kStarsByChance : ""));
  else
    notes.push_back(
        fmt::format("Comparison with the published values is marked from {} replications on.", kLeastForComparison));
  return notes;
}

// A column for each T_0.
void append_T0(Table& table, const Study& study, TableLayout layout) {
  for (const int T0 : study.T0)
    table.columns.push_back(fmt::format("T{}={}", layout == TableLayout::paper ? "₀" : "0", T0));
}

Summary of_regime(const Summary& summary, const std::string& regime) {
  const auto is_of_it = [&](const auto& row) { return row.regime == regime; };
  Summary out;
  std::ranges::copy_if(summary.rows, std::back_inserter(out.rows), is_of_it);
  std::ranges::copy_if(summary.oracle, std::back_inserter(out.oracle), is_of_it);
  return out;
}

// Tables 1 and 2, (tab:regimeA) and (tab:regimeB): one regime, a panel per environment.
Table regime_table(const Study& study, const Summary& summary, const std::string& regime, TableLayout layout) {
  const bool paper = layout == TableLayout::paper;
  const bool compared = std::ranges::any_of(summary.rows, [](const SummaryRow& r) { return r.published.has_value(); });
  Table table;
  table.label = "regime" + regime;
  table.title = fmt::format(
      "{}{} {}: time-averaged regret {} against the oracle, mean over {} of {} periods ± 95% (Student's t){}",
      compared && !paper ? (regime == "A" ? "Table 1: " : "Table 2: ") : "", compared && !paper ? "regime" : "Regime",
      regime, paper ? "× 10³" : "x 1000", replications_text(summary, study), study.periods,
      compared ? kPublishedWith : "");
  table.row_headers = paper ? 2 : 1;
  table.columns.assign(table.row_headers, "");
  append_T0(table, study, layout);
  const std::vector<PolicyTitle> titles = chosen_titles(study, summary);
  for (std::size_t p = 0; p < summary.oracle.size(); ++p) {
    const OracleRow& oracle = summary.oracle[p];
    const auto row_of = [&](const PolicyTitle& title, int T0) {
      return best_row(summary, title.policy, title.reward, T0, regime, oracle.environment);
    };
    table.rows.push_back({{}, panel_heading(oracle, study.replications, p, layout)});
    std::vector<Least> least(study.T0.size());
    for (std::size_t k = 0; k < study.T0.size(); ++k)
      for (const PolicyTitle& title : titles) least[k].see(title, row_of(title, study.T0[k]));
    std::string group;
    for (const PolicyTitle& title : titles) {
      Row row;
      if (paper) row.cells.push_back(title.group);
      row.cells.push_back(paper ? title.name : title.brief);
      row.rule_above = paper && !group.empty() && group != title.group;
      group = title.group;
      for (std::size_t k = 0; k < study.T0.size(); ++k) {
        const SummaryRow* found = row_of(title, study.T0[k]);
        row.cells.emplace_back(
            found == nullptr ? kNothing : with_published(found->regret, found->published, found->replications),
            least[k].is(title, found));
      }
      table.rows.push_back(std::move(row));
    }
  }
  std::vector<SettingSummary> only(1);
  only[0].setting.study = study;
  only[0].summary = summary;
  table.notes = regret_notes(only, compared);
  if (titles.size() > 1)
    table.notes.push_back(
        "Bold: the least of a column, among policies that know the reward function and among those that do not.");
  return table;
}

// The hyperparameters with the least mean regret in one regime. No rows if nothing has hyperparameters.
Table hyperparameter_table(const Study& study, const Summary& summary, const std::string& regime, TableLayout layout) {
  Table table;
  table.label = "hyperparameters" + regime;
  table.title = fmt::format("Regime {}: hyperparameters with the least mean regret, which the rows above show", regime);
  table.columns = {""};
  append_T0(table, study, layout);
  for (const OracleRow& oracle : summary.oracle) {
    bool headed = false;
    for (const PolicyTitle& title : chosen_titles(study, summary)) {
      Row row{{""}};
      std::vector<std::string> names;
      for (const int T0 : study.T0) {
        const SummaryRow* found = best_row(summary, title.policy, title.reward, T0, regime, oracle.environment);
        std::vector<std::string> values;
        if (found != nullptr) names.clear();
        for (const auto& [name, value] : hyperparameter_values(found == nullptr ? "" : found->hyperparameter)) {
          names.push_back(name);
          values.push_back(value);
        }
        row.cells.emplace_back(found == nullptr ? kNothing : fmt::format("{}", fmt::join(values, ", ")));
      }
      if (names.empty()) continue;
      row.cells[0] = fmt::format("{} ({})", title.brief, fmt::join(names, ", "));
      if (!headed) table.rows.push_back({{}, environment_title(oracle.environment)});
      headed = true;
      table.rows.push_back(std::move(row));
    }
  }
  EdgeNote edges;
  edges.see(summary);
  edges.add_to(table.notes);
  return table;
}

// One environment and regime over all settings: a row per setting and T_0, a column per policy.
Table varied_table(const std::vector<SettingSummary>& settings, const OracleRow& cell) {
  const Study& first = settings[0].setting.study;
  const auto is_of_cell = [&](const auto& row) {
    return row.regime == cell.regime && row.environment == cell.environment;
  };
  Summary all;
  EdgeNote edges;
  std::vector<SettingSummary> of_cell;
  for (const SettingSummary& s : settings) {
    Summary& own = of_cell.emplace_back(SettingSummary{s.setting, {}}).summary;
    std::ranges::copy_if(s.summary.rows, std::back_inserter(own.rows), is_of_cell);
    edges.see(own);
    all.rows.insert(all.rows.end(), own.rows.begin(), own.rows.end());
  }
  const std::vector<PolicyTitle> titles = chosen_titles(first, all);
  Table table;
  table.label = "varied-" + cell.environment + "-" + cell.regime;
  table.title = fmt::format(
      "{}, regime {}: time-averaged regret x 1000 against the oracle, mean over replications ± 95% (Student's t)",
      environment_title(cell.environment), cell.regime);
  for (const auto& [key, value] : settings[0].setting.varied) table.columns.push_back(key);
  const bool several = first.T0.size() > 1;
  if (several) table.columns.push_back("T0");
  table.row_headers = table.columns.size();
  table.columns.insert(table.columns.end(), {"oracle utility", "boxes queried"});
  for (const PolicyTitle& title : titles) table.columns.push_back(title.brief);
  for (const SettingSummary& s : settings)
    for (const int T0 : first.T0) {
      Row row;
      const auto oracle = std::ranges::find_if(s.summary.oracle, is_of_cell);
      for (const auto& [key, value] : s.setting.varied) row.cells.emplace_back(value);
      if (several) row.cells.emplace_back(fmt::format("{}", T0));
      for (const Estimate OracleRow::*told : {&OracleRow::utility_x1000, &OracleRow::boxes_queried})
        row.cells.emplace_back(oracle == s.summary.oracle.end() ? kNothing : plus_minus((*oracle).*told));
      const auto row_of = [&](const PolicyTitle& t) {
        return best_row(s.summary, t.policy, t.reward, T0, cell.regime, cell.environment);
      };
      Least least;
      for (const PolicyTitle& t : titles) least.see(t, row_of(t));
      for (const PolicyTitle& t : titles) {
        const SummaryRow* found = row_of(t);
        row.cells.emplace_back(found == nullptr ? kNothing : plus_minus(found->regret), least.is(t, found));
      }
      table.rows.push_back(std::move(row));
    }
  table.notes = regret_notes(of_cell, false);
  table.notes.push_back("Oracle utility (x 1000) and boxes queried per period are the oracle's.");
  edges.add_to(table.notes);
  return table;
}

}  // namespace

Table order_table(const std::vector<SettingSummary>& settings, TableLayout layout) {
  const Study& study = settings[0].setting.study;
  const bool compared =
      std::ranges::any_of(settings[0].summary.order, [](const OrderRow& r) { return r.published.has_value(); });
  Table table;
  table.label = "ordering";
  table.title =
      settings.size() > 1
          ? "Order of the oracle over the contexts of each replication"
          : fmt::format("{}rder of the oracle over {} contexts in each of {} replications, mean ± 95% (Student's t){}",
                        compared && layout == TableLayout::compact ? "Table 3: o" : "O", study.order_contexts,
                        study.replications, compared ? kPublishedWith : "");
  for (const auto& [key, value] : settings[0].setting.varied) table.columns.push_back(key);
  table.row_headers += table.columns.size();
  table.columns.insert(table.columns.end(), {"", "permutations", "max mass", "min mass"});
  for (const SettingSummary& s : settings)
    for (const OrderRow& found : s.summary.order) {
      const auto entry = [&](const Estimate& ours, PublishedValue PublishedOrder::*statistic) {
        return Cell(with_published(ours, value_of(found.published, statistic), study.replications));
      };
      Row& row = table.rows.emplace_back();
      for (const auto& [key, value] : s.setting.varied) row.cells.emplace_back(value);
      row.cells.insert(row.cells.end(), {fmt::format("{}, regime {}", found.environment, found.regime),
                                         entry(found.permutations, &PublishedOrder::permutations),
                                         entry(found.max_mass, &PublishedOrder::max_mass),
                                         entry(found.min_mass, &PublishedOrder::min_mass)});
    }
  return table;
}

std::vector<Table> study_tables(const std::vector<SettingSummary>& all, TableLayout layout) {
  std::vector<Table> tables;
  std::vector<SettingSummary> settings;  // settings of the paper's model
  std::ranges::copy_if(all, std::back_inserter(settings), [](const auto& s) { return !of_table(s.setting.study); });
  if (settings.size() > 1) {
    for (const OracleRow& cell : settings[0].summary.oracle) tables.push_back(varied_table(settings, cell));
  } else if (!settings.empty()) {
    const SettingSummary& only = settings[0];
    for (const char* regime : {"A", "B"}) {
      const Summary summary = of_regime(only.summary, regime);
      if (summary.oracle.empty()) continue;
      tables.push_back(regime_table(only.setting.study, summary, regime, layout));
      if (Table chosen = hyperparameter_table(only.setting.study, summary, regime, layout); !chosen.rows.empty())
        tables.push_back(std::move(chosen));
    }
  }
  if (!settings.empty())
    if (Table order = order_table(settings, layout); !order.rows.empty()) tables.push_back(std::move(order));
  for (const SettingSummary& s : all)
    if (of_table(s.setting.study)) tables.push_back(trace_table(s));
  return tables;
}

}  // namespace pandora
