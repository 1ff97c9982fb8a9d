#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <thread>

#include "host/backend_choice.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/forecast.hpp"
#include "host/manifest.hpp"
#include "host/output_folder.hpp"
#include "host/report.hpp"
#include "kernels/error.hpp"

namespace pandora::cli {
namespace {

struct Options {
  std::string table = "all";
  std::vector<std::string> environments = {"uniform", "gaussian", "student_t5"};
  std::vector<std::string> regimes = {"A", "B"};
  bool regimes_given = false;
  std::vector<int> T0 = kPaperCalibration;
  std::vector<std::string> policies;
  int replications = kPaperReplications, periods = kPaperPeriods, samples = kPaperShockSample, threads = 0;
  std::string refit = "geometric:1.5", grid = "61x21x61", seed = "1", backend = "auto", devices = "all", out;
  std::string engine = "blocked", precision = "single";
  int block = EngineSettings{}.block, chunk = EngineSettings{}.chunk;
  double ridge_index = 1.0, ridge_reward = 1.0;
  bool force = false, quiet = false, plan = false;
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ExitCode::usage, message);
}

EngineSettings parse_engine(const Options& o) {
  EngineSettings engine;
  if (o.engine != "blocked" && o.engine != "reference")
    refuse(fmt::format("--engine {}: unknown; use blocked or reference", o.engine));
  if (o.precision != "single" && o.precision != "double")
    refuse(fmt::format("--precision {}: unknown; use single or double", o.precision));
  if (o.block < 1 || o.block > 1024) refuse(fmt::format("--block {}: out of range; give 1 to 1024 periods", o.block));
  require_count("--chunk", o.chunk, 1);
  engine.kind = o.engine == "blocked" ? EngineSettings::Kind::blocked : EngineSettings::Kind::reference;
  engine.precision = o.precision == "single" ? EngineSettings::Precision::fp32 : EngineSettings::Precision::fp64;
  engine.block = o.block;
  engine.chunk = o.chunk;
  return engine;
}

Study study_of(const Options& o) {
  Study study;
  study.environments = parse_environments(o.environments);
  study.regimes = parse_regimes(o.regimes);
  if (o.table != "1" && o.table != "2" && o.table != "3" && o.table != "all")
    refuse(fmt::format("--table {}: unknown; use 1, 2, 3 or all", o.table));
  if (o.table == "1" || o.table == "2") {  // a table of regrets is one regime
    const Regime regime = o.table == "1" ? Regime::A : Regime::B;
    if (o.regimes_given && study.regimes != std::vector<Regime>{regime})
      refuse(fmt::format("--table {} is regime {}: leave --regime out or give --regime {}", o.table,
                         regime_name(regime), regime_name(regime)));
    study.regimes = {regime};
  }
  study.regret = o.table != "3";
  study.order = o.table == "3" || o.table == "all";
  require_count("--replications", o.replications, 1);
  require_count("--periods", o.periods, 1);
  require_count("--samples", o.samples, 1000);
  require_count("--threads", o.threads, 0);
  std::set<int> seen;
  for (int T0 : o.T0) {
    require_count("--t0", T0, 0);
    if (!seen.insert(T0).second) refuse(fmt::format("--t0 {}: named twice; name each once", T0));
  }
  for (const std::string& name : o.policies)
    if (find_policy(name) == nullptr)
      refuse(fmt::format("--policy {}: unknown; `pandora policies` lists the policies", name));
  require_positive("--eta-index", o.ridge_index);
  require_positive("--eta-reward", o.ridge_reward);
  study.T0 = o.T0;
  study.policies = o.policies;
  study.replications = o.replications;
  study.periods = o.periods;
  study.seed = parse_seed(o.seed);
  study.estimation = {RefitSchedule::parse(o.refit), o.ridge_index, o.ridge_reward};
  study.oracle.samples = o.samples;
  study.oracle.grid = parse_grid(o.grid);
  study.engine = parse_engine(o);
  return study;
}

void reproduce(const Options& o, Session& session) {
  const Study study = study_of(o);
  RunRecord record;
  record.command = session.command_line;
  const BackendChoice backend =
      choose_backend(o.backend, o.devices, study.engine, o.backend == "cpu" ? DeviceReport{} : find_devices());
  record.backend = backend.name;
  record.backend_reason = backend.reason;
  record.threads = o.threads > 0 ? o.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  record.started = utc_now();
  const Plan plan = make_plan(study);
  if (o.plan) {
    fmt::print("{}", forecast_text(study, plan, record.threads));
    return;
  }
  const std::filesystem::path folder = claim_output_folder(o.out, o.force);
  if (!o.quiet)
    fmt::print("backend {} ({}), {}, {} threads, refit {}, {} replications x {} lanes, results in {}\n", backend.name,
               backend.reason, study.engine.text(), record.threads, study.estimation.refit.text(), plan.units.size(),
               study.regret ? plan.lanes.size() : 0, folder.string());
  std::fflush(stdout);

  const auto start = std::chrono::steady_clock::now();
  std::vector<UnitResult> results;
  {
    ProgressBar bar(o.quiet);
    results =
        run_sweep(study, plan,
                  {record.threads, backend.devices,
                   [&bar](std::size_t done, std::size_t total) { bar.update(done, total); }, &session.interrupted});
  }
  record.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  record.ended = utc_now();

  const Summary summary = summarise(study, plan, results);
  if (study.regret) {
    write_file(folder / "summary.csv", summary_csv(summary));
    write_file(folder / "oracle.csv", oracle_csv(summary));
  }
  if (study.order) write_file(folder / "oracle_order.csv", order_csv(summary));
  write_file(folder / "manifest.json", manifest_json(study, record));
  fmt::print("{}", tables_text(study, summary));
  if (!o.quiet) fmt::print("\n{:.0f} s, results in {}\n", record.wall_seconds, folder.string());
}

}  // namespace

