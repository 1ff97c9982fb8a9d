// `trace features`: the features of a table's prompts, for other programs.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

struct FeaturesArguments {
  StudyOptions study;
  std::string environment, out;
  bool force = false;
};

// The environment that was asked for, or the first that is a table.
Environment table_of(const Study& study, const std::string& name) {
  for (const Environment& environment : study.environments)
    if (environment.trace != nullptr && (name.empty() || environment.name == name)) return environment;
  throw Error(ExitCode::usage, name.empty()
                                   ? "the study has no environment that is a table of outcomes"
                                   : fmt::format("--environment {}: is no table of outcomes of the study", name));
}

}  // namespace

void add_trace_features(CLI::App& trace, Command& run) {
  const auto o = std::make_shared<FeaturesArguments>();
  CLI::App* command = trace.add_subcommand(
      "features", "what prompts become, fitted on the calibration table, as JSON for other programs");
  o->study.add_file_to(*command);
  o->study.add_to(*command, {"--t0"});
  command->add_option("--environment", o->environment, "of the study (default: its first table)");
  command->add_option("--out", o->out, "the file")->required();
  command->add_flag("--force", o->force, "replace the file that --out names");
  command->callback([o, &run] {
    run = [o] {
      const StudyConfig config = o->study.config();
      claim_output_file(o->out, o->force, o->study.inputs(config));
      const Environment environment = table_of(config.settings()[0].study, o->environment);
      const auto world = TraceWorld::of(*trace_keys(environment), environment.name);
      write_file(o->out, world->features().to_json().dump() + "\n");
      for (const std::string& note : world->notes()) print_error(note);
      print_text(fmt::format("{} features in {}\n", world->features().size(), o->out));
    };
  });
}

}  // namespace pandora::cli
