// The results of a preparation on a backend, and comparisons of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "host/lanes/devices/preparer.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora::test {

/// The numbers of prepared periods.
inline constexpr int kPreparedCalibration = 6, kPreparedPeriods = 70;

template <class Vector, class Other>
bool same_bytes(const Vector& a, const Other& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
}

inline void expect_same(const Tape& actual, const Tape& expected) {
  const Contexts &a = actual.contexts, &b = expected.contexts;
  EXPECT_EQ(std::tuple(a.rows, a.boxes, a.index_size, a.index_stride, a.reward_features),
            std::tuple(b.rows, b.boxes, b.index_size, b.index_stride, b.reward_features));
  EXPECT_EQ(std::tuple(actual.calibration_rows, actual.online_rows),
            std::tuple(expected.calibration_rows, expected.online_rows));
  EXPECT_TRUE(same_bytes(a.psi, b.psi));
  EXPECT_TRUE(same_bytes(a.reward_context, b.reward_context));
  EXPECT_TRUE(same_bytes(a.reward_shift, b.reward_shift));
  EXPECT_TRUE(same_bytes(a.scale, b.scale));
  EXPECT_EQ(a.locations, b.locations);
  EXPECT_TRUE(same_bytes(a.context_cost, b.context_cost));
  EXPECT_TRUE(same_bytes(a.index, b.index));
  EXPECT_TRUE(same_bytes(actual.phi, expected.phi));
  EXPECT_TRUE(same_bytes(actual.mu, expected.mu));
  EXPECT_TRUE(same_bytes(actual.cost, expected.cost));
  EXPECT_TRUE(same_bytes(actual.reward, expected.reward));
}

inline void expect_same(const ShockSample& actual, const ShockSample& expected) {
  EXPECT_EQ(actual.projection_norm, expected.projection_norm);
  EXPECT_TRUE(same_bytes(actual.projected, expected.projected));
  ASSERT_EQ(actual.cost_terms.size(), expected.cost_terms.size());
  for (std::size_t a = 0; a < expected.cost_terms.size(); ++a)
    EXPECT_TRUE(same_bytes(actual.cost_terms[a], expected.cost_terms[a])) << "box " << a;
}

// Expects NaN in the same rows, and all other numbers within `tolerance`.
inline void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t at = 0; at < expected.size(); ++at) {
    ASSERT_EQ(std::isnan(actual[at]), std::isnan(expected[at])) << at;
    if (std::isnan(expected[at])) continue;
    ASSERT_NEAR(actual[at], expected[at], tolerance) << at;
  }
}

/// All results of a preparation, for a size that does not divide into whole items and chunks.
struct Prepared {
  ShockSample sample;
  Tape tape;
  std::vector<double> sigma;
};

inline OracleOptions oracle_of(int samples) {
  OracleOptions options = small_oracle();
  options.samples = samples;
  return options;
}

template <class Backend>
Prepared prepare_all(Backend& backend, const Instance& instance, const OracleOptions& oracle) {
  prepare::Preparer<Backend> preparer(backend);
  preparer.start(instance, 1 + kPreparedCalibration + kPreparedPeriods, oracle);
  preparer.draw_sample();
  Prepared out;
  out.sample = preparer.sample();
  out.tape = preparer.draw_tape(kPreparedCalibration, kPreparedPeriods);
  out.sigma = preparer.indices(out.tape.online_row(0));
  return out;
}

inline Prepared prepare_all(const Instance& instance, const OracleOptions& oracle) {
  ScalarPrepareBackend backend;
  return prepare_all(backend, instance, oracle);
}

/// Prepares the units of a study with one preparer, and expects them to be those of the CPU.
inline std::vector<Replication> prepare_units(const Study& study) {
  std::vector<Replication> out;
  const Plan plan = make_plan(study);
  ScalarPrepareBackend backend;
  prepare::Preparer<ScalarPrepareBackend> preparer(backend);
  for (const Unit& unit : plan.units) {
    OrderFrequencies order, expected_order;
    const Replication& actual = out.emplace_back(preparer.prepare(preparation_of(study, plan, unit), &order));
    const Replication expected = prepare_replication(study, plan, unit, &expected_order);
    expect_same(actual.tape, expected.tape);
    EXPECT_EQ(actual.tape.there_by_row, expected.tape.there_by_row);
    EXPECT_EQ(actual.tape.feedback.period, expected.tape.feedback.period);
    EXPECT_EQ(actual.tape.feedback.told, expected.tape.feedback.told);
    expect_near(actual.sigma, expected.sigma, 1e-10);
    EXPECT_EQ(order, expected_order);
    EXPECT_EQ(actual.instance, expected.instance);
  }
  return out;
}

}  // namespace pandora::test
