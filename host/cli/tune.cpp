// `tune`: hyperparameters chosen by successive halving and judged on fresh replications.
#include "host/studies/run/tune.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/studies/run/tune_tables.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

struct TuneArguments {
  StudyOptions study;
  BackendOptions backend;
  std::string format = "text";
  std::int64_t budget = 0;
  std::optional<std::string> out;  // an empty word is an error, not an absent option
  bool quiet = false, force = false;
};

void tune_command(const TuneArguments& o, Session& session) {
  session.listen();
  const TableFormat format = parse_table_format(o.format);
  require_count("--threads", o.backend.threads, 0);
  if (o.budget < 1)
    throw Error(ExitCode::usage,
                fmt::format("--budget {}: give the lanes that the choice may take, 1 or more", o.budget));
  const StudyConfig config = o.study.config();
  if (o.out) claim_output_file(*o.out, o.force, o.study.inputs(config));
  const std::vector<PlannedSetting> settings = make_plans(config);
  TuneOptions options;
  options.budget = static_cast<std::uint64_t>(o.budget);
  options.sweep.threads = o.backend.threads;
  options.sweep.devices = o.backend.choose(settings).devices;
  options.sweep.interrupted = &session.interrupted;
  auto bar = std::make_unique<ProgressBar>(o.quiet);
  options.sweep.progress = [&bar](std::size_t done, std::size_t total) {
    if (done > 0) bar->update(done, total);
  };
  const Tuning tuning = tune(settings, options);
  bar.reset();
  if (o.out)
    write_file(*o.out, tune_json(tuning, config).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (format == TableFormat::csv)
    print_text(tune_columns(tuning).csv());
  else
    for (const Table& table : tune_tables(tuning)) print_table(table, format);
  std::fflush(stdout);
  int failed = 0;
  for (const TuneRace& race : tuning.races) failed += race.judged.failed() + race.judged_standard.failed();
  if (failed > 0)
    throw Error(ExitCode::internal, fmt::format("lanes of a policy failed in {} of the replications that it is judged "
                                                "on, which are left out",
                                                failed));
}

}  // namespace

void add_tune(CLI::App& program, Session& session) {
  const auto o = std::make_shared<TuneArguments>();
  CLI::App* command =
      program.add_subcommand("tune", "choose hyperparameters by successive halving, judge them on fresh replications");
  o->study.add_to(*command);
  o->backend.add_to(*command);
  command->add_option("--budget", o->budget, "lanes that the choice may take (a lane is a policy in one replication)")
      ->required();
  command->add_option("--format", o->format, "text, markdown, latex or csv")->capture_default_str();
  command->add_option("--out", o->out, "JSON file with candidates, rounds, what was judged and the study");
  command->add_flag("--force", o->force, "replace the file that --out names");
  command->add_flag("--quiet", o->quiet, "no progress");
  session.on_call(command, [o, &session] { tune_command(*o, session); });
}

}  // namespace pandora::cli
