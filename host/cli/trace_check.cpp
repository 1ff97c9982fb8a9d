// `trace check`: what a table holds, and what routing on it can pay.
#include "host/cascades/fits/trace_check.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/table_options.hpp"

namespace pandora::cli {
namespace {

struct TraceCheckOptions {
  std::string table, evaluator = "quality", format = "text";
  std::vector<double> prices = {5.0, 50.0};
  TableOptions reading;
};

void check(const TraceCheckOptions& o) {
  require_format(o.format);
  o.reading.check();
  const TraceTable table = o.reading.read(o.table);
  const TraceCheck found = check_trace(table, o.evaluator, o.prices);
  if (o.format == "json")
    print_json(trace_check_json(found, table));
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
  o->reading.add_to(*command);
  command->add_option("--format", o->format, "text or json")->capture_default_str();
  command->callback([o, &run] { run = [o] { check(*o); }; });
}

}  // namespace pandora::cli
