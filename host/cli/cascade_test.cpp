// `cascade test` and `cascade show`.
#include "pandora/cascade.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/judge_cascade.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/table_options.hpp"

namespace pandora::cli {
namespace {

struct TestArguments {
  std::string cascade, table, against, evaluator, missing = "refuse", format = "text";
  std::optional<double> judge_usd;
};

void test_command(const TestArguments& o) {
  require_format(o.format);
  TableOptions reading;
  reading.missing = o.missing;
  reading.check();
  Cascade cascade = Cascade::load(o.cascade);
  const JudgedCascade judged =
      judge_cascade(cascade, o.cascade, reading.read(o.table), o.against, o.evaluator, o.judge_usd);
  if (o.format == "json")
    print_json(judged_json(judged));
  else
    print_table(judged_table(judged));
}

}  // namespace

void add_cascade_test(CLI::App& cascade, Command& run) {
  const auto o = std::make_shared<TestArguments>();
  CLI::App* command =
      cascade.add_subcommand("test", "what a cascade does on another table, beside one model alone, with intervals");
  command->add_option("cascade", o->cascade, "what cascade fit wrote")->required();
  command->add_option("table", o->table, "CSV or JSON lines, with all models of the cascade")->required();
  command->add_option("--against", o->against, "the model alone (default: the best single one of the fit)");
  command->add_option("--evaluator", o->evaluator,
                      "what it sees here: quality, score or score:NAME (default: what it was made to see)");
  command->add_option("--judge-usd", o->judge_usd, "dollars of judging an answer (default: as the fit counted)");
  command->add_option("--missing", o->missing, "rows with missing cells: refuse, or drop and count them")
      ->capture_default_str();
  command->add_option("--format", o->format, "text or json")->capture_default_str();
  command->callback([o, &run] { run = [o] { test_command(*o); }; });
}

void add_cascade_show(CLI::App& cascade, Command& run) {
  const auto file = std::make_shared<std::string>();
  CLI::App* command = cascade.add_subcommand("show", "a cascade's file in words");
  command->add_option("cascade", *file, "what cascade fit or a service wrote")->required();
  command->callback([file, &run] {
    run = [file] {
      const Cascade shown = Cascade::load(*file);
      for (const Table& part : show_tables(shown.options(), shown.counts(), *file)) print_table(part);
    };
  });
}

}  // namespace pandora::cli
