// In every engine, a lane that fails stops and says why, and other lanes do not change.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "host/lanes/engine/cpu_backend.hpp"
#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/index_fit.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "host/lanes/estimator/reward_fit.hpp"
#include "pandora/error.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::kCalibration;
constexpr int kFailingBoxes = 3, kFeatures = 2, kFailingPeriods = 64;
constexpr int kSpoiled = 41;  // the online period (1..T) that some tests spoil; it is not a block's first
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

using Tallies = std::vector<LaneTally>;
struct Engine {
  const char* name;
  Tallies (*run)(const Replication&, const std::vector<LaneSpec>&, const BlockOptions&);
  friend std::ostream& operator<<(std::ostream& out, const Engine& engine) { return out << engine.name; }
};

Tallies in_reference(const Replication& replication, const std::vector<LaneSpec>& lanes, const BlockOptions& options) {
  Tallies out;
  for (const LaneSpec& lane : lanes) out.push_back(run_reference_lane(replication, lane, options.estimation));
  return out;
}

template <class Real>
Tallies on_vectors(const Replication& replication, const std::vector<LaneSpec>& lanes, const BlockOptions& options) {
  return run_on_cpu<Real>(replication, lanes, options);
}

template <class Real, class Backend, int... members>
Tallies on_backend(const Replication& replication, const std::vector<LaneSpec>& lanes, const BlockOptions& options) {
  const UnitOfLanes unit{&replication, lanes};
  Backend backend(members...);
  return engine::run_lanes<Real>(backend, std::span(&unit, 1), options)[0];
}

class EveryEngine : public testing::TestWithParam<Engine> {
 protected:
  Tallies run(const Replication& replication, const std::vector<LaneSpec>& lanes, const char* schedule = "every:5") {
    return GetParam().run(replication, lanes, {{parse_refit(schedule), 1.0, 1.0}, 16});
  }
  bool is(const char* name) const { return std::string(GetParam().name).starts_with(name); }
};
INSTANTIATE_TEST_SUITE_P(LaneFailure, EveryEngine,
                         testing::Values(Engine{"reference", in_reference}, Engine{"block_float", on_vectors<float>},
                                         Engine{"block_double", on_vectors<double>},
                                         Engine{"scalar_float", on_backend<float, test::ScalarBackend>},
                                         Engine{"scalar_double", on_backend<double, test::ScalarBackend>},
                                         Engine{"scalar_threads", on_backend<float, test::FiberBackend, 32>}),
                         [](const auto& engine) { return std::string(engine.param.name); });

LaneSpec oracle() {
  LaneSpec lane;
  lane.score = Score::oracle_index;
  return lane;
}

LaneSpec dow(RewardModel reward, double c_rho = 0.1) {
  return test::dow_lane(reward, kCalibration, c_rho);
}

LaneSpec linucb(double c_b = 0.1) {
  return test::linucb_lane(kCalibration, c_b);
}

const Replication& sound_replication() {
  static const Replication replication = test::small_replication(test::small_dimensions(kFailingBoxes, 4, kFeatures),
                                                                 Regime::B, kCalibration, kFailingPeriods, 7);
  return replication;
}

void spoil_psi(Replication& replication, int row, float value) {
  replication.tape.contexts.psi[static_cast<std::size_t>(row) * replication.tape.contexts.index_stride + 1] = value;
}
void spoil_phi(Replication& replication, int row) {
  for (int k = 0; k < kFailingBoxes * kFeatures; ++k)
    replication.tape.phi[replication.tape.at(row, 0) * kFeatures + k] = std::nanf("");
}

void expect_failed(const LaneTally& tally, Failure failure, int period, int completed) {
  EXPECT_STREQ(failure_text(tally.failure), failure_text(failure));
  EXPECT_EQ(tally.failed_period, period);
  EXPECT_EQ(tally.periods, completed);
  EXPECT_TRUE(std::isfinite(tally.utility));
  int recorded = 0;
  for (const int at : checkpoints(kFailingPeriods)) recorded += at <= completed ? 1 : 0;
  EXPECT_EQ(tally.recorded, recorded);
}

TEST_P(EveryEngine, ABonusThatIsNotANumberFailsAtTheFirstScoreAndSparesTheOthers) {
  const std::vector<LaneSpec> sound = {oracle(), dow(RewardModel::known), dow(RewardModel::learned), linucb()};
  LaneSpec wrong_theta = dow(RewardModel::learned);
  wrong_theta.c_theta = kNaN;
  const std::vector<LaneSpec> wrong = {dow(RewardModel::known, kNaN), dow(RewardModel::learned, kNaN),
                                       dow(RewardModel::known, kInfinity), linucb(kNaN), wrong_theta};
  for (const char* schedule : {"every:5", "tracking"}) {
    const Tallies expected = run(sound_replication(), sound, schedule);
    std::vector<LaneSpec> mixed;
    for (std::size_t k = 0; k < wrong.size(); ++k) {
      mixed.push_back(wrong[k]);
      if (k < sound.size()) mixed.push_back(sound[k]);
    }
    const Tallies actual = run(sound_replication(), mixed, schedule);
    std::size_t at = 0;
    for (std::size_t k = 0; k < wrong.size(); ++k) {
      expect_failed(actual[at++], Failure::not_finite, 1, 0);
      if (k >= sound.size()) continue;
      EXPECT_EQ(actual[at], expected[k]);
      EXPECT_EQ(actual[at].failure, Failure::none);
      EXPECT_EQ(actual[at++].periods, kFailingPeriods);
    }
  }
}

