// What simulates the lanes of a study: `run` and `reproduce`, which is `run` with the paper's study; `merge`; `tune`,
// hyperparameters chosen by successive halving and judged on fresh replications.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/base/fail.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/run/folder_record.hpp"
#include "host/studies/run/forecast.hpp"
#include "host/studies/run/run_parts.hpp"
#include "host/studies/run/run_study.hpp"
#include "host/studies/run/tune_tables.hpp"
#include "host/studies/study/study.hpp"

namespace pandora::cli {
namespace {

struct RunArguments {
  StudyOptions study;
  BackendOptions backend;
  std::optional<std::string> table, out, shard, oracle_cache;  // an empty word is an error, not an absent option
  std::optional<double> device_memory;
  bool plan = false, resume = false, extend = false, report = false, force = false, quiet = false,
       print_defaults = false;
};

void check_device_memory(const RunArguments& o) {
  if (!o.device_memory) return;
  const double memory = *o.device_memory;
  if (!(memory > 0.0 && memory <= 1e5))
    fail(ExitCode::usage, "--device-memory {:g}: give GiB, above 0 and up to 1e5", memory);
  if (!o.plan || o.backend.backend != "cuda") fail(ExitCode::usage, "--device-memory: goes with --plan --backend cuda");
  if (o.resume || o.extend || o.shard || o.backend.devices != "all")
    fail(ExitCode::usage,
         "--device-memory: plans the whole study on one device; leave out --resume, --extend, --shard and --devices");
}

// A table of regrets is one regime.
std::vector<StudyOptions::Implied> implied_by_table(const RunArguments& o) {
  if (!o.table || *o.table == "all") return {};
  const std::string where = "--table " + *o.table;
  if (*o.table == "3") return {{"output.regret", "false", where}};
  if (*o.table != "1" && *o.table != "2") fail(ExitCode::usage, "{}: unknown; use 1, 2, 3 or all", where);
  const std::string regime = *o.table == "1" ? "A" : "B";
  if (const auto& given = o.study.given("--regime"); given && *given != regime)
    fail(ExitCode::usage, "{} is regime {}: leave --regime out or give --regime {}", where, regime, regime);
  return {{"regimes", regime, where}, {"output.order", "false", where}};
}

StudyConfig config_of(const RunArguments& o, bool paper) {
  if (!paper && o.study.file().empty())
    fail(ExitCode::usage, "run: name a study's file, such as experiments/quick.toml; see --help");
  return o.study.config(implied_by_table(o));
}

ResultFolder::Mode mode_of(const RunArguments& o) {
  if (o.resume + o.extend + o.force > 1)
    fail(ExitCode::usage, "--resume, --extend and --force: go on, grow, or replace what is there; give one");
  if ((o.resume || o.extend) && !o.out)
    fail(ExitCode::usage, "--{}: name the folder to go on with by --out", o.resume ? "resume" : "extend");
  return o.resume   ? ResultFolder::Mode::resume
         : o.extend ? ResultFolder::Mode::extend
         : o.force  ? ResultFolder::Mode::replace
                    : ResultFolder::Mode::fresh;
}

// A rank takes one of its node's devices, in turn.
BackendChoice backend_of(const RunArguments& o, const std::vector<PlannedSetting>& settings, const Ranks& ranks) {
  BackendChoice backend = o.backend.choose(settings);
  if (ranks.ranks_on_node() > 1 && !backend.devices.empty())
    backend.devices.ids = {
        backend.devices.ids[static_cast<std::size_t>(ranks.rank_on_node()) % backend.devices.ids.size()]};
  return backend;
}

using Clock = std::chrono::steady_clock;

void print_outcome(const RunOutcome& outcome, bool quiet, Clock::time_point start, bool report = false) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (outcome.complete) {
    print_tables(study_tables(outcome.findings.settings, TableLayout::compact));
    if (!quiet) print_text(fmt::format("\n{:.0f} s, results in {}\n", seconds, outcome.folder.string()));
  } else {
    print_text(fmt::format("{} of {} parts are in {}; `pandora merge` puts the shards together\n", outcome.parts_there,
                           outcome.parts, outcome.folder.string()));
    if (report) print_text("no report: it is made of complete results; `pandora report` makes it then\n");
  }
  if (outcome.complete && report) make_report(outcome.folder.string());
  std::fflush(stdout);
  if (outcome.findings.failed_lanes > 0)
    throw Error(
        ExitCode::internal,
        outcome.complete
            ? fmt::format("{} lanes failed and are left out of the tables; {} says how and how to run them alone",
                          outcome.findings.failed_lanes, (outcome.folder / "failures.csv").string())
            : fmt::format("{} lanes failed; failures.csv of the merged results will say how",
                          outcome.findings.failed_lanes));
}

RunOptions options_of(Session& session) {
  RunOptions run;
  run.command = session.command_line;
  run.program = session.program;
  run.interrupted = &session.interrupted;
  run.note = print_error;
  return run;
}

// The plan of the whole study or, with --resume and --extend, of the work that the folder lacks.
void print_plan(const StudyConfig& config, const std::vector<PlannedSetting>& settings, const RunOptions& run,
                int processes, const std::optional<double>& device_memory) {
  if (const std::string note = unkept_budgets(settings); !note.empty()) print_error(note);
  if (device_memory) {
    print_text(device_forecast_text(whole_sweeps(settings), *device_memory));
    return;
  }
  if (run.mode != ResultFolder::Mode::resume && run.mode != ResultFolder::Mode::extend) {
    print_text(forecast_text(settings, whole_sweeps(settings), make_parts(settings), run.threads, processes));
    return;
  }
  const MissingWork missing = missing_work(config, settings, run);
  print_text(fmt::format("missing           in {}: {} of {} parts; the lines below are about these parts\n", run.out,
                         missing.parts.size(), missing.parts_of_study) +
             forecast_text(settings, missing.sweeps, missing.parts, run.threads, processes));
}

// Tables of outcomes may be large: how far reading is, where somebody looks, and an end on a signal.
class ReadingProgress {
 public:
  ReadingProgress(bool quiet, const Session& session) {
    TraceWorld::set_progress([this, quiet, &session](const std::string& file, std::uint64_t done, std::uint64_t total) {
      if (session.interrupted) throw Error(ExitCode::interrupted, "interrupted; nothing was written");
      if (file != file_) bar_ = std::make_unique<ProgressBar>(quiet || !is_terminal(STDERR_FILENO), "MiB");
      file_ = file;
      bar_->update_bytes(done, total);
    });
  }
  ~ReadingProgress() { TraceWorld::set_progress({}); }
  ReadingProgress(const ReadingProgress&) = delete;

