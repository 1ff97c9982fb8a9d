// Runs a GPU's code for the preparation on the CPU, also with teams of several threads, and compares it with the CPU's
// own.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "host/lanes/model/kernel_errors.hpp"
#include "tests/host/lanes/devices/prepared.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/small_instance.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using prepare::Preparer;
using test::ScalarPrepareBackend;
using FiberPrepareBackend = test::Sorting<test::FiberBackend>;

using test::expect_near;
using test::expect_same;
using test::oracle_of;
using test::prepare_all;
using test::Prepared;
using test::same_bytes;

constexpr int kCalibration = test::kPreparedCalibration, kPeriods = test::kPreparedPeriods;

class PrepareCell : public testing::TestWithParam<std::tuple<Law, Regime>> {
 protected:
  Instance instance(Dimensions dimensions) const {
    return naive::small_instance(dimensions, std::get<0>(GetParam()), std::get<1>(GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(DevicePrepare, PrepareCell,
                         testing::Combine(testing::Values(Law::uniform, Law::gaussian, Law::student_t5),
                                          testing::Values(Regime::A, Regime::B)));

// Environments that are not the paper's: another link, costs with a tail, costs that depend on outputs, a linear mu*
// with scales of 1, and the last two together with a tail.
TEST_P(PrepareCell, OtherEnvironmentsAreThoseOfTheCpuToo) {
  const Instance small = instance({3, 37, 10, 7, IndexFeatures::affine});
  Instance tailed = small, all = naive::with_linear_rewards(naive::with_centred_costs(small));
  tailed.environment.reward_link = RewardLink::algebraic;
  tailed.environment.cost_tail = all.environment.cost_tail = 1.5;
  tailed.environment.correlation = all.environment.correlation = 0.4;
  const OracleOptions oracle = oracle_of(3000);
  for (const Instance& one : {tailed, naive::with_centred_costs(small), naive::with_linear_rewards(small), all}) {
    const Prepared prepared = prepare_all(one, oracle);
    const Tape& tape = prepared.tape;
    expect_same(tape, draw_tape(one, kCalibration, kPeriods));
    const ShockSample sample = draw_shock_sample(one, oracle.samples);
    expect_same(prepared.sample, sample);
    expect_near(prepared.sigma, oracle_indices(one, sample, tape.contexts, oracle, tape.online_row(0)), 1e-9);
  }
}

// The sizes are no multiples of a Philox block, a vector, an item or a team. The balls of gaussian and student_t5
// reject some draws.
TEST_P(PrepareCell, TapeAndSampleAreThoseOfTheCpuInEveryBit) {
  for (const IndexFeatures features : {IndexFeatures::affine, IndexFeatures::affine_and_squares})
    for (const auto& [A, context, output, d] :
         {std::tuple{1, 5, 7, 2}, {3, 37, 10, 7}, {5, 5, 13, 7}, {3, 100, 100, 10}, {1, 1, 1, 1}}) {
      const Instance one = instance({A, context, output, d, features});
      const Prepared actual = prepare_all(one, oracle_of(1003));
      expect_same(actual.tape, draw_tape(one, kCalibration, kPeriods));
      expect_same(actual.sample, draw_shock_sample(one, 1003));
    }
}

TEST_P(PrepareCell, ABallThatRejectsMostShocks) {
  Instance one = instance({3, 5, 9, 2, IndexFeatures::affine});
  const double variance = one.environment.law == Law::uniform ? 1.0 / 3.0 : 1.0;
  one.environment.truncation_radius = 0.7f * std::sqrt(static_cast<float>(9 * variance));
  const Prepared actual = prepare_all(one, oracle_of(300));
  expect_same(actual.tape, draw_tape(one, kCalibration, kPeriods));
  expect_same(actual.sample, draw_shock_sample(one, 300));
  one.environment.truncation_radius = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(same_bytes(actual.sample.projected, draw_shock_sample(one, 300).projected));  // some were rejected
}

TEST_P(PrepareCell, IndicesAreThoseOfTheCpu) {
  for (const auto& [A, context, d] : {std::tuple{1, 5, 2}, {3, 37, 7}, {5, 5, 7}}) {
    const Instance one = instance({A, context, 10, d, IndexFeatures::affine});
    const OracleOptions oracle = oracle_of(20011);
    const Prepared actual = prepare_all(one, oracle);
    const std::vector<double> expected =
        oracle_indices(one, draw_shock_sample(one, oracle.samples), draw_tape(one, kCalibration, kPeriods).contexts,
                       oracle, actual.tape.online_row(0));
    if (one.contextual()) {
      expect_near(actual.sigma, expected, 1e-10);
    } else {
      for (std::size_t at = 0; at < expected.size(); ++at)
        if (!std::isnan(expected[at])) expect_near({actual.sigma[at]}, {expected[at]}, 1e-12 * std::abs(expected[at]));
    }
  }
}

// The pooled draws come in one batch of contexts or in several, of which the last is shorter.
TEST_P(PrepareCell, RadiusIsThatOfTheCpuInEveryBit) {
  ScalarPrepareBackend backend;
  for (const auto& [rows, draws] : {std::pair{1, 20001}, {10007, 131072}, {200000, 1000}}) {
    Instance one = instance({3, 5, 7, 4, IndexFeatures::affine, draws});
    one.theta = unit_sphere(one.stream(Purpose::theta_direction), 4);
    Preparer<ScalarPrepareBackend> preparer(backend);
    preparer.start(one, rows, oracle_of(10));
    EXPECT_EQ(preparer.calibrate_radius(), calibrate_radius(one, one.theta)) << rows;
  }
}

// Expects the indices that the CPU finds from the same sample and contexts.
void expect_indices_of_the_cpu(const Instance& one, const OracleOptions& oracle) {
  const Prepared actual = prepare_all(one, oracle);
  expect_near(actual.sigma, oracle_indices(one, actual.sample, actual.tape.contexts, oracle, actual.tape.online_row(0)),
              1e-10);
}

TEST(DevicePrepare, TheWholeSampleAtEveryNode) {
  const Instance one = naive::small_instance({3, 5, 7, 2, IndexFeatures::affine}, Law::gaussian, Regime::B);
  OracleOptions oracle = oracle_of(501);
  for (const int bins : {0, 1, 500, 501, 1000}) {
    oracle.bins = bins;
    expect_indices_of_the_cpu(one, oracle);
  }
}

TEST(DevicePrepare, NoCalibrationAndOnePeriod) {
  ScalarPrepareBackend backend;
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Instance one = naive::small_instance({3, 5, 7, 2, IndexFeatures::affine}, Law::uniform, regime);
    const OracleOptions oracle = oracle_of(100);
    Preparer<ScalarPrepareBackend> preparer(backend);
    preparer.start(one, 2, oracle);
    preparer.draw_sample();
    const Tape tape = preparer.draw_tape(0, 1);
    expect_same(tape, draw_tape(one, 0, 1));
    expect_near(preparer.indices(1), oracle_indices(one, preparer.sample(), tape.contexts, oracle, 1), 1e-10);
  }
}

Study small_study() {
  const auto& paper = paper_environments();
  Study study = test::small_study(test::small_dimensions(3, 5, 2), {paper.begin(), paper.end()}, {0, 12}, 71);
  study.order_contexts = 200;
  return study;
}

// One preparer serves all units of a plan. Memory that an earlier unit, of another regime or size, has left must not
// matter.
TEST(DevicePrepare, APlansUnitsAreThoseOfPrepareReplication) {
  EXPECT_EQ(test::prepare_units(small_study()).size(), 12u);
}

// Memory grows for a larger instance. A smaller one then finds the larger one's numbers in it.
TEST(DevicePrepare, MemoryIsKeptBetweenInstancesOfOtherSizes) {
  ScalarPrepareBackend backend;
  Preparer<ScalarPrepareBackend> preparer(backend);
  for (const auto& [context, samples] : {std::pair{5, 100}, {90, 5000}, {7, 300}}) {
    const Instance one =
        naive::small_instance({3, context, 7, 2, IndexFeatures::affine_and_squares}, Law::gaussian, Regime::B);
    preparer.start(one, 1 + kCalibration + kPeriods, oracle_of(samples));
    preparer.draw_sample();
    expect_same(preparer.sample(), draw_shock_sample(one, samples));
    expect_same(preparer.draw_tape(kCalibration, kPeriods), draw_tape(one, kCalibration, kPeriods));
  }
}

TEST(DevicePrepare, OrderFrequenciesAlone) {
  Study study = small_study();
  study.regret = false;
  for (const Replication& replication : test::prepare_units(study)) {
    EXPECT_EQ(replication.tape.contexts.rows, 0);
    EXPECT_TRUE(replication.sigma.empty());
  }
}

template <class Draw>
std::string error_of(Draw&& draw) {
  try {
    for_the_user(draw);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

// The error is found while the sample is drawn or, without a sample, while the tape is drawn, also in teams of several
// members.
TEST(DevicePrepare, ATooSmallRadiusIsTheSameError) {
  Instance one = naive::small_instance({2, 3, 6, 2, IndexFeatures::affine}, Law::gaussian, Regime::B);
  one.environment.truncation_radius = 1e-3f;
  const std::string expected = error_of([&] { draw_shock_sample(one, 700); });
  ASSERT_NE(expected.find("rejects nearly every shock; give a larger one"), std::string::npos);
  ScalarPrepareBackend serial;
  FiberPrepareBackend threads(4);
  const auto check = [&](auto& backend) {
    Preparer<std::remove_reference_t<decltype(backend)>> preparer(backend);
    preparer.start(one, 1 + kCalibration + kPeriods, oracle_of(700));
    EXPECT_EQ(error_of([&] { preparer.calibrate_radius(); }), expected);
    EXPECT_EQ(error_of([&] { preparer.draw_sample(); }), expected);
    EXPECT_EQ(error_of([&] { preparer.draw_tape(kCalibration, kPeriods); }), expected);
  };
  check(serial);
  check(threads);
  Study study = small_study();
  study.environments = {one.environment};
  const Plan plan = make_plan(study);
  EXPECT_EQ(error_of([&] { Preparer(serial).prepare(preparation_of(study, plan, plan.units[0]), nullptr); }), expected);
}

// Sums are divided in the same way for every team, so the indices have the same bytes too.
TEST(DevicePrepare, TeamsOfThreadsGiveTheSameBytes) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Instance one = naive::small_instance({3, 37, 10, 7, IndexFeatures::affine}, Law::student_t5, regime);
    const Prepared serial = prepare_all(one, oracle_of(3001));
    for (const int members : {1, 4}) {
      FiberPrepareBackend backend(members);
      const Prepared parallel = prepare_all(backend, one, oracle_of(3001));
      expect_same(parallel.tape, serial.tape);
      expect_same(parallel.sample, serial.sample);
      EXPECT_TRUE(same_bytes(parallel.sigma, serial.sigma)) << members;
    }
  }
}

// The sample behind the mean costs is summed in pieces: less than one, exactly one, and several with a rest.
TEST(DevicePrepare, SamplesAroundTheLengthOfAPiece) {
  const Instance one = naive::small_instance({2, 3, 2, 1, IndexFeatures::affine}, Law::uniform, Regime::B);
  constexpr int kPiece = prepare::OutputCostSums::kPiece;
  for (const int samples : {1, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece + 777})
    expect_indices_of_the_cpu(one, oracle_of(samples));
}

// Environments that are not the paper's.
TEST(DevicePrepare, LocationsAndDrawnIndicesAreThoseOfTheCpu) {
  const OracleOptions oracle = oracle_of(3000);
  for (const auto& [location, regime, linear] : {std::tuple{Location::none, Regime::B, false},
                                                 {Location::own, Regime::B, false},
                                                 {Location::own, Regime::A, false},
                                                 {Location::common, Regime::B, true},
                                                 {Location::own, Regime::B, true},
                                                 {Location::none, Regime::A, true}}) {
    Instance one = naive::with_location(
        naive::small_instance({3, 37, 10, 7, IndexFeatures::affine_and_squares}, Law::gaussian, regime), location);
    if (linear) one = naive::with_linear_indices(one);
    ScalarPrepareBackend serial;
    FiberPrepareBackend threads(4);
    const Prepared prepared = prepare_all(serial, one, oracle), parallel = prepare_all(threads, one, oracle);
    const Tape& tape = prepared.tape;
    expect_same(tape, draw_tape(one, test::kPreparedCalibration, test::kPreparedPeriods));
    expect_same(parallel.tape, tape);
    EXPECT_TRUE(same_bytes(parallel.sigma, prepared.sigma));
    expect_near(prepared.sigma,
                oracle_indices(one, draw_shock_sample(one, oracle.samples), tape.contexts, oracle, tape.online_row(0)),
                linear ? 0.0 : 1e-9);
    EXPECT_EQ(tape.contexts.index.empty(), !linear);
  }
}

// These environments have parameters that are drawn beside the paper's.
TEST(DevicePrepare, AllKindsOfEnvironmentsAreThoseOfPrepareReplication) {
  Study study = test::small_study(test::small_dimensions(3, 5, 2), {}, {0, 12}, 71);
  study.order_contexts = 200;
  study.feedback.share = 0.5;
  study.feedback.flip = 0.2;
  for (const Location location : {Location::none, Location::own})
    for (const Indices indices : {Indices::of_costs, Indices::linear}) {
      Environment environment = paper_environments()[1];
      environment.id = static_cast<std::uint8_t>(40 + study.environments.size());
      environment.name = "e" + std::to_string(study.environments.size());
      environment.location = location;
      environment.indices = indices;
      environment.slopes = Slopes::unrelated;
      environment.arrives = {{1, 9}};
      study.environments.push_back(environment);
    }
  Environment centred = study.environments[0], linear = study.environments[2];  // the latter with a Q_a
  centred.output_costs = OutputCostLaw::centred;
  linear.reward_link = RewardLink::linear;
  linear.output_scales = OutputScales::constant;
  for (Environment* const environment : {&centred, &linear}) {
    environment->id = static_cast<std::uint8_t>(40 + study.environments.size());
    environment->name = "e" + std::to_string(study.environments.size());
    study.environments.push_back(*environment);
  }
  for (const Replication& replication : test::prepare_units(study)) {
    EXPECT_EQ(replication.tape.there(0), 5u);
    EXPECT_FALSE(replication.tape.feedback.at_once());
  }
}

// The paper's sizes, which have the longest sums.
TEST(DevicePrepare, SlowFullScale) {
  Study study;
  study.environments.assign(paper_environments().begin(), paper_environments().end());
  study.replications = 1;
  test::prepare_units(study);
}

}  // namespace
}  // namespace pandora