TEST_P(EveryEngine, AContextThatIsNotANumberFailsInItsPeriod) {
  Replication replication = sound_replication();
  spoil_psi(replication, replication.tape.online_row(kSpoiled - 1), std::nanf(""));
  const std::vector<LaneSpec> lanes = {dow(RewardModel::known), oracle(), dow(RewardModel::learned), linucb(),
                                       dow(RewardModel::known, 0.0)};
  for (const char* schedule : {"every:5", "tracking", "geometric:1.5"}) {
    const Tallies expected = run(sound_replication(), lanes, schedule), actual = run(replication, lanes, schedule);
    for (const std::size_t k : {0, 2, 3, 4}) expect_failed(actual[k], Failure::not_finite, kSpoiled, kSpoiled - 1);
    EXPECT_EQ(actual[1], expected[1]);
    if (!is("reference")) continue;  // other engines form V^-1 anew, and round differently
    for (const std::size_t k : {0, 2, 3, 4})
      EXPECT_TRUE(std::equal(actual[k].curve, actual[k].curve + actual[k].recorded, expected[k].curve));
  }
}

TEST_P(EveryEngine, WhatAnOpenedBoxHoldsMustBeFinite) {
  const std::vector<LaneSpec> lanes = {oracle(), dow(RewardModel::known), dow(RewardModel::learned)};
  const int row = sound_replication().tape.online_row(kSpoiled - 1);
  const Tallies sound = run(sound_replication(), lanes);
  Replication replication = sound_replication();
  spoil_phi(replication, row);
  Tallies actual = run(replication, lanes);
  EXPECT_EQ(actual[0], sound[0]);
  EXPECT_EQ(actual[1], sound[1]);
  expect_failed(actual[2], Failure::not_finite, kSpoiled, kSpoiled - 1);
  for (const bool of_cost : {false, true}) {
    replication = sound_replication();
    for (int a = 0; a < kFailingBoxes; ++a)
      (of_cost ? replication.tape.cost : replication.tape.mu)[replication.tape.at(row, a)] = kNaN;
    actual = run(replication, lanes);
    for (const LaneTally& tally : actual) expect_failed(tally, Failure::not_finite, kSpoiled, kSpoiled - 1);
  }
}

TEST_P(EveryEngine, ACalibrationCostOrRewardWithoutASolutionIsAnIndexFit) {
  const std::vector<LaneSpec> lanes = {oracle(), dow(RewardModel::known), dow(RewardModel::known, 0.0), linucb()};
  const Tallies sound = run(sound_replication(), lanes, "tracking");
  const std::size_t at = sound_replication().tape.at(sound_replication().tape.calibration_row(4), 1);
  for (const double cost : {kNaN, kInfinity, 1e300}) {
    Replication replication = sound_replication();
    replication.tape.cost[at] = cost;
    const Tallies actual = run(replication, lanes, "tracking");
    EXPECT_EQ(actual[0], sound[0]);
    for (const std::size_t k : {1, 2}) expect_failed(actual[k], Failure::index_fit, 0, 0);
  }
  Replication replication = sound_replication();
  replication.tape.mu[at] = kNaN;  // mu > Lambda(z) is false for NaN, which must not pass for a small mu
  const Tallies actual = run(replication, lanes, "tracking");
  EXPECT_EQ(actual[0], sound[0]);
  EXPECT_EQ(actual[3], sound[3]);
  for (const std::size_t k : {1, 2}) expect_failed(actual[k], Failure::index_fit, 0, 0);
}

TEST_P(EveryEngine, AnIndexFitFailsInThePeriodThatAsksForIt) {
  Replication replication = sound_replication();
  for (int a = 0; a < kFailingBoxes; ++a)
    replication.tape.cost[replication.tape.at(replication.tape.online_row(kSpoiled - 1), a)] = 1e300;
  const std::vector<LaneSpec> lanes = {dow(RewardModel::known), oracle(), dow(RewardModel::learned)};
  const Tallies actual = run(replication, lanes, "every:5");
  for (const std::size_t k : {0, 2}) expect_failed(actual[k], Failure::index_fit, 45, 45);
  EXPECT_EQ(actual[1].failure, Failure::none);
  EXPECT_EQ(actual[1].periods, kFailingPeriods);
}

TEST_P(EveryEngine, ACalibrationOutputThatIsNotANumberIsARewardFit) {
  Replication replication = sound_replication();
  spoil_phi(replication, replication.tape.calibration_row(5));
  const std::vector<LaneSpec> lanes = {dow(RewardModel::known), dow(RewardModel::learned), linucb()};
  const Tallies sound = run(sound_replication(), lanes), actual = run(replication, lanes);
  EXPECT_EQ(actual[0], sound[0]);
  EXPECT_EQ(actual[2], sound[2]);
  expect_failed(actual[1], Failure::reward_fit, 0, 0);
}

