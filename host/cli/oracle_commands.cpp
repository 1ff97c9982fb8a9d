#include <fmt/format.h>

#include <memory>

#include "host/cli/commands.hpp"
#include "host/draw_instance.hpp"
#include "host/report.hpp"
#include "host/sweep.hpp"
#include "kernels/error.hpp"

namespace pandora::cli {
namespace {

struct IndexOptions {
  std::string environment;
  double shift = 0.0, scale = 1.0, cost = 0.0;
  int samples = kPaperShockSample;
  std::string seed = "1";
};

// sigma with E[(G(l + s w) - sigma)^+] = cost for the shock projected on a unit vector drawn from the seed.
void print_index(const IndexOptions& o) {
  const Environment environment = parse_environments({o.environment})[0];
  require_positive("--cost", o.cost);
  require_positive("--scale", o.scale);
  require_count("--samples", o.samples, 2);
  if (!std::isfinite(o.shift)) throw Error(ExitCode::usage, fmt::format("--ell {}: give a finite number", o.shift));
  Instance instance;  // D = one unit row and theta_* = 1 make the projection the drawn vector
  instance.environment = environment;
  instance.seed = parse_seed(o.seed);
  instance.dimensions.reward_features = 1;
  instance.theta = {1.0};
  instance.D = unit_sphere(instance.stream(Purpose::projection_vector), instance.dimensions.output);
  const ProjectedLaw law = empirical_law(draw_shock_sample(instance, o.samples).projected);
  IndexSolver solver(law);
  solver.evaluate(o.shift, o.scale);
  const double sigma = solver.index(o.cost);
  fmt::print("sigma {:.6f}\nmonte_carlo_se {:.6f}\n", sigma, solver.standard_error(sigma));
}

struct SampleOptions {
  std::vector<std::string> environments = {"uniform", "gaussian", "student_t5"}, regimes = {"A", "B"};
  int replications = 0, contexts = kPaperOrderContexts, samples = kPaperShockSample, solves = 100, bins = 4000;
  int threads = 0;
  std::string seed = "1", grid = "61x21x61";
};

Study study_of(const SampleOptions& o) {
  require_count("--replications", o.replications, 1);
  require_count("--contexts", o.contexts, 1);
  require_count("--solves", o.solves, 1);
  require_count("--samples", o.samples, 1000);
  require_count("--bins", o.bins, 0);
  require_count("--threads", o.threads, 0);
  Study study;
  study.environments = parse_environments(o.environments);
  study.regimes = parse_regimes(o.regimes);
  study.replications = o.replications;
  study.seed = parse_seed(o.seed);
  study.order_contexts = o.contexts;
  study.oracle = {o.samples, parse_grid(o.grid), o.bins};
  study.regret = false;
  return study;
}

void print_order(const SampleOptions& o, const Session& session) {
  const Study study = study_of(o);
  const Plan plan = make_plan(study);
  SweepOptions sweep;
  sweep.threads = o.threads;
  sweep.interrupted = &session.interrupted;
  const Summary summary = summarise(study, plan, run_sweep(study, plan, sweep));
  fmt::print("{}", order_table_text(summary.order, study.replications, study.order_contexts));
}

void print_check(const SampleOptions& o, const Session& session) {
  const Study study = study_of(o);
  fmt::print(
      "Errors of sigma against exact solves on the whole sample of {}; grid {}, {} quantile bins, {} indices in each "
      "of {} replications.\n{:<12}{:<8}{:>12}{:>12}{:>16}{:>16}{:>18}{:>10}\n",
      o.samples, o.grid, o.bins, o.solves, o.replications, "environment", "regime", "grid max", "grid rms",
      "compression max", "compression rms", "Monte Carlo s.e.", "negative");
  for (const Environment& environment : study.environments)
    for (const Regime regime : study.regimes) {
      GridErrors worst;
      for (int r = 0; r < o.replications; ++r) {
        end_if_interrupted(&session.interrupted);
        const Instance instance =
            draw_instance(study.dimensions, environment, regime, static_cast<std::uint32_t>(r), study.seed);
        const ShockSample sample = draw_shock_sample(instance, o.samples);
        const Contexts contexts =
            draw_contexts(instance, {{Purpose::order_context, 0, static_cast<std::uint32_t>(o.contexts)}});
        const GridErrors e = grid_errors(instance, sample, contexts, study.oracle, o.solves);
        worst.grid_max = std::max(worst.grid_max, e.grid_max);
        worst.compression_max = std::max(worst.compression_max, e.compression_max);
        worst.grid_rms += e.grid_rms * e.grid_rms / o.replications;
        worst.compression_rms += e.compression_rms * e.compression_rms / o.replications;
        worst.mean_standard_error += e.mean_standard_error / o.replications;
        worst.negative_share += e.negative_share / o.replications;
      }
      fmt::print("{:<12}{:<8}{:>12.2e}{:>12.2e}{:>16.2e}{:>16.2e}{:>18.2e}{:>9.1f}%\n", environment.name,
                 regime_name(regime), worst.grid_max, std::sqrt(worst.grid_rms), worst.compression_max,
                 std::sqrt(worst.compression_rms), worst.mean_standard_error, 100.0 * worst.negative_share);
      std::fflush(stdout);
    }
}

}  // namespace

void add_oracle(CLI::App& program, Session& session, Command& run) {
  CLI::App* oracle = program.add_subcommand("oracle", "reservation indices, their order and the grid's errors");
  oracle->require_subcommand(1);

  CLI::App* index = oracle->add_subcommand("index", "sigma with E[(G(ell + scale w) - sigma)^+] = cost");
  const auto i = std::make_shared<IndexOptions>();
  index->add_option("--environment", i->environment, "uniform, gaussian or student_t5")->required();
  index->add_option("--ell", i->shift, "shift l")->required();
  index->add_option("--scale", i->scale, "scale s > 0 of the projected shock")->required();
  index->add_option("--cost", i->cost, "expected cost > 0")->required();
  index->add_option("--samples", i->samples, "Monte Carlo shocks")->capture_default_str();
  index->add_option("--seed", i->seed, "seed of the shocks and of the projection vector")->capture_default_str();
  index->callback([i, &run] { run = [i] { print_index(*i); }; });

  const auto sampled = [&](const char* name, const char* what, int replications) {
    CLI::App* command = oracle->add_subcommand(name, what);
    auto o = std::make_shared<SampleOptions>();
    o->replications = replications;
    command->add_option("--environment", o->environments, "uniform,gaussian,student_t5")->delimiter(',');
    command->add_option("--regime", o->regimes, "A,B")->delimiter(',');
    command->add_option("--replications", o->replications, "replications")->capture_default_str();
    command->add_option("--contexts", o->contexts, "contexts per replication")->capture_default_str();
    command->add_option("--samples", o->samples, "Monte Carlo shocks M")->capture_default_str();
    command->add_option("--grid", o->grid, "nodes in l x s x cost")->capture_default_str();
    command->add_option("--bins", o->bins, "quantile bins behind the grid; 0 is the whole sample")
        ->capture_default_str();
    command->add_option("--seed", o->seed, "seed")->capture_default_str();
    return std::make_pair(command, o);
  };
  const auto [order, order_options] = sampled("order", "Table 3: how much the oracle's order varies", 50);
  order->add_option("--threads", order_options->threads, "worker threads; 0 is all cores")->capture_default_str();
  order->callback([o = order_options, &session, &run] { run = [o, &session] { print_order(*o, session); }; });
  const auto [check, check_options] = sampled("check", "errors of the grid and of the compression", 3);
  check->add_option("--solves", check_options->solves, "exact solves per replication")->capture_default_str();
  check->callback([o = check_options, &session, &run] { run = [o, &session] { print_check(*o, session); }; });
  add_oracle_grid(*oracle, session, run);
}

}  // namespace pandora::cli
