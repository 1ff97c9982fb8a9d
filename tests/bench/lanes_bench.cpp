// The periods that whole lanes play per second on one core, by policy, T, m and lanes in a chunk. The reference engine
// is measured beside them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <thread>
#include <tuple>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "host/lanes/model/drift.hpp"
#include "host/lanes/model/feedback.hpp"
#include "host/studies/study/study.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {
namespace {

constexpr int kCalibration = 50;

Replication replication_of(int periods, int context) {
  Study study;
  study.dimensions.context = context;
  study.environments = {paper_environments()[0]};
  study.regimes = {Regime::A};
  study.replications = 1;
  study.periods = periods;
  study.T0 = {kCalibration};
  study.order = false;
  study.oracle.samples = 20000;  // the oracle is not measured here
  const Plan plan = make_plan(study);
  return prepare_replication(study, plan, plan.units[0], nullptr);
}

// Lanes begin at x_0 where their policy can.
LaneSpec lane_of(const Replication& replication, const std::string& policy, const std::string& reward) {
  const Policy* found = find_policy(policy);
  for (const PolicyVariant& variant : found->variants({0.1}))
    if (variant.reward == reward) return variant.lane(replication, found->needs_calibration ? kCalibration : 0);
  return {};
}

void run(benchmark::State& state, int periods, int context, const std::string& policy, const std::string& reward,
         const std::string& refit, int lanes) {
  const Replication replication = replication_of(periods, context);
  const std::vector<LaneSpec> specs(static_cast<std::size_t>(lanes), lane_of(replication, policy, reward));
  const BlockOptions options{{parse_refit(refit), 1.0, 1.0}, 32};
  for (auto _ : state) benchmark::DoNotOptimize(run_on_cpu<float>(replication, specs, options));
  state.counters["policy_periods"] = benchmark::Counter(static_cast<double>(state.iterations()) * periods * lanes,
                                                        benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

// Counts periods and opened boxes per second, because lanes on a changed problem may open more boxes, or fewer.
void run_changed(benchmark::State& state, const Replication& replication, const std::vector<LaneSpec>& specs,
                 const BlockOptions& options) {
  double periods = 0.0, queries = 0.0;
  for (auto _ : state)
    for (const LaneTally& tally : run_on_cpu<float>(replication, specs, options)) {
      periods += replication.tape.online_rows;
      queries += tally.queries();
    }
  constexpr auto kRate = benchmark::Counter::kIsRate;
  state.counters["policy_periods"] = benchmark::Counter(periods, kRate, benchmark::Counter::kIs1000);
  state.counters["queries"] = benchmark::Counter(queries, kRate, benchmark::Counter::kIs1000);
}

// Lanes on a problem that changes, or on the plain one. A study has the same `environment` and `feedback`.
void run_scenario(benchmark::State& state, const Environment& environment, const FeedbackRules& feedback,
                  const std::string& policy, const std::string& reward) {
  ReplicationRequest request{{}, environment, Regime::B, 0, 1, kCalibration, 30000, {}, feedback};
  request.oracle.samples = 20000;
  const Replication replication = prepare_on_cpu({request}, nullptr, nullptr);
  const std::vector<LaneSpec> specs(6, lane_of(replication, policy, reward));
  const BlockOptions options{{parse_refit("geometric:1.5"), 1.0, 1.0}, 32};
  run_changed(state, replication, specs, options);
}

// A policy under a study's settings of estimation.
void run_under(benchmark::State& state, const EstimationOptions& estimation, const std::string& policy,
               const std::string& reward, const Pacing& pacing = {}) {
  const Replication replication = replication_of(30000, 100);
  LaneSpec spec = with_estimation(lane_of(replication, policy, reward), estimation, 3, 101, 10, 30000);
  spec.pacing = pacing;
  const std::vector<LaneSpec> specs(6, spec);
  run_changed(state, replication, specs, {estimation, 32});
}

void reference(benchmark::State& state, const std::string& policy, const std::string& reward,
               const std::string& refit) {
  const Replication replication = replication_of(30000, 100);
  const LaneSpec spec = lane_of(replication, policy, reward);
  const EstimationOptions options{parse_refit(refit), 1.0, 1.0};
  for (auto _ : state) benchmark::DoNotOptimize(run_reference_lane(replication, spec, options));
  state.counters["policy_periods"] = benchmark::Counter(static_cast<double>(state.iterations()) * 30000,
                                                        benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

// Each thread runs one replication's DOW lanes, as in a sweep. The wall time counts.
void over_threads(benchmark::State& state, int threads) {
  const Replication replication = replication_of(30000, 100);
  const std::vector<LaneSpec> specs(6, lane_of(replication, "dow", "known"));
  const BlockOptions options{{parse_refit("geometric:1.5"), 1.0, 1.0}, 32};
  for (auto _ : state) {
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t)
      pool.emplace_back([&] { benchmark::DoNotOptimize(run_on_cpu<float>(replication, specs, options)); });
    for (std::thread& thread : pool) thread.join();
  }
  state.counters["policy_periods"] = benchmark::Counter(static_cast<double>(state.iterations()) * 30000 * 6 * threads,
                                                        benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

template <class Body>
void add(const std::string& name, Body body) {
  benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond);
}

void add_policies() {
  struct Kind {
    const char *policy, *reward;
  };
  const Kind kinds[] = {{"oracle", "known"},
                        {"online_plugin", "known"},
                        {"online_plugin", "unknown"},
                        {"dow", "known"},
                        {"dow", "unknown"},
                        {"linucb_online", "none"},
                        {"query_all", "known"},
                        {"shrunk_weitzman", "known"},
                        {"shrunk_weitzman", "unknown"},
                        {"thompson_weitzman", "known"},
                        {"epsilon_greedy_weitzman", "known"},
                        {"atsidakou", "known"},
                        {"frugal_order", "known"},
                        {"frugal_stop", "known"}};
  for (const Kind& kind : kinds)
    for (const char* refit : {"geometric:1.5", "tracking"})
      add(std::string("Lane/") + kind.policy + "/" + kind.reward + "/" + refit,
          [=](benchmark::State& state) { run(state, 30000, 100, kind.policy, kind.reward, refit, 6); });
}

// Settings of estimation that differ from the defaults.
void add_estimation() {
  const std::pair<const char*, Bonus> bonuses[] = {{"constant", Bonus::constant}, {"inverse_sqrt", Bonus::inverse_sqrt},
                                                   {"log", Bonus::log},           {"log_ratio", Bonus::log_ratio},
                                                   {"count", Bonus::count},       {"theory", Bonus::theory}};
  for (const char* reward : {"known", "unknown"})
    for (const auto& [name, bonus] : bonuses)
      add(std::string("LaneOverBonus/dow/") + reward + "/" + name, [bonus = bonus, reward](benchmark::State& state) {
        EstimationOptions estimation{parse_refit("geometric:1.5"), 1.0, 1.0};
        estimation.bonus = bonus;
        run_under(state, estimation, "dow", reward);
      });
  for (const char* reward : {"known", "unknown"})
    for (const char* refit : {"geometric:1.5", "tracking"})
      add(std::string("LaneOverTolerance/shrunk_weitzman/") + reward + "/" + refit + "/1",
          [=](benchmark::State& state) {
            EstimationOptions estimation{parse_refit(refit), 1.0, 1.0};
            estimation.joint_tolerance = 1e-4;
            run_under(state, estimation, "shrunk_weitzman", reward);
          });
  for (const char* refit : {"geometric:1.5", "tracking"})
    for (const char* reward : {"known", "unknown"})
      add(std::string("ReferenceLane/dow/") + reward + "/" + refit,
          [=](benchmark::State& state) { reference(state, "dow", reward, refit); });
}

void add_sizes() {
  for (const int T : {1000, 10000, 30000, 100000})
    add("LaneOverT/dow/known/" + std::to_string(T),
        [=](benchmark::State& state) { run(state, T, 100, "dow", "known", "geometric:1.5", 6); });
  for (const int m : {11, 51, 101, 201, 401})
    add("LaneOverM/dow/known/" + std::to_string(m),
        [=](benchmark::State& state) { run(state, 10000, m - 1, "dow", "known", "geometric:1.5", 6); });
  for (const int lanes : {1, 2, 6, 12, 24})
    add("LaneOverLanes/dow/known/" + std::to_string(lanes),
        [=](benchmark::State& state) { run(state, 30000, 100, "dow", "known", "geometric:1.5", lanes); });
  for (int threads = 1; threads <= static_cast<int>(std::thread::hardware_concurrency()); threads *= 2)
    benchmark::RegisterBenchmark(("LaneOverThreads/dow/known/" + std::to_string(threads)).c_str(),
                                 [=](benchmark::State& state) { over_threads(state, threads); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
}

void add_scenarios() {
  Environment plain = paper_environments()[1], correlated = plain, drifting = plain, changing = plain;
  correlated.correlation = 0.6;
  drifting.drift = parse_drift("swap:10000,20000");
  changing.arrives = {{2, 10000}};
  FeedbackRules seldom, late;
  seldom.share = 0.3;
  late.delay = parse_delay("100");
  const std::tuple<const char*, Environment, FeedbackRules> scenarios[] = {
      {"plain", plain, {}},     {"correlation", correlated, {}}, {"drift", drifting, {}},
      {"share", plain, seldom}, {"delay", plain, late},          {"arrives", changing, {}}};
  for (const auto& [policy, reward] :
       {std::pair{"dow", "unknown"}, {"empirical_weitzman", "unknown"}, {"linucb_online", "none"}})
    for (const auto& [name, environment, feedback] : scenarios)
      add(fmt::format("LaneUnder/{}/{}/{}", policy, reward, name),
          [=, e = environment, f = feedback, p = policy, r = reward](benchmark::State& state) {
            run_scenario(state, e, f, p, r);
          });
  const EstimationOptions plain_estimation{parse_refit("geometric:1.5"), 1.0, 1.0};
  EstimationOptions fades = plain_estimation, window = plain_estimation;
  fades.forgetting.half_life = 7500;
  window.forgetting.window = 7500;
  for (const auto& [policy, reward] : {std::pair{"dow", "known"}, {"dow", "unknown"}, {"shrunk_weitzman", "unknown"}})
    for (const auto& [name, estimation, pacing] : {std::tuple{"forgets", fades, Pacing{}},
                                                   {"window", window, Pacing{}},
                                                   {"plain", plain_estimation, Pacing{}},
                                                   {"paces", plain_estimation, Pacing{Pacing::Of::queries, 1.2}}})
      add(fmt::format("LaneThat/{}/{}/{}", policy, reward, name),
          [=, e = estimation, p = policy, r = reward, paces = pacing](benchmark::State& state) {
            run_under(state, e, p, r, paces);
          });
}

const bool registered = [] {
  add_scenarios();
  add_policies();
  add_estimation();
  add_sizes();
  return true;
}();

}  // namespace
}  // namespace pandora