// The reference engine updates V^-1 and never factorises V, so it notices at the fit or at the first score.
TEST_P(EveryEngine, ACalibrationContextThatIsNotANumberIsNoDesign) {
  for (const float wrong : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Replication replication = sound_replication();
    spoil_psi(replication, replication.tape.calibration_row(5), wrong);
    const std::vector<LaneSpec> lanes = {dow(RewardModel::known), linucb(), oracle()};
    const Tallies sound = run(sound_replication(), lanes), actual = run(replication, lanes);
    expect_failed(actual[0], is("reference") ? Failure::index_fit : Failure::indefinite, 0, 0);
    expect_failed(actual[1], is("reference") ? Failure::not_finite : Failure::indefinite, is("reference") ? 1 : 0, 0);
    EXPECT_EQ(actual[2], sound[2]);
  }
}

// Damages V^-1 and Hinv beyond repair: the samples from which they could be formed anew are damaged too.
template <class Base>
class DamagingBackend : public Base {
 public:
  engine::BackendTraits traits() const {
    engine::BackendTraits traits = Base::traits();
    traits.in_place = false;  // so that a copy of the tape is damaged
    return traits;
  }
  template <class Body>
  void blocks(int items, const Body& body) {
    if constexpr (std::is_same_v<Body, engine::AdvanceBlock<float>> ||
                  std::is_same_v<Body, engine::AdvanceBlock<double>>)
      if (body.range.B > 0 && body.range.first_period == 2 * body.problem.shape.B) damage(items, body.problem);
    Base::blocks(items, body);
  }

 private:
  template <class Real>
  static void damage(int items, const engine::Problem<Real>& problem) {
    const int A = problem.shape.A, stride = problem.shape.stride;
    for (int item = 1; item < items; item += A) {
      const engine::LaneView<Real>& lane = problem.lanes[item / A];
      const engine::BoxView<Real>& box = lane.box[1];
      const engine::StoredInverse<Real> stored(problem.shape, Base::kVectors);
      for (const auto& g : {box.design, box.curvature})
        for (int k = 0; k < problem.shape.m && g.P != nullptr; ++k) g.P[stored.at(k, k)] = -1;
      if (lane.needs.design || lane.needs.curvature)
        const_cast<Real*>(lane.tape.psi_of(box.rows[0], stride))[2] = std::numeric_limits<Real>::quiet_NaN();
    }
  }
};

template <class Base>
void expect_damage_ends_lanes() {
  const std::vector<LaneSpec> lanes = {dow(RewardModel::learned), oracle(), linucb()};
  const BlockOptions options{{parse_refit("tracking"), 1.0, 1.0}, 16};
  const Tallies sound = on_backend<float, Base>(sound_replication(), lanes, options);
  const Tallies actual = on_backend<float, DamagingBackend<Base>>(sound_replication(), lanes, options);
  expect_failed(actual[0], Failure::indefinite, 33, 32);
  EXPECT_EQ(actual[1], sound[1]);
  expect_failed(actual[2], Failure::indefinite, 33, 32);
}

TEST(LaneFailure, AMatrixThatCannotBeFormedAnewIsIndefinite) {
  expect_damage_ends_lanes<test::ScalarBackend>();
  expect_damage_ends_lanes<engine::CpuBackend>();
}

TEST(LaneFailure, IsAnErrorWhereNoEngineCatchesIt) {
  const LaneFailure failure(Failure::index_fit, "why");
  const Error& error = failure;
  EXPECT_EQ(error.code(), ExitCode::internal);
  EXPECT_STREQ(error.what(), "why");
}

template <class Body>
Failure failure_of(Body&& body) {
  try {
    body();
  } catch (const LaneFailure& failure) {
    return failure.failure();
  }
  return Failure::none;
}

TEST(LaneFailure, FitsDoNotTakeNaNForASolution) {
  const Contexts contexts = test::contexts_of({{1.0f, 0.5f}, {1.0f, -0.25f}});
  for (const bool of_cost : {false, true}) {
    IndexSamples samples;
    samples.add(0, 0.1, 0.8);
    samples.add(1, of_cost ? kNaN : 0.2, of_cost ? 0.5 : kNaN);
    Eigen::VectorXd rho = Eigen::VectorXd::Zero(2);
    EXPECT_EQ(failure_of([&] { fit_index(contexts, samples, 1.0, rho); }), Failure::index_fit);
  }
  const RewardSamples rewards{{1.0f, 2.0f, std::nanf(""), 1.0f}, {1.0, 0.0}};
  std::vector<double> memory(static_cast<std::size_t>(RewardState::size(2)));
  RewardState state = RewardState::over(memory.data(), 2);
  state.reset(1.0);
  EXPECT_EQ(failure_of([&] { fit_reward(rewards, 1.0, state); }), Failure::reward_fit);
}

}  // namespace
}  // namespace pandora
