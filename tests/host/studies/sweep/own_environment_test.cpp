// Environments by code: drawn numbers that are refused, and indices that no longer fit.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sound.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "kernels/base/error.hpp"
#include "pandora/error.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

ReplicationRequest request_of(Regime regime) {
  Environment environment = paper_environments()[0];
  environment.name = "own";
  environment.id = 178;
  return {{}, environment, regime, 2, 7, 4, 30, test::small_oracle()};
}

Replication model_of(const ReplicationRequest& asked) {
  Replication out;
  out.instance = draw_instance(asked.dimensions, asked.environment, asked.regime, asked.replication, asked.seed);
  out.tape = draw_tape(out.instance, asked.calibration_periods, asked.periods);
  out.sigma = oracle_indices(out.instance, draw_shock_sample(out.instance, asked.oracle.samples), out.tape.contexts,
                             asked.oracle, out.tape.online_row(0));
  return out;
}

std::string refusal_of(const Replication& drawn, const ReplicationRequest& asked) {
  try {
    require_sound(drawn, asked);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
}

TEST(RequireSound, RefusesNumbersThatAreNoneOfTheirKindWithPeriodAndBox) {
  const ReplicationRequest asked = request_of(Regime::B);
  const Replication sound = model_of(asked);
  EXPECT_EQ(refusal_of(sound, asked), "");
  const std::size_t cell = sound.tape.at(sound.tape.online_row(6), 1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto refused = [&](auto&& change, const std::string& said) {
    Replication wrong = sound;
    change(wrong);
    EXPECT_THAT(refusal_of(wrong, asked), HasSubstr(said));
  };
  refused([&](Replication& r) { r.tape.cost[cell] = -1.0; },
          "environment own/B/2: cost of box 2 in online period 7 (index [11, 1]) is -1; give a finite cost from 0 on");
  refused([&](Replication& r) { r.tape.cost[cell] = kInfinity; }, "cost of box 2 in online period 7");
  refused([&](Replication& r) { r.tape.cost[sound.tape.at(3, 2)] = std::nan(""); },
          "cost of box 3 in calibration period 3 (index [3, 2]) is nan");
  refused([&](Replication& r) { r.tape.mu[cell] = 1.5; }, "mu of box 2 in online period 7 (index [11, 1]) is 1.5");
  refused([&](Replication& r) { r.tape.mu[cell] = -0.25; }, "mu of box 2 in online period 7");
  refused([&](Replication& r) { r.tape.reward[cell] = 2.0f; }, "reward of box 2 in online period 7");
  refused([&](Replication& r) { r.tape.phi[cell * 10 + 3] = std::nanf(""); }, "phi of box 2 in online period 7");
  refused([&](Replication& r) { r.tape.contexts.psi[4] = HUGE_VALF; }, "psi in the initial context (index [0]) is inf");
  refused([&](Replication& r) { r.sigma[cell] = std::nan(""); }, "sigma of box 2 in online period 7");
  Replication early = sound;
  early.sigma[0] = std::nan("");  // this row is not checked
  EXPECT_EQ(refusal_of(early, asked), "");
}

TEST(RequireSound, RefusesAnotherShapeByName) {
  const ReplicationRequest asked = request_of(Regime::A);
  Replication wrong = model_of(asked);
  wrong.tape.cost.pop_back();
  EXPECT_THAT(refusal_of(wrong, asked), HasSubstr("the size of cost is 104, not 105"));
  wrong = model_of(asked);
  wrong.tape.online_rows = 29;
  EXPECT_THAT(refusal_of(wrong, asked), HasSubstr("tape.online_rows is 29, not 30"));
}

TEST(LeavesIndicesBehind, WhereCostsOrOutputsAreOthersAndIndicesAreNot) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const ReplicationRequest asked = request_of(regime);
    const Replication model = model_of(asked);
    EXPECT_FALSE(leaves_indices_behind(model, asked));
    const std::size_t cell = model.tape.at(model.tape.online_row(20), 0);
    Replication cheaper = model, better = model;
    cheaper.tape.cost[cell] /= 2.0;
    better.tape.mu[cell] = 0.5;
    EXPECT_TRUE(leaves_indices_behind(cheaper, asked));
    EXPECT_TRUE(leaves_indices_behind(better, asked));
    cheaper.sigma_is_meant = true;
    EXPECT_FALSE(leaves_indices_behind(cheaper, asked));
    Replication right = model;
    const ShockSample sample = draw_shock_sample(model.instance, asked.oracle.samples);
    IndexInputs inputs = index_inputs(model.instance, sample, model.tape.contexts, model.tape.online_row(0));
    right.tape.cost[cell] /= 2.0;
    inputs.cost[cell] /= 2.0;
    right.sigma = indices_of(sample, inputs, asked.oracle);
    EXPECT_FALSE(leaves_indices_behind(right, asked));
    Replication calibration = model;  // before the horizon, where no regret is counted
    calibration.tape.cost[model.tape.at(2, 0)] /= 2.0;
    EXPECT_FALSE(leaves_indices_behind(calibration, asked));
    Replication other = better;
    other.tape.contexts.psi[static_cast<std::size_t>(model.tape.online_row(0)) *
                                static_cast<std::size_t>(model.tape.contexts.index_stride) +
                            1] += 0.5f;
    EXPECT_FALSE(leaves_indices_behind(other, asked));  // these are not the model's contexts
  }
}

// Nothing can be drawn from the environment's law. Its code draws something else, and the run goes on.
TEST(BenchmarkWatch, IsSilentWhereThereIsNoModel) {
  ReplicationRequest asked = request_of(Regime::A);
  const Replication drawn = model_of(asked);
  asked.environment.truncation_radius = 1e-3f;
  EXPECT_THROW(leaves_indices_behind(drawn, asked), InvalidInput);
  BenchmarkWatch watch([](const std::string& message) { ADD_FAILURE() << message; });
  watch(drawn, asked);
}

// A sweep of two regimes and three replications, and the messages of a run.
TEST(BenchmarkWatch, TellsOnceForEachEnvironment) {
  Environment environment = paper_environments()[0];
  environment.name = "stale";
  environment.id = 179;
  register_environment(environment, [](const ReplicationRequest& asked) {
    Replication out = model_of(asked);
    for (double& cost : out.tape.cost) cost /= 2.0;
    return out;
  });
  Study study = test::small_study({}, {environment}, {0}, 1);
  study.policies = {"query_all"};
  study.replications = 3;
  study.order = false;
  std::vector<std::string> told;
  BenchmarkWatch watch([&](const std::string& message) { told.push_back(message); });
  SweepOptions options;
  options.threads = 2;
  options.drawn = std::ref(watch);
  run_sweep(study, make_plan(study), options);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("environment stale: its code changes costs or the value of outputs but keeps"));
}

}  // namespace
}  // namespace pandora
