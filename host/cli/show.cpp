// `show`: the tables of a folder of results, at any time.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/ground/base/lists.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/report/cells.hpp"
#include "host/studies/results/overview_table.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/results/stored_results.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

// Titles, headings and cells hold names from studies and files.
Table printable(Table table) {
  constexpr std::size_t kMost = 1000;
  const auto mend = [](std::string& text) { text = pandora::printable(text, kMost); };
  mend(table.title);
  for (std::string& column : table.columns) mend(column);
  for (std::string& note : table.notes) mend(note);
  for (Row& row : table.rows) {
    mend(row.heading);
    for (Cell& cell : row.cells) {
      mend(cell.text);
      mend(cell.exact);
    }
  }
  return table;
}

}  // namespace

void print_text(const std::string& text) {
  fmt::print("{}", printable_lines(text));
}

void print_json(const nlohmann::json& json) {
  print_text(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_table(const Table& table, TableFormat format) {
  fmt::print("{}{}", format == TableFormat::csv ? "" : "\n",
             render(printable(table), format, terminal_width(STDOUT_FILENO), is_terminal(STDOUT_FILENO)));
}

namespace {

// Which environments and policies are shown.
class ResultFilter {
 public:
  void add_to(CLI::App& command) {
    const auto add = [&command](const char* name, auto& values, const char* meaning) {
      command.add_option(name, values, meaning)->delimiter(',');
    };
    add("--environment", environments_, "only these environments, such as uniform,gaussian");
    add("--regime", regimes_, "only A or B");
    add("--t0", T0_, "only these T0");
    add("--policy", policies_, "only these policies, such as dow,online_plugin");
  }

  // Leaves what was asked for. Throws Error (usage) for a name that the results have not, with the nearest they have.
  void apply(std::vector<SettingSummary>& settings) const {
    std::vector<std::string> environments, regimes, policies;
    const Study& study = settings[0].setting.study;
    for (const SettingSummary& s : settings) {
      for (const Environment& e : s.setting.study.environments) add_new(environments, e.name);
      for (const Regime regime : s.setting.study.regimes) add_new(regimes, regime_name(regime));
      for (const SummaryRow& row : s.summary.rows) add_new(policies, row.policy);
    }
    require_known("--environment", environments_, environments);
    require_known("--regime", regimes_, regimes);
    require_T0(T0_, study);
    require_known("--policy", policies_, policies);
    for (SettingSummary& s : settings) {
      if (!environments_.empty()) erase_rows(s, [&](const auto& row) { return !has(environments_, row.environment); });
      if (!regimes_.empty()) {
        erase_rows(s, [&](const auto& row) { return !has(regimes_, row.regime); });
        std::erase_if(s.setting.study.regimes, [&](Regime r) { return !has(regimes_, regime_name(r)); });
      }
      if (!T0_.empty()) {
        std::erase_if(s.summary.rows, [&](const SummaryRow& row) { return !has(T0_, row.T0); });
        std::erase_if(s.setting.study.T0, [&](int T0) { return !has(T0_, T0); });
      }
      if (policies_.empty()) continue;
      std::erase_if(s.summary.rows, [&](const SummaryRow& row) { return !has(policies_, row.policy); });
      s.summary.order.clear();
      s.setting.study.policies = policies_;
    }
  }

 private:
  static void require_known(const char* option, const std::vector<std::string>& wanted,
                            const std::vector<std::string>& known) {
    for (const std::string& name : wanted)
      if (!has(known, name))
        throw Error(ExitCode::usage, fmt::format("{} {}: the results have none of that name{}; they have {}", option,
                                                 name, nearest_text(nearest(name, known)), fmt::join(known, ", ")));
  }

  template <class Other>
  static void erase_rows(SettingSummary& s, const Other& other) {
    std::erase_if(s.summary.rows, other);
    std::erase_if(s.summary.oracle, other);
    std::erase_if(s.summary.order, other);
  }

  std::vector<std::string> environments_, regimes_, policies_;
  std::vector<int> T0_;
};

struct ShowOptions {
  std::string folder, format = "text", base;
  bool overview = false;
  ResultFilter filter;
};

// What ratios are to.
std::string base_of(const ShowOptions& o, const std::vector<SettingSummary>& settings) {
  if (o.base.empty()) return usual_base(settings[0]);
  std::vector<std::string> names;
  for (const SummaryRow& row : settings[0].summary.rows)
    if (row.policy != "oracle") add_new(names, row.policy);
  if (!has(names, o.base))
    throw Error(ExitCode::usage, fmt::format("--base {}: is none of the policies that are shown{}; they are {}", o.base,
                                             nearest_text(nearest(o.base, names)), fmt::join(names, ", ")));
  return o.base;
}

void show(const ShowOptions& o) {
  const TableFormat format = parse_table_format(o.format);
  StoredResults results(o.folder, print_error);
  const std::string unfinished = results.unfinished();
  std::vector<SettingSummary> settings = results.summaries();
  o.filter.apply(settings);
  if (!o.base.empty() && !o.overview) throw Error(ExitCode::usage, "--base: is for --overview; give both");
  if (!o.overview && format == TableFormat::csv) {
    ResultRows rows(settings[0].setting.varied, results.settings()[0].plan, "pandora", has_table(results.settings()));
    for (const SettingSummary& s : settings) rows.add_summary(s.summary, s.setting.varied);
    return print_text(rows.csv(settings[0].setting.study.regret ? "summary" : "oracle_order"));
  }
  const std::vector<Table> tables =
      o.overview ? std::vector<Table>{overview_table(settings, base_of(o, settings))}
                 : study_tables(settings, format == TableFormat::latex ? TableLayout::paper : TableLayout::compact);
  if (!unfinished.empty() && format != TableFormat::csv)
    fmt::print("{}{}\n", format == TableFormat::latex ? "% " : "", unfinished);
  for (const Table& table : tables) print_table(table, format);
}

}  // namespace

void add_show(CLI::App& program, Session& session) {
  const auto o = std::make_shared<ShowOptions>();
  CLI::App* command = program.add_subcommand("show", "the tables of a folder of results, finished or not");
  command->add_option("folder", o->folder, "folder that `run` wrote")->required();
  command->add_option("--format", o->format, "text, markdown, latex (the paper's layout) or csv (rows of summary.csv)")
      ->capture_default_str();
  command->add_flag("--overview", o->overview, "one row per policy and regime: regret, its parts, ratios to --base");
  command->add_option("--base", o->base,
                      "the policy that --overview takes ratios to (default: the first that the study lists, else dow)");
  o->filter.add_to(*command);
  session.on_call(command, [o] { show(*o); });
}

}  // namespace pandora::cli
