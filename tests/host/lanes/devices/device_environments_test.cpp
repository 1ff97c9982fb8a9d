// Compares the preparation by a GPU's code with the CPU's own, for environments that are not the paper's.
#include <gtest/gtest.h>

#include "tests/host/lanes/devices/prepared.hpp"
#include "tests/reference/small_instance.hpp"

namespace pandora {
namespace {

using test::expect_near;
using test::expect_same;
using test::oracle_of;
using test::prepare_all;
using test::Prepared;
using test::same_bytes;
using test::ScalarPrepareBackend;
using FiberPrepareBackend = test::Sorting<test::FiberBackend>;

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

}  // namespace
}  // namespace pandora