void add_reproduce(CLI::App& program, Session& session, Command& run) {
  CLI::App* command = program.add_subcommand("reproduce", "Tables 1 to 3 of the paper beside the published numbers");
  const auto o = std::make_shared<Options>();
  command->add_option("--table", o->table, "1 (regime A), 2 (regime B), 3 (the oracle's order) or all")
      ->capture_default_str();
  command->add_option("--environment", o->environments, "uniform,gaussian,student_t5")->delimiter(',');
  CLI::Option* regime = command->add_option("--regime", o->regimes, "A,B")->delimiter(',');
  command->add_option("--t0", o->T0, "calibration periods T_0: 0,50,100,1000")->delimiter(',');
  command->add_option("--policy", o->policies, "policies (default all); see `pandora policies`")->delimiter(',');
  command->add_option("--replications", o->replications, "replications R per cell")->capture_default_str();
  command->add_option("--periods", o->periods, "online periods T")->capture_default_str();
  command->add_option("--seed", o->seed, "seed of all draws")->capture_default_str();
  command->add_option("--refit", o->refit, "every_period, every:k, geometric:g or tracking")->capture_default_str();
  command->add_option("--eta-index", o->ridge_index, "ridge eta_1 of the index fit and of V")->capture_default_str();
  command->add_option("--eta-reward", o->ridge_reward, "ridge eta_0 of the reward fit and of Phi")
      ->capture_default_str();
  command->add_option("--grid", o->grid, "nodes of the oracle grid in l x s x cost")->capture_default_str();
  command->add_option("--samples", o->samples, "Monte Carlo shocks M of the oracle")->capture_default_str();
  command->add_option("--backend", o->backend, "auto, cpu or cuda")->capture_default_str();
  command->add_option("--devices", o->devices, "GPUs, such as 0,1, or all")->capture_default_str();
  command->add_option("--threads", o->threads, "worker threads; 0 is all cores")->capture_default_str();
  command->add_option("--engine", o->engine, "blocked, or reference: the plain recursion in double")
      ->capture_default_str();
  command->add_option("--precision", o->precision, "single or double, of the blocked engine")->capture_default_str();
  command->add_option("--block", o->block, "periods per block")->capture_default_str();
  command->add_option("--chunk", o->chunk, "lanes that a thread advances together")->capture_default_str();
  command->add_flag("--plan", o->plan, "print lanes, memory and estimated time, and exit");
  command->add_option("--out", o->out, "folder for the results (default: the next free results/NNN)");
  command->add_flag("--force", o->force, "accept a folder that is not empty and replace its results");
  command->add_flag("--quiet", o->quiet, "print the tables only");
  command->callback([o, regime, &session, &run] {
    o->regimes_given = regime->count() > 0;
    run = [o, &session] { reproduce(*o, session); };
  });
}

}  // namespace pandora::cli
