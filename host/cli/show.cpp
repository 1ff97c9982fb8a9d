// `show`: the tables of a folder of results, at any time.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/result_filter.hpp"
#include "host/cli/terminal.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/studies/results/regret_tables.hpp"
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

struct ShowOptions {
  std::string folder, format = "text", base;
  bool overview = false;
  ResultFilter filter;
};

// What ratios are to.
std::string base_of(const ShowOptions& o, const std::vector<SettingSummary>& settings) {
  std::vector<std::string> names;
  for (const SummaryRow& row : settings[0].summary.rows)
    if (row.policy != "oracle" && std::find(names.begin(), names.end(), row.policy) == names.end())
      names.push_back(row.policy);
  if (o.base.empty()) return usual_base(settings[0]);
  if (std::find(names.begin(), names.end(), o.base) == names.end())
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
  if (o.overview) {
    const Table table = overview_table(settings, base_of(o, settings));
    if (!unfinished.empty() && format != TableFormat::csv)
      fmt::print("{}{}\n", format == TableFormat::latex ? "% " : "", unfinished);
    print_table(table, format);
    return;
  }
  if (format == TableFormat::csv) {
    ResultRows rows(settings[0].setting.varied, results.settings()[0].plan, "pandora", has_table(results.settings()));
    for (const SettingSummary& s : settings) rows.add_summary(s.summary, s.setting.varied);
    print_text(rows.csv(settings[0].setting.study.regret ? "summary" : "oracle_order"));
    return;
  }
  if (!unfinished.empty()) fmt::print("{}{}\n", format == TableFormat::latex ? "% " : "", unfinished);
  const TableLayout layout = format == TableFormat::latex ? TableLayout::paper : TableLayout::compact;
  for (const Table& table : study_tables(settings, layout)) print_table(table, format);
}

}  // namespace

void add_show(CLI::App& program, Command& run) {
  const auto o = std::make_shared<ShowOptions>();
  CLI::App* command = program.add_subcommand("show", "the tables of a folder of results, finished or not");
  command->add_option("folder", o->folder, "folder that `run` wrote")->required();
  command->add_option("--format", o->format, "text, markdown, latex (the paper's layout) or csv (rows of summary.csv)")
      ->capture_default_str();
  command->add_flag("--overview", o->overview, "one row per policy and regime: regret, its parts, ratios to --base");
  command->add_option("--base", o->base,
                      "the policy that --overview takes ratios to (default: the first that the study lists, else dow)");
  o->filter.add_to(*command);
  command->callback([o, &run] { run = [o] { show(*o); }; });
}

}  // namespace pandora::cli
