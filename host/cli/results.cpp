// What is told of folders of results: `show`, their tables at any time; `compare`, paired comparisons; `report`, a page
// and LaTeX of all.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/ground/base/fail.hpp"
#include "host/ground/base/lists.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/report/cells.hpp"
#include "host/report/keep.hpp"
#include "host/report/report.hpp"
#include "host/studies/results/other_tables.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/results/stored_results.hpp"

namespace pandora::cli {
namespace {

// Titles, headings and cells hold names from studies and files.
Table mended(Table table) {
  constexpr std::size_t kMost = 1000;
  const auto mend = [](std::string& text) { text = printable(text, kMost); };
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
      const auto elsewhere = [&](const auto& row) {
        return !wanted(environments_, row.environment) || !wanted(regimes_, row.regime);
      };
      std::erase_if(s.summary.oracle, elsewhere);
      std::erase_if(s.summary.order, elsewhere);
      std::erase_if(s.summary.rows, [&](const SummaryRow& row) {
        return elsewhere(row) || !wanted(T0_, row.T0) || !wanted(policies_, row.policy);
      });
      std::erase_if(s.setting.study.regimes, [&](Regime r) { return !wanted(regimes_, regime_name(r)); });
      std::erase_if(s.setting.study.T0, [&](int T0) { return !wanted(T0_, T0); });
      if (policies_.empty()) continue;
      s.summary.order.clear();
      s.setting.study.policies = policies_;
    }
  }

 private:
  static void require_known(const char* option, const std::vector<std::string>& wanted,
                            const std::vector<std::string>& known) {
    for (const std::string& name : wanted)
      if (!has(known, name))
        fail(ExitCode::usage, "{} {}: the results have none of that name{}; they have {}", option, name,
             nearest_text(nearest(name, known)), fmt::join(known, ", "));
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
    fail(ExitCode::usage, "--base {}: is none of the policies that are shown{}; they are {}", o.base,
         nearest_text(nearest(o.base, names)), fmt::join(names, ", "));
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
  print_tables(tables, format);
}

struct CompareArguments {
  std::string folder, other, format = "text";
  CompareOptions compare;
  KeepOptions keep;
};

// With a decision for each row where there is a margin.
void print_pairs(const std::vector<ComparedPair>& pairs, const std::optional<double>& margin, TableFormat format) {
  if (format == TableFormat::csv)
    return print_text((margin ? keep_columns(pairs, *margin) : comparison_columns(pairs)).csv());
  print_tables(margin ? keep_tables(pairs, *margin) : comparison_tables(pairs), format);
}

// What sets results against the paper is no part of the program.
[[noreturn]] void refuse_published(const std::string& command, const std::string& folder) {
  fail(ExitCode::usage,
       "{}: results are set against the paper by `python3 experiments/verdict {}` in a checkout, `python3 -m "
       "pandora_verdict {}` where the Python package is installed",
       command, folder, folder);
}

void compare(const CompareArguments& o) {
  if (o.other == "published") refuse_published("compare " + o.folder + " published", o.folder);
  const TableFormat format = parse_table_format(o.format);
  const bool keep = !o.keep.rule.empty() || !o.keep.base.empty() || o.keep.margin;
  if (keep && !o.other.empty()) throw Error(ExitCode::usage, "--keep: is for one folder; leave out " + o.other);
  const bool prose = format == TableFormat::text || format == TableFormat::markdown;
  const auto say_unfinished = [prose](StoredResults& results, const std::string& folder) {
    if (const std::string unfinished = results.unfinished(); !unfinished.empty() && prose)
      print_text(fmt::format("{}: {}\n", folder, unfinished));
  };
  StoredResults results(o.folder, print_error);
  say_unfinished(results, o.folder);
  if (o.other.empty())
    return print_pairs(keep ? keep_pairs(results, o.keep, o.compare) : compare_policies(results, o.compare),
                       o.keep.margin, format);
  StoredResults second(o.other, print_error);
  say_unfinished(second, o.other);
  const std::vector<ComparedPair> pairs = compare_folders(results, second, o.compare);
  if (prose) {
    const std::vector<std::string> found = manifest_differences(results, second);
    print_text(found.empty() ? "The manifests do not differ.\n"
                             : fmt::format("The manifests differ in ({} is there, {} here):\n", o.folder, o.other));
    for (const std::string& line : found) print_text("  " + printable(line) + "\n");
  }
  print_pairs(pairs, {}, format);
}

}  // namespace

void print_text(const std::string& text) {
  fmt::print("{}", printable_lines(text));
}

