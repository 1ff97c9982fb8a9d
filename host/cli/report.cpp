// `report`: figures and tables of a folder of results as a page and as LaTeX.
#include "host/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "host/cli/commands.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {

void make_report(const std::string& folder, ReportOptions options) {
  StoredResults results(folder, print_error);
  options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const ReportOutcome outcome = write_report(results, options);
  if (!outcome.message.empty()) print_error(outcome.message);
  print_text(fmt::format("{} figures, report in {}\n", outcome.figures, outcome.file.string()));
}

void add_report(CLI::App& program, Command& run) {
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
  command->add_option("--figures", o->report.formats, "formats of figure files: svg, pdf, png (report.tex needs pdf)")
      ->delimiter(',')
      ->capture_default_str();
  command->callback([o, &run] {
    run = [o] {
      if (o->out && o->out->empty()) throw Error(ExitCode::usage, "--out: names no folder; give one or leave it out");
      o->report.formats = parse_figure_formats(o->report.formats);
      o->report.out = o->out.value_or("");
      make_report(o->folder, o->report);
    };
  });
}

}  // namespace pandora::cli
