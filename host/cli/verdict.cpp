// `verdict`: how a folder of results stands to what the paper publishes.
#include "host/report/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/ground/base/nearest.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

struct VerdictArguments {
  std::string folder, format = "text", part;
};

void verdict(const VerdictArguments& o) {
  const std::vector<std::string>& parts = verdict_parts();
  if (!o.part.empty() && std::find(parts.begin(), parts.end(), o.part) == parts.end())
    throw Error(ExitCode::usage, fmt::format("--part {}: is none{}; use {}", o.part,
                                             nearest_text(nearest(o.part, parts)), fmt::join(parts, ", ")));
  const bool as_json = o.format == "json";
  const std::vector<std::string> formats = {"text", "markdown", "latex", "csv", "json"};
  if (std::find(formats.begin(), formats.end(), o.format) == formats.end())
    throw Error(ExitCode::usage, fmt::format("--format {}: unknown; use {}", o.format, fmt::join(formats, ", ")));
  const TableFormat format = as_json ? TableFormat::text : parse_table_format(o.format);
  StoredResults results(o.folder, print_error);
  const std::vector<Verdict> found = verdicts(results);
  if (as_json) return print_text(verdict_json(found, o.part).dump(2) + "\n");
  if (format == TableFormat::csv) return print_table(verdict_csv(found, o.part.empty() ? parts[0] : o.part), format);
  const bool prose = format == TableFormat::text || format == TableFormat::markdown;
  for (const Verdict& own : found) {
    const std::string setting = own.setting.empty() ? "" : own.setting + ": ";
    if (prose && own.least < static_cast<std::size_t>(own.replications))
      print_text(fmt::format("{}of {} replications {} count in every cell; others failed or are not there yet\n",
                             setting, own.replications, own.least));
    if (prose && own.numbers.empty())
      print_text(fmt::format("{}nothing published compares: the paper's numbers are of T = {} and its dimensions\n",
                             setting, kPaperPeriods));
    for (const Table& table : verdict_tables(own, o.part)) print_table(table, format);
  }
}

}  // namespace

void add_verdict(CLI::App& program, Command& run) {
  const auto o = std::make_shared<VerdictArguments>();
  CLI::App* command =
      program.add_subcommand("verdict", "a folder of results against the paper: its numbers and its findings");
  command->add_option("folder", o->folder, "folder that `run` or `reproduce` wrote")->required();
  command->add_option("--part", o->part,
                      "only numbers, rows, counts, findings or prices (csv: one of them, default numbers)");
  command->add_option("--format", o->format, "text, markdown, latex, csv or json")->capture_default_str();
  command->callback([o, &run] { run = [o] { verdict(*o); }; });
}

}  // namespace pandora::cli
