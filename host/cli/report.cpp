// What is concluded from folders of results: `compare`, paired comparisons; `report`, a page and LaTeX of all.
#include "host/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "host/cli/commands.hpp"
#include "host/ground/base/printable.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

struct CompareArguments {
  std::string folder, other, format = "text";
  CompareOptions compare;
};

void print_pairs(const std::vector<ComparedPair>& pairs, TableFormat format) {
  if (format == TableFormat::csv) return print_text(comparison_columns(pairs).csv());
  for (const Table& table : comparison_tables(pairs)) print_table(table, format);
}

// What sets results against the paper is no part of the program.
[[noreturn]] void refuse_published(const std::string& command, const std::string& folder) {
  throw Error(ExitCode::usage,
              fmt::format("{}: results are set against the paper by `python3 experiments/verdict {}` in a checkout, "
                          "`python3 -m pandora_verdict {}` where the Python package is installed",
                          command, folder, folder));
}

void compare(const CompareArguments& o) {
  if (o.other == "published") refuse_published("compare " + o.folder + " published", o.folder);
  const TableFormat format = parse_table_format(o.format);
  const bool prose = format == TableFormat::text || format == TableFormat::markdown;
  const auto say_unfinished = [prose](StoredResults& results, const std::string& folder) {
    if (const std::string unfinished = results.unfinished(); !unfinished.empty() && prose)
      print_text(fmt::format("{}: {}\n", folder, unfinished));
  };
  StoredResults results(o.folder, print_error);
  say_unfinished(results, o.folder);
  if (o.other.empty()) return print_pairs(compare_policies(results, o.compare), format);
  StoredResults second(o.other, print_error);
  say_unfinished(second, o.other);
  const std::vector<ComparedPair> pairs = compare_folders(results, second, o.compare);
  if (prose) {
    const std::vector<std::string> found = manifest_differences(results, second);
    print_text(found.empty() ? "The manifests do not differ.\n"
                             : fmt::format("The manifests differ in ({} is there, {} here):\n", o.folder, o.other));
    for (const std::string& line : found) print_text("  " + printable(line) + "\n");
  }
  print_pairs(pairs, format);
}

}  // namespace

void add_compare(CLI::App& program, Session& session) {
  const auto o = std::make_shared<CompareArguments>();
  CLI::App* command = program.add_subcommand("compare", "paired comparisons of policies, or of two folders of results");
  command->add_option("folder", o->folder, "folder that `run` wrote")->required();
  command->add_option("other", o->other, "another folder on the same tapes");
  command
      ->add_option("--policy,--policies", o->compare.policies,
                   "NAME or NAME/REWARD, such as dow,online_plugin: the first against each of the others")
      ->delimiter(',');
  command->add_option("--t0", o->compare.T0, "only these T0")->delimiter(',');
  command->add_option("--environment", o->compare.environments, "only these environments")->delimiter(',');
  command->add_option("--regime", o->compare.regimes, "only A or B")->delimiter(',');
  command->add_option("--format", o->format, "text, markdown, latex or csv")->capture_default_str();
  session.on_call(command, [o] { compare(*o); });
}

void add_verdict(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand("verdict", "results against the paper: says which program does that now");
  const auto folder = std::make_shared<std::string>("FOLDER");
  command->add_option("folder", *folder, "folder of results");
  command->allow_extras();  // options of the former command
  session.on_call(command, [folder] { refuse_published("verdict", *folder); });
}

void make_report(const std::string& folder, ReportOptions options) {
  StoredResults results(folder, print_error);
  options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const ReportOutcome outcome = write_report(results, options);
  if (!outcome.message.empty()) print_error(outcome.message);
  print_text(fmt::format("{} figures, report in {}\n", outcome.figures, outcome.file.string()));
}

void add_figure_formats(CLI::App& command, std::vector<std::string>& formats) {
  command.add_option("--figures", formats, "formats of figure files: svg, pdf, png (report.tex needs pdf)")
      ->delimiter(',')
      ->capture_default_str();
}

void add_report(CLI::App& program, Session& session) {
  struct Options {
    std::string folder;
    std::optional<std::string> out;
    ReportOptions report;
  };
  const auto o = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("report", "figures, tables and comparisons as report.html and report.tex");
  command->add_option("folder", o->folder, "folder that `run` wrote")->required();
  command->add_option("--out", o->out, "folder for the report (default: report in the folder of the results)");
  command->add_option("--t0", o->report.T0,
                      "T0 of figures that show one (default: the largest up to a hundredth of T at which all run)");
  command
      ->add_option("--policy,--policies", o->report.policies,
                   "NAME or NAME/REWARD: those to compare with the base (default: all but yardsticks)")
      ->delimiter(',');
  command->add_option(
      "--base", o->report.base,
      "what the others are compared with (default: the first of --policy, else of the study's list, else dow)");
  add_figure_formats(*command, o->report.formats);
  session.on_call(command, [o] {
    if (o->out && o->out->empty()) throw Error(ExitCode::usage, "--out: names no folder; give one or leave it out");
    o->report.formats = parse_figure_formats(o->report.formats);
    o->report.out = o->out.value_or("");
    make_report(o->folder, o->report);
  });
}

}  // namespace pandora::cli
