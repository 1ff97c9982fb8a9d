#include <gmock/gmock.h>

#include <cmath>

#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sound.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {
using testing::HasSubstr;

Study small_study(Regime regime) {
  Study study;
  study.dimensions = {3, 4, 100, 2, IndexFeatures::affine, 2000};
  study.environments = {*find_environment("uniform")};
  study.regimes = {regime};
  study.T0 = {3};
  study.policies = {"query_all", "dow"};
  study.replications = 2;
  study.periods = 20;
  study.oracle = {1000, {3, 3, 3}, 20};
  study.order_contexts = 10;
  return study;
}

TEST(NotFinite, EveryArrayIsLookedThroughAndThePlaceNamed) {
  const Study study = small_study(Regime::B);
  const Plan plan = make_plan(study);
  const Replication sound = prepare_replication(study, plan, plan.units[0], nullptr);
  EXPECT_EQ(not_finite(sound), "");
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const auto found = [&](auto&& spoil) {
      Replication replication = sound;
      spoil(replication);
      return not_finite(replication);
    };
    const float bad_float = static_cast<float>(bad);
    EXPECT_EQ(found([&](Replication& r) { r.instance.theta[1] = bad; }), "number 1 of theta_*");
    EXPECT_EQ(found([&](Replication& r) { r.instance.D.back() = bad; }), "number 199 of D");
    for (std::vector<double> Instance::*member :
         {&Instance::Q, &Instance::alpha, &Instance::beta0, &Instance::beta1, &Instance::c0, &Instance::c1})
      EXPECT_NE(found([&](Replication& r) { (r.instance.*member)[0] = bad; }), "");
    EXPECT_EQ(found([&](Replication& r) { r.tape.contexts.psi[0] = bad_float; }), "psi in the initial context");
    EXPECT_NE(found([&](Replication& r) { r.tape.contexts.reward_context[0] = bad_float; }), "");
    EXPECT_NE(found([&](Replication& r) { r.tape.contexts.reward_shift[0] = bad; }), "");
    EXPECT_NE(found([&](Replication& r) { r.tape.contexts.scale[0] = bad; }), "");
    EXPECT_NE(found([&](Replication& r) { r.tape.contexts.context_cost[0] = bad; }), "");
    EXPECT_EQ(found([&](Replication& r) { r.tape.phi[r.tape.at(2, 1) * 2] = bad_float; }),
              "phi of box 2 in calibration period 2");
    EXPECT_EQ(found([&](Replication& r) { r.tape.mu[r.tape.at(r.tape.online_row(16), 2)] = bad; }),
              "mu of box 3 in online period 17");
    EXPECT_EQ(found([&](Replication& r) { r.tape.cost.back() = bad; }), "the cost of box 3 in online period 20");
    EXPECT_EQ(found([&](Replication& r) { r.sigma[r.tape.at(r.tape.online_row(0), 0)] = bad; }),
              "the oracle's index of box 1 in online period 1");
  }
}

// With u = 1e308 every period is finite, but the sum is not.
TEST(NotFinite, SumsThatOverflowAreFailures) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    Study study = small_study(regime);
    study.order = false;
    study.environments[0].cost_level = 1e308;
    for (const UnitResult& unit : run_sweep(study, make_plan(study), {}))
      for (std::size_t lane = 0; lane < unit.lanes.size(); ++lane) {
        const LaneTally& tally = unit.lanes[lane];
        EXPECT_TRUE(tally.failure == Failure::not_finite || sums_are_finite(tally)) << lane;
      }
  }
}

TEST(NotFinite, AllLanesOfAReplicationThatIsNotFiniteFailAndSaySo) {
  Environment broken;
  broken.name = "broken";
  broken.id = 177;
  register_environment(broken, [](const ReplicationRequest& request) {
    Replication replication;
    const Instance instance = draw_instance(request.dimensions, *find_environment("uniform"), request.regime,
                                            request.replication, request.seed);
    replication.instance = instance;
    replication.tape = draw_tape(instance, request.calibration_periods, request.periods);
    replication.sigma.assign(replication.tape.mu.size(), 0.25);
    replication.sigma_is_meant = true;
    if (request.replication == 1) replication.instance.theta[1] = std::nan("");
    return replication;
  });
  Study study = small_study(Regime::A);
  study.order = false;
  study.environments = {*find_environment("broken")};
  const std::vector<UnitResult> results = run_sweep(study, make_plan(study), {});
  for (const LaneTally& tally : results[0].lanes) EXPECT_EQ(tally.failure, Failure::none);
  for (std::size_t lane = 0; lane < results[1].lanes.size(); ++lane) {
    EXPECT_EQ(results[1].lanes[lane].failure, Failure::not_finite);
    EXPECT_EQ(results[1].lanes[lane].failed_period, 0);
    EXPECT_EQ(failure_message(results[1].lanes[lane], results[1].notes[lane]),
              "a number is not finite: number 1 of theta_*");
  }
}

TEST(NotFinite, AnOrderOfBoxesNeedsFiniteIndices) {
  for (const double bad : {std::nan(""), HUGE_VAL}) EXPECT_THROW(count_orders({0.1, 0.2, 0.3, bad}, 2), IndexNotFinite);
}

}  // namespace
}  // namespace pandora
