#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "host/cli/commands.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/cli/study_options.hpp"
#include "host/studies/run/calibrate_cost.hpp"

namespace pandora::cli {
namespace {

// Enough for u to two digits; a study's own numbers are meant for its sweep.
constexpr const char* kReplications = "100";
constexpr const char* kContexts = "200";

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
  if (!o.study.given("--replications")) implied.push_back({"replications", kReplications, "--replications"});
  if (!o.study.given("--contexts")) implied.push_back({"oracle.order_contexts", kContexts, "--contexts"});
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

void add_calibrate(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand(
      "calibrate", fmt::format("u for a wanted number of boxes that the oracle opens per period, over {} replications "
                               "of {} contexts unless --replications and --contexts say otherwise",
                               kReplications, kContexts));
  const auto o = std::make_shared<CalibrateOptions>();
  o->study.add_to(*command,
                  {"--environment", "--regime", "--replications", "--seed", "--contexts", "--samples", "--bins"});
  command->add_option("--boxes", o->wanted_boxes, "boxes per period, over the regimes together")->capture_default_str();
  add_threads(*command, o->threads);
  command->add_flag("--quiet", o->quiet, "no progress");
  session.on_call(command, [o, &session] { calibrate(*o, session); });
}

}  // namespace pandora::cli