void print_tables(const std::vector<Table>& tables, TableFormat format) {
  nlohmann::json for_latex = nlohmann::json::array();
  for (const Table& table : tables)
    if (format == TableFormat::latex)
      for_latex.push_back(table_json(mended(table)));
    else
      fmt::print("{}{}", format == TableFormat::csv ? "" : "\n",
                 pandora::render(mended(table), format, terminal_width(STDOUT_FILENO), is_terminal(STDOUT_FILENO)));
  if (!for_latex.empty()) print_text(latex_of(for_latex));
}

void add_show(CLI::App& program, Session& session) {
  const auto o = std::make_shared<ShowOptions>();
  CLI::App* command = add_command(program, "show");
  command->add_option("folder", o->folder, "folder that `run` wrote")->required();
  command->add_option("--format", o->format, "text, markdown, latex (the paper's layout) or csv (rows of summary.csv)")
      ->capture_default_str();
  command->add_flag("--overview", o->overview, "one row per policy and regime: regret, its parts, ratios to --base");
  command->add_option("--base", o->base,
                      "the policy that --overview takes ratios to (default: the first that the study lists, else dow)");
  o->filter.add_to(*command);
  session.on_call(command, [o] { show(*o); });
}

void add_compare(CLI::App& program, Session& session) {
  const auto o = std::make_shared<CompareArguments>();
  CLI::App* command = add_command(program, "compare");
  command->add_option("folder", o->folder, "folder that `run` wrote")->required();
  command->add_option("other", o->other, "another folder on the same tapes");
  command
      ->add_option("--policy,--policies", o->compare.policies,
                   "NAME or NAME/REWARD, such as dow,online_plugin: the first against each of the others")
      ->delimiter(',');
  command->add_option("--keep", o->keep.rule,
                      "decide in each cell whether to keep this policy, NAME or NAME/REWARD ...");
  command->add_option("--against", o->keep.base, "... against this one ...");
  command->add_option("--margin", o->keep.margin,
                      "... if its regret per period x 1000 may be worse by less than this (0: it must be better)");
  command->add_option("--t0", o->compare.T0, "only these T0")->delimiter(',');
  command->add_option("--environment", o->compare.environments, "only these environments")->delimiter(',');
  command->add_option("--regime", o->compare.regimes, "only A or B")->delimiter(',');
  command->add_option("--format", o->format, "text, markdown, latex or csv")->capture_default_str();
  session.on_call(command, [o] { compare(*o); });
}

void add_verdict(CLI::App& program, Session& session) {
  CLI::App* command = add_command(program, "verdict");
  const auto folder = std::make_shared<std::string>("FOLDER");
  command->add_option("folder", *folder, "folder of results");
  command->allow_extras();  // options of the former command
  command->group("");       // not listed
  session.on_call(command, [folder] { refuse_published("verdict", *folder); });
}

void make_report(const std::string& folder, const std::string& out, const ReportOptions& options,
                 const RenderOptions& rendering) {
  StoredResults results(folder, print_error);
  if (rendering.T0) require_T0({*rendering.T0}, results.settings()[0].setting.study);
  const nlohmann::json numbers = report_numbers(results, options);
  const std::filesystem::path own = out.empty() ? std::filesystem::path(folder) / "report" : std::filesystem::path(out);
  const FolderLock lock = claim_report(own);
  const RenderResult made = pandora::render(own, numbers, rendering);
  if (!made.message.empty()) print_error(made.message);
  print_text(!made.said.empty() ? made.said
                                : fmt::format("numbers of the report in {}\n", (own / "numbers.json").string()));
}

void add_report(CLI::App& program, Session& session) {
  struct Options {
    std::string folder;
    std::optional<std::string> out;
    ReportOptions report;
    RenderOptions rendering;
  };
  const auto o = std::make_shared<Options>();
  CLI::App* command = add_command(program, "report");
  command->add_option("folder", o->folder, "folder that `run` wrote")->required();
  command->add_option("--out", o->out, "folder for the report (default: report in the folder of the results)");
  command->add_option("--t0", o->rendering.T0,
                      "T0 of figures that show one (default: the largest up to a hundredth of T at which all run)");
  command
      ->add_option("--policy,--policies", o->report.policies,
                   "NAME or NAME/REWARD: tables, comparisons and figures of these alone (default: all)")
      ->delimiter(',');
  command->add_option(
      "--base", o->report.base,
      "what the others are compared with (default: the first of --policy, else of the study's list, else dow)");
  command
      ->add_option("--figures", o->rendering.formats, "formats of figure files: svg, pdf, png (report.tex needs pdf)")
      ->delimiter(',')
      ->capture_default_str();
  session.on_call(command, [o] {
    const std::string out = folder_of("--out", o->out);
    for (const std::string& name : o->rendering.formats)
      if (name != "svg" && name != "pdf" && name != "png")
        fail(ExitCode::usage, "--figures {}: unknown; use svg, pdf or png, or several as svg,pdf", name);
    make_report(o->folder, out, o->report, o->rendering);
  });
}

}  // namespace pandora::cli
