// `trace export`: a replication as a table of outcomes.
#include <fmt/format.h>

#include <memory>

#include "host/cli/commands.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/studies/run/find_lane.hpp"
#include "pandora/error.hpp"
#include "pandora/paper_setting.hpp"

namespace pandora::cli {
namespace {

struct ExportArguments {
  StudyOptions study;
  std::string environment, regime, setting, out, name = "exported";
  std::int64_t replication = 0;
  bool force = false;
};

Unit unit_of(const PlannedSetting& planned, const ExportArguments& o) {
  const Units& units = planned.plan.units;
  for (const Unit& unit : units)
    if ((o.environment.empty() || unit.environment.name == o.environment) &&
        (o.regime.empty() || regime_name(unit.regime) == o.regime) && unit.replication == o.replication)
      return unit;
  std::string there;
  for (const Unit& unit : units)
    if (unit.replication == 0)
      there += fmt::format("{}{}/{}", there.empty() ? "" : ", ", unit.environment.name, regime_name(unit.regime));
  throw Error(ExitCode::usage,
              fmt::format("the study has no replication {} of environment {}, regime {}; it has {}, "
                          "replications 0 to {}",
                          o.replication, o.environment.empty() ? "(any)" : o.environment,
                          o.regime.empty() ? "(any)" : o.regime, there, planned.setting.study.replications - 1));
}

}  // namespace

void add_trace_export(CLI::App& trace, Command& run) {
  const auto o = std::make_shared<ExportArguments>();
  CLI::App* command = trace.add_subcommand("export", "one replication of an environment as a table of outcomes");
  o->study.add_file_to(*command);
  o->study.add_to(*command, {"--t0", "--replications"});
  command->add_option("--environment", o->environment, "of the study (default: its first)");
  command->add_option("--regime", o->regime, "A or B (default: the first)");
  command->add_option("--setting", o->setting, "values of the keys that vary, such as \"periods=1000\"");
  command->add_option("--replication", o->replication, "from 0")->capture_default_str();
  command->add_option("--out", o->out, "the table, nested JSONL")->required();
  command->add_flag("--force", o->force, "replace the file that --out names");
  command->add_option("--name", o->name, "of the environment that the table becomes")->capture_default_str();
  command->callback([o, &run] {
    run = [o] {
      if (!is_plain_name(o->name))
        throw Error(ExitCode::usage,
                    fmt::format("--name {}: cannot stand in a study; use up to 64 letters, digits, _ and -", o->name));
      const StudyConfig config = o->study.config();
      claim_output_file(o->out, o->force, o->study.inputs(config));
      const std::vector<PlannedSetting> settings = make_plans(config);
      const PlannedSetting& planned = find_setting(settings, o->setting, o->environment);
      const ExportedTrace exported = export_trace(planned, unit_of(planned, *o), o->name, o->out);
      write_file(o->out, exported.jsonl);
      print_text(exported.toml);
    };
  });
}

void add_trace(CLI::App& program, Command& run) {
  CLI::App* trace = program.add_subcommand("trace", "tables of outcomes");
  trace->require_subcommand(1);
  add_trace_check(*trace, run);
  add_trace_export(*trace, run);
  add_trace_features(*trace, run);
}

}  // namespace pandora::cli
