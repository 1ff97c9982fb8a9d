#include <fmt/format.h>

#include <memory>

#include "host/cli/commands.hpp"
#include "host/run/calibrate_cost.hpp"

namespace pandora::cli {

void add_calibrate(CLI::App& program, Session& session, Command& run) {
  CLI::App* command =
      program.add_subcommand("calibrate", "u for a wanted number of boxes that the oracle opens per period");
  struct Options {
    std::vector<std::string> environments = {"uniform", "gaussian", "student_t5"}, regimes = {"A", "B"};
    std::string seed = "1";
    CostSearch search;
  };
  const auto o = std::make_shared<Options>();
  command->add_option("--environment", o->environments, "uniform,gaussian,student_t5")->delimiter(',');
  command->add_option("--regime", o->regimes, "regimes that are pooled")->delimiter(',');
  command->add_option("--boxes", o->search.wanted_boxes, "boxes per period")->capture_default_str();
  command->add_option("--replications", o->search.replications, "replications per regime")->capture_default_str();
  command->add_option("--contexts", o->search.contexts, "periods per replication")->capture_default_str();
  command->add_option("--samples", o->search.oracle.samples, "Monte Carlo shocks M")->capture_default_str();
  command->add_option("--seed", o->seed, "seed")->capture_default_str();
  command->callback([o, &session, &run] {
    run = [o, &session] {
      session.listen();
      o->search.interrupted = &session.interrupted;
      require_count("--replications", o->search.replications, 1);
      require_count("--contexts", o->search.contexts, 1);
      require_count("--samples", o->search.oracle.samples, 1000);
      require_positive("--boxes", o->search.wanted_boxes);
      o->search.seed = parse_seed(o->seed);
      const std::vector<Environment> environments = parse_environments(o->environments);
      o->search.regimes = parse_regimes(o->regimes);
      fmt::print("{:<12}{:>10}{:>24}{:>10}\n", "environment", "u", "boxes per period", "paper u");
      for (const Environment& environment : environments) {
        const CostSearchResult found = calibrate_cost(environment, o->search);
        fmt::print("{:<12}{:>10.4f}{:>16.3f} ± {:.3f}{:>10.2f}\n", environment.name, found.u, found.boxes,
                   found.half_width_95, environment.cost_level);
        std::fflush(stdout);
      }
    };
  });
}

}  // namespace pandora::cli