 private:
  std::string file_;
  std::unique_ptr<ProgressBar> bar_;
};

void run_command(const RunArguments& o, bool paper, Session& session) {
  if (o.print_defaults) {
    fmt::print("{}", commented_defaults());
    return;
  }
  if (!o.plan) session.listen();
  const Ranks ranks;
  StudyConfig config;
  std::vector<PlannedSetting> settings;
  RunOptions run = options_of(session);
  const std::exception_ptr failure = caught([&] {
    require_count("--threads", o.backend.threads, 0);
    check_device_memory(o);
    config = config_of(o, paper);
    {
      const ReadingProgress reading(o.quiet || o.plan || ranks.rank() != 0, session);
      fill_in_tables(config);
    }
    settings = make_plans(config);
    run.mode = mode_of(o);
    run.study_file = o.study.file();
    run.out = folder_of("--out", o.out);
    run.oracle_cache = folder_of("--oracle-cache", o.oracle_cache);
    if (o.shard) run.shard = Shard::parse(*o.shard);
    if (!o.device_memory) run.backend = backend_of(o, settings, ranks);
  });
  ranks.agree(failure);
  run.threads = o.backend.threads > 0 ? o.backend.threads : ranks.cores();
  if (o.plan) {
    if (ranks.rank() == 0) print_plan(config, settings, run, run.shard.count * ranks.size(), o.device_memory);
    return;
  }
  const bool quiet = o.quiet || ranks.rank() != 0;
  const auto start = Clock::now();
  std::unique_ptr<ProgressBar> bar;
  run.started = [&](const std::filesystem::path& folder, std::size_t there, std::size_t parts) {
    if (quiet) return;
    std::size_t units = 0;
    for (const PlannedSetting& planned : settings) units += planned.plan.units.size();
    const Study& study = settings[0].setting.study;
    print_text(fmt::format("backend {} ({}), {}, {} threads, refit {}, {} replications x {} lanes, results in {}\n",
                           run.backend.name, run.backend.reason, study.engine.text(), run.threads,
                           refit_text(study.estimation.refit), units, study.regret ? settings[0].plan.lanes.size() : 0,
                           folder.string()));
    if (there > 0) fmt::print("{} of {} parts are there already\n", there, parts);
    std::fflush(stdout);
    bar = std::make_unique<ProgressBar>(false);
  };
  run.progress = [&bar](std::size_t done, std::size_t total) {
    if (bar) bar->update(done, total);
  };
  run.failed = print_error;
  const RunOutcome outcome = run_study(config, run, ranks);
  bar.reset();
  if (ranks.rank() == 0) print_outcome(outcome, o.quiet, start, o.report);
}

void add_run_options(CLI::App* command, RunArguments& o, const char* study_file) {
  command->add_option("--out", o.out, "folder for the results (default: the next free results/NNN)");
  command->add_flag("--resume", o.resume, "go on with what --out holds of the same study");
  command->add_flag("--extend", o.extend,
                    "grow what --out holds: more replications, policies, hyperparameters, T0, environments or regimes");
  command->add_flag("--force", o.force, "accept a folder that is not empty and replace its results");
  command->add_flag("--report", o.report, "make the report too (`pandora report`)");
  command->add_flag("--quiet", o.quiet, "print the tables only");
  command->add_flag("--plan", o.plan, "print lanes, memory, time and how the work is split, and exit");
  o.study.add_to(*command, {}, study_file);
  o.backend.add_to(*command);
  command->add_option("--shard", o.shard, "I/N: do part I (from 0) of N, for `pandora merge`")->group(kMachine);
  command->add_option("--oracle-cache", o.oracle_cache, "folder that keeps oracle tables between runs")
      ->group(kMachine);
  command
      ->add_option("--device-memory", o.device_memory, "GiB of a GPU that need not be here, for --plan --backend cuda")
      ->group(kMachine);
}

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
  if (o.budget < 1) fail(ExitCode::usage, "--budget {}: give the lanes that the choice may take, 1 or more", o.budget);
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
    print_tables(tune_tables(tuning), format);
  std::fflush(stdout);
  int failed = 0;
  for (const TuneRace& race : tuning.races) failed += race.judged.failed() + race.judged_standard.failed();
  if (failed > 0)
    fail(ExitCode::internal,
         "lanes of a policy failed in {} of the replications that it is judged on, which are left out", failed);
}

}  // namespace

