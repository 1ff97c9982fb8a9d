// `trace check`: what a table holds, and what routing on it can pay.
#include "host/traces/trace_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/cli/terminal.hpp"
#include "host/traces/read_trace.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

struct TraceCheckOptions {
  std::string table, evaluator = "quality", missing = "refuse", format = "text";
  std::vector<double> prices = {5.0, 50.0};
  std::vector<std::string> models;

  void check() const {
    if (format != "text" && format != "json")
      throw Error(ExitCode::usage, fmt::format("--format {}: unknown; use text or json", format));
    if (missing != "refuse" && missing != "drop")
      throw Error(ExitCode::usage, fmt::format("--missing {}: unknown; use refuse or drop", missing));
  }
};

// The table, with a bar while it is read where somebody looks.
TraceTable read_with_progress(const TraceCheckOptions& o) {
  constexpr int kMebibyte = 20;
  TraceOptions options;
  options.missing = o.missing == "drop" ? MissingCells::drop : MissingCells::refuse;
  options.models = o.models;
  ProgressBar bar(!is_terminal(STDERR_FILENO), "MiB");
  options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    if (done >> kMebibyte > 0) bar.update(done >> kMebibyte, std::max(done, total) >> kMebibyte);
  };
  return read_trace(o.table, options);
}

void check(const TraceCheckOptions& o) {
  o.check();
  const TraceTable table = read_with_progress(o);
  const TraceCheck found = check_trace(table, o.evaluator, o.prices);
  using nlohmann::json;
  if (o.format == "json")
    print_text(trace_check_json(found, table).dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  else
    for (const Table& part : trace_check_tables(found, table)) print_table(part);
}

}  // namespace

void add_trace_check(CLI::App& trace, Command& run) {
  const auto o = std::make_shared<TraceCheckOptions>();
  CLI::App* command = trace.add_subcommand(
      "check",
      "what a table holds, and what routing between its models can pay: best single model, index policy, "
      "fixed cascade, bound");
  command->add_option("table", o->table, "CSV or JSON lines, recognised by their header")->required();
  command->add_option("--price", o->prices, "utility per dollar; a list")->delimiter(',')->capture_default_str();
  command
      ->add_option("--evaluator", o->evaluator,
                   "what is seen of an opened answer: quality (the truth), score or score:NAME (a judge's)")
      ->capture_default_str();
  command->add_option("--models", o->models, "only these models (default: all)")->delimiter(',');
  command->add_option("--missing", o->missing, "rows with missing cells: refuse, or drop and count them")
      ->capture_default_str();
  command->add_option("--format", o->format, "text or json")->capture_default_str();
  command->callback([o, &run] { run = [o] { check(*o); }; });
}

}  // namespace pandora::cli
