// `trace`: tables of outcomes. What a table holds, a replication as a table, the features of a table's prompts.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/base/fail.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "host/studies/run/find_lane.hpp"
#include "pandora/paper_setting.hpp"

namespace pandora::cli {
namespace {

// What a study becomes a file of.
struct FileArguments {
  StudyOptions study;
  std::string environment, regime, setting, out, name = "exported";
  std::int64_t replication = 0;
  bool force = false;

  StudyConfig claim() const {
    StudyConfig config = study.config();
    claim_output_file(out, force, study.inputs(config));
    return config;
  }
};

Unit unit_of(const PlannedSetting& planned, const FileArguments& o) {
  const Units& units = planned.plan.units;
  for (const Unit& unit : units)
    if ((o.environment.empty() || unit.environment.name == o.environment) &&
        (o.regime.empty() || regime_name(unit.regime) == o.regime) && unit.replication == o.replication)
      return unit;
  std::string there;
  for (const Unit& unit : units)
    if (unit.replication == 0)
      there += fmt::format("{}{}/{}", there.empty() ? "" : ", ", unit.environment.name, regime_name(unit.regime));
  fail(ExitCode::usage, "the study has no replication {} of environment {}, regime {}; it has {}, replications 0 to {}",
       o.replication, o.environment.empty() ? "(any)" : o.environment, o.regime.empty() ? "(any)" : o.regime, there,
       planned.setting.study.replications - 1);
}

void export_command(const FileArguments& o) {
  if (!is_plain_name(o.name))
    fail(ExitCode::usage, "--name {}: cannot stand in a study; use up to 64 letters, digits, _ and -", o.name);
  const std::vector<PlannedSetting> settings = make_plans(o.claim());
  const PlannedSetting& planned = find_setting(settings, o.setting, o.environment);
  const ExportedTrace exported = export_trace(planned, unit_of(planned, o), o.name, o.out);
  write_file(o.out, exported.jsonl);
  print_text(exported.toml);
}

void add_export(CLI::App& trace, Session& session) {
  const auto o = std::make_shared<FileArguments>();
  CLI::App* command = add_command(trace, "export");
  o->study.add_to(*command, {"--t0", "--replications"});
  command->add_option("--environment", o->environment, "of the study (default: its first)");
  command->add_option("--regime", o->regime, "A or B (default: the first)");
  command->add_option("--setting", o->setting, "values of the keys that vary, such as \"periods=1000\"");
  command->add_option("--replication", o->replication, "from 0")->capture_default_str();
  command->add_option("--out", o->out, "the table, nested JSONL")->required();
  command->add_flag("--force", o->force, "replace the file that --out names");
  command->add_option("--name", o->name, "of the environment that the table becomes")->capture_default_str();
  session.on_call(command, [o] { export_command(*o); });
}

// The environment that was asked for, or the first that is a table.
Environment table_of(const Study& study, const std::string& name) {
  for (const Environment& environment : study.environments)
    if (environment.trace != nullptr && laws_of(environment) == nullptr && (name.empty() || environment.name == name))
      return environment;
  throw Error(ExitCode::usage, name.empty()
                                   ? "the study has no environment that is a table of outcomes; give a study's file "
                                     "with the key environment.NAME.table"
                                   : fmt::format("--environment {}: is no table of outcomes of the study", name));
}

void features_command(const FileArguments& o) {
  const Environment environment = table_of(o.claim().settings()[0].study, o.environment);
  const auto world = TraceWorld::of(*trace_keys(environment), environment.name);
  write_file(o.out, world->features().to_json().dump() + "\n");
  for (const std::string& note : world->notes()) print_error(note);
  print_text(fmt::format("{} features in {}\n", world->features().size(), o.out));
}

void add_features(CLI::App& trace, Session& session) {
  const auto o = std::make_shared<FileArguments>();
  CLI::App* command = add_command(trace, "features");
  o->study.add_to(*command, {"--t0"}, "the TOML file of a study with a table of outcomes");
  command->add_option("--environment", o->environment, "of the study (default: its first table)");
  command->add_option("--out", o->out, "the file")->required();
  command->add_flag("--force", o->force, "replace the file that --out names");
  session.on_call(command, [o] { features_command(*o); });
}

}  // namespace

void add_trace(CLI::App& program, Session& session) {
  CLI::App* trace = add_command(program, "trace");
  trace->require_subcommand(1);
  add_package_command(*trace, "check", session);
  for (const auto add : {add_export, add_features}) add(*trace, session);
  add_package_command(program, "import", session);
  add_package_command(program, "serve", session);
}

}  // namespace pandora::cli