void add_run(CLI::App& program, Session& session) {
  for (const bool paper : {false, true}) {
    const auto o = std::make_shared<RunArguments>();
    CLI::App* command = paper ? add_command(program, "reproduce") : add_command(program, "run");
    if (paper)
      command->add_option("--table", o->table, "1 (regime A), 2 (regime B), 3 (the oracle's order) or all");
    else
      command->add_flag("--print-defaults", o->print_defaults, "print a study with every key explained, and exit");
    add_run_options(command, *o, paper ? nullptr : "TOML file, such as experiments/quick.toml");
    session.on_call(command, [o, paper, &session] { run_command(*o, paper, session); });
  }
}

void add_merge(CLI::App& program, Session& session) {
  struct MergeOptions {
    std::vector<std::string> folders;
    std::optional<std::string> out;
    bool force = false, quiet = false;
  };
  const auto o = std::make_shared<MergeOptions>();
  CLI::App* command = add_command(program, "merge");
  command->add_option("folders", o->folders, "folders that `run --shard` wrote")->required();
  command->add_option("--out", o->out, "folder for the results (default: the next free results/NNN)");
  command->add_flag("--force", o->force, "accept a folder that is not empty and replace its results");
  command->add_flag("--quiet", o->quiet, "print the tables only");
  session.on_call(command, [o, &session] {
    session.listen();
    RunOptions options = options_of(session);
    options.out = folder_of("--out", o->out);
    options.mode = o->force ? ResultFolder::Mode::replace : ResultFolder::Mode::fresh;
    options.backend.name = "none";
    const auto start = Clock::now();
    print_outcome(merge_folders(o->folders, options), o->quiet, start);
  });
}

void add_tune(CLI::App& program, Session& session) {
  const auto o = std::make_shared<TuneArguments>();
  CLI::App* command = add_command(program, "tune");
  command->add_option("--budget", o->budget, "lanes that the choice may take (a lane is a policy in one replication)")
      ->required();
  command->add_option("--format", o->format, "text, markdown, latex or csv")->capture_default_str();
  command->add_option("--out", o->out, "JSON file with candidates, rounds, what was judged and the study");
  command->add_flag("--force", o->force, "replace the file that --out names");
  command->add_flag("--quiet", o->quiet, "no progress");
  o->study.add_to(*command);
  o->backend.add_to(*command);
  session.on_call(command, [o, &session] { tune_command(*o, session); });
}

}  // namespace pandora::cli
