// `oracle`: indices, their order, errors of the grid; `calibrate`: the cost level for a number of boxes that it opens.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>

#include "host/cli/commands.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/base/fail.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/run/oracle_alone.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "pandora/environment.hpp"

namespace pandora::cli {
namespace {

struct OracleArguments {
  StudyOptions study;
  double shift = 0.0, scale = 1.0, cost = 0.0;  // of `index`
  int threads = 0;                              // of `order`
  int solves = 100;                             // of `check`
};

// sigma with E[(G(l + s w) - sigma)^+] = cost for the shock projected on a unit vector drawn from the seed.
void print_index(const OracleArguments& o) {
  require_positive("--cost", o.cost);
  require_positive("--scale", o.scale);
  if (!std::isfinite(o.shift)) fail(ExitCode::usage, "--ell {}: give a finite number", o.shift);
  const std::vector<Setting> settings = oracle_settings(o.study.config());
  if (const std::vector<Environment>& environments = settings[0].study.environments; environments.size() > 1) {
    std::vector<std::string> names;
    for (const Environment& environment : environments) names.push_back(environment.name);
    fail(ExitCode::usage, "--environment: an index is of one environment; name one of {}", fmt::join(names, ", "));
  }
  for (const Setting& setting : settings) {
    const OracleIndex::Found found = OracleIndex(setting.study)(o.shift, o.scale, o.cost);
    print_setting(setting);
    fmt::print("sigma {:.6f}\nmonte_carlo_se {:.6f}\n", found.sigma, found.standard_error);
  }
}

void print_order(const OracleArguments& o, Session& session) {
  session.listen();
  require_count("--threads", o.threads, 0);
  SweepOptions sweep;
  sweep.threads = o.threads;
  sweep.interrupted = &session.interrupted;
  for (Setting& setting : oracle_settings(o.study.config())) {
    Study& study = setting.study;
    study.regret = false;
    study.order = true;
    const Plan plan = make_plan(study);
    const Summary summary = summarise(study, plan, run_sweep(study, plan, sweep));
    print_setting(setting);
    print_tables({order_table({{{{}, study}, summary}}, TableLayout::compact)});
  }
}

// A few replications tell the errors; a study's own number would take hours.
constexpr const char* kCheckedReplications = "3";
constexpr int kMostSolves = 10000;  // a replication's take a minute; errors are known long before

void print_check(const OracleArguments& o, Session& session) {
  session.listen();
  require_count("--solves", o.solves, 1, kMostSolves);
  std::vector<StudyOptions::Implied> implied;
  if (!o.study.given("--replications")) implied.push_back({"replications", kCheckedReplications, "--replications"});
  for (const Setting& setting : oracle_settings(o.study.config(implied))) {
    const Study& study = setting.study;
    const GridShape& grid = study.oracle.grid;
    print_setting(setting);
    fmt::print(
        "Errors of sigma against exact solves on the whole sample of {}; grid {}x{}x{}, {} quantile bins, {} indices "
        "in each of {} replications.\n{:<11} {:<8}{:>12}{:>12}{:>16}{:>16}{:>18}{:>10}\n",
        study.oracle.samples, grid.shift, grid.scale, grid.cost, study.oracle.bins, o.solves, study.replications,
        "environment", "regime", "grid max", "grid rms", "compression max", "compression rms", "Monte Carlo s.e.",
        "negative");
    for (const Environment& environment : study.environments)
      for (const Regime regime : study.regimes) {
        GridErrors worst;
        for (int r = 0; r < study.replications; ++r) {
          end_if_interrupted(&session.interrupted);
          const Instance instance =
              draw_instance(study.dimensions, environment, regime, static_cast<std::uint32_t>(r), study.seed);
          const ShockSample sample = draw_shock_sample(instance, study.oracle.samples);
          const Contexts contexts =
              draw_contexts(instance, {{Purpose::order_context, 0, static_cast<std::uint32_t>(study.order_contexts)}});
          const GridErrors e = grid_errors(instance, sample, contexts, study.oracle, o.solves);
          worst.grid_max = std::max(worst.grid_max, e.grid_max);
          worst.compression_max = std::max(worst.compression_max, e.compression_max);
          worst.grid_rms += e.grid_rms * e.grid_rms / study.replications;
          worst.compression_rms += e.compression_rms * e.compression_rms / study.replications;
          worst.mean_standard_error += e.mean_standard_error / study.replications;
          worst.negative_share += e.negative_share / study.replications;
        }
        fmt::print("{:<11} {:<8}{:>12.2e}{:>12.2e}{:>16.2e}{:>16.2e}{:>18.2e}{:>9.1f}%\n", environment.name,
                   regime_name(regime), worst.grid_max, std::sqrt(worst.grid_rms), worst.compression_max,
                   std::sqrt(worst.compression_rms), worst.mean_standard_error, 100.0 * worst.negative_share);
        std::fflush(stdout);
      }
  }
}

// Enough for u to two digits; a study's own numbers are meant for its sweep.
constexpr const char* kCalibrationReplications = "100";
constexpr const char* kCalibrationContexts = "200";

struct CalibrateOptions {
  StudyOptions study;
  double wanted_boxes = CostSearch{}.wanted_boxes;
  int threads = 0;
  bool quiet = false;
};

void calibrate(const CalibrateOptions& o, Session& session) {
  session.listen();
  require_positive("--boxes", o.wanted_boxes);
  require_count("--threads", o.threads, 0);
  std::vector<StudyOptions::Implied> implied;
  if (!o.study.given("--replications")) implied.push_back({"replications", kCalibrationReplications, "--replications"});
  if (!o.study.given("--contexts")) implied.push_back({"oracle.order_contexts", kCalibrationContexts, "--contexts"});
  for (const Setting& setting : oracle_settings(o.study.config(implied))) {
    const Study& study = setting.study;
    CostSearch search;
    search.dimensions = study.dimensions;
    search.regimes = study.regimes;
    search.wanted_boxes = o.wanted_boxes;
    search.replications = study.replications;
    search.contexts = study.order_contexts;
    search.seed = study.seed;
    search.oracle = study.oracle;
    search.threads = o.threads;
    search.interrupted = &session.interrupted;
    for (const Environment& environment : study.environments) require_cost_level(environment);
    print_setting(setting);
    fmt::print("{:<12}{:>10}{:>24}{:>12}\n", "environment", "u", "boxes per period", "study's u");
    for (const Environment& environment : study.environments) {
      auto bar = std::make_unique<ProgressBar>(o.quiet, "steps");
      search.progress = [&bar](std::size_t done, std::size_t total) { bar->update(done, total); };
      const CostSearchResult found = calibrate_cost(environment, search);
      bar.reset();
      fmt::print("{:<12}{:>10.4f}{:>16.3f} ± {:<5}{:>12.2f}\n", environment.name, found.u, found.boxes,
                 std::isnan(found.half_width_95) ? "---" : fmt::format("{:.3f}", found.half_width_95),
                 environment.cost_level);
      std::fflush(stdout);
    }
  }
}

}  // namespace

void print_setting(const Setting& setting) {
  if (!setting.varied.empty()) print_text(fmt::format("\n==== {} ====\n", setting.label()));
}

std::vector<Setting> oracle_settings(const StudyConfig& config) {
  std::vector<Setting> settings = config.settings();
  for (const Setting& setting : settings)
    for (const Environment& environment : setting.study.environments)
      if (find_drawer(environment.name) || environment.trace != nullptr)
        fail(ExitCode::usage, "environment {}: {}; leave it out by --environment", environment.name,
             laws_of(environment) != nullptr ? "has finite laws, whose oracle `pandora oracle exact` has"
             : environment.trace != nullptr  ? "is a table of outcomes, whose oracle nobody knows"
                                             : "its oracle is code of its own, without tables");
  return settings;
}

void add_oracle(CLI::App& program, Session& session) {
  CLI::App* oracle = add_command(program, "oracle");
  oracle->require_subcommand(1);

  CLI::App* index = add_command(*oracle, "index");
  const auto o = std::make_shared<OracleArguments>();
  o->study.add_to(*index, {"--environment", "--samples", "--seed"});
  index->add_option("--ell", o->shift, "shift l")->required();
  index->add_option("--scale", o->scale, "scale s > 0 of the projected shock")->required();
  index->add_option("--cost", o->cost, "expected cost > 0")->required();
  session.on_call(index, [o] { print_index(*o); });

  const std::vector<std::string> sampled = {"--environment", "--regime",  "--replications", "--seed",
                                            "--contexts",    "--samples", "--grid",         "--bins"};
  CLI::App* order = add_command(*oracle, "order");
  const auto of_order = std::make_shared<OracleArguments>();
  of_order->study.add_to(*order, sampled);
  add_threads(*order, of_order->threads);
  session.on_call(order, [of_order, &session] { print_order(*of_order, session); });

  CLI::App* check = add_command(*oracle, "check");
  const auto of_check = std::make_shared<OracleArguments>();
  of_check->study.add_to(*check, sampled);
  check->add_option("--solves", of_check->solves, "exact solves per replication")->capture_default_str();
  session.on_call(check, [of_check, &session] { print_check(*of_check, session); });
  add_oracle_grid(*oracle, session);
  add_oracle_exact(*oracle, session);
}

void add_calibrate(CLI::App& program, Session& session) {
  CLI::App* command = add_command(program, "calibrate");
  const auto o = std::make_shared<CalibrateOptions>();
  o->study.add_to(*command,
                  {"--environment", "--regime", "--replications", "--seed", "--contexts", "--samples", "--bins"});
  command->add_option("--boxes", o->wanted_boxes, "boxes per period, over the regimes together")->capture_default_str();
  add_threads(*command, o->threads);
  command->add_flag("--quiet", o->quiet, "no progress");
  session.on_call(command, [o, &session] { calibrate(*o, session); });
}

}  // namespace pandora::cli
