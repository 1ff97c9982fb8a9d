// `compare`: paired comparisons of policies and of folders of results.
#include "host/report/compare.hpp"

#include <fmt/format.h>

#include <memory>

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
  StoredResults results(o.folder, print_error);
  if (const std::string unfinished = results.unfinished(); !unfinished.empty() && prose)
    print_text(fmt::format("{}: {}\n", o.folder, unfinished));
  if (o.other.empty()) {
    print_pairs(compare_policies(results, o.compare), format);
  } else {
    StoredResults second(o.other, print_error);
    if (const std::string unfinished = second.unfinished(); !unfinished.empty() && prose)
      print_text(fmt::format("{}: {}\n", o.other, unfinished));
    const std::vector<ComparedPair> pairs = compare_folders(results, second, o.compare);
    if (prose) {
      const std::vector<std::string> found = manifest_differences(results, second);
      print_text(found.empty() ? "The manifests do not differ.\n"
                               : fmt::format("The manifests differ in ({} is there, {} here):\n", o.folder, o.other));
      for (const std::string& line : found) print_text("  " + printable(line) + "\n");
    }
    print_pairs(pairs, format);
  }
}

}  // namespace

void add_compare(CLI::App& program, Command& run) {
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
  command->callback([o, &run] { run = [o] { compare(*o); }; });
}

void add_verdict(CLI::App& program, Command& run) {
  CLI::App* command = program.add_subcommand("verdict", "results against the paper: says which program does that now");
  const auto folder = std::make_shared<std::string>("FOLDER");
  command->add_option("folder", *folder, "folder of results");
  command->allow_extras();  // options of the former command
  command->callback([folder, &run] { run = [folder] { refuse_published("verdict", *folder); }; });
}

}  // namespace pandora::cli
