// Compares parameters that change over time with a naive version. It has the parameters of every period, and draws a
// tape and indices as if these parameters had always been there.
#include "host/lanes/model/drift.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "host/lanes/estimator/reference_engine.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "pandora/error.hpp"
#include "tests/reference/naive_draws.hpp"

namespace pandora {
namespace {

constexpr int kBoxes = 4, kContext = 6, kOutput = 9, kDriftPeriods = 70, kDriftCalibration = 5;

ReplicationRequest request_with(const std::string& drift, Regime regime) {
  Environment environment = paper_environments()[1];
  environment.truncation_radius = 4.0f;
  environment.drift = parse_drift(drift);
  Dimensions dimensions{kBoxes, kContext, kOutput, 3, IndexFeatures::affine};
  dimensions.radius_draws = 500;
  return {dimensions, environment, regime, 2, 77, kDriftCalibration, kDriftPeriods, {3000, {15, 9, 15}, 1000}};
}

double uniform(const Stream& stream, std::uint32_t period, std::uint32_t box, std::size_t k) {
  return (naive::block(stream, static_cast<std::uint32_t>(k / 4), period, box)[k % 4] + 0.5) / 4294967296.0;
}

using Rows = std::vector<double> Instance::*;

// Draws the row of a box: `columns` numbers from U[0, 1], scaled to unit length.
void draw_row(Instance& instance, Rows rows, int box, const Stream& stream, std::uint32_t period) {
  const int columns = static_cast<int>((instance.*rows).size()) / kBoxes;
  std::vector<double> u = naive::uniforms(stream, period, columns);
  double squares = 0.0;
  for (const double x : u) squares += x * x;
  for (int j = 0; j < columns; ++j)
    (instance.*rows)[static_cast<std::size_t>(box * columns + j)] = u[static_cast<std::size_t>(j)] / std::sqrt(squares);
}

void swap(Instance& instance, std::uint32_t change) {
  const Stream stream = instance.stream(Purpose::drift);
  const int one = static_cast<int>(uniform(stream, change, 0, 0) * kBoxes);
  int other = static_cast<int>(uniform(stream, change, 0, 1) * (kBoxes - 1));
  if (other >= one) ++other;
  for (const Rows rows : {&Instance::alpha, &Instance::beta0, &Instance::beta1, &Instance::c0, &Instance::c1}) {
    const int columns = static_cast<int>((instance.*rows).size()) / kBoxes;
    for (int j = 0; j < columns; ++j)
      std::swap((instance.*rows)[static_cast<std::size_t>(one * columns + j)],
                (instance.*rows)[static_cast<std::size_t>(other * columns + j)]);
  }
}

void step(Instance& instance, std::uint32_t change, double share) {
  const Stream which = instance.stream(Purpose::drift);
  for (int a = 0; a < kBoxes; ++a) {
    const std::uint32_t period = static_cast<std::uint32_t>(a) + 16 * change, box = static_cast<std::uint32_t>(a);
    const auto drawn = [&](std::size_t k) { return uniform(which, change, box, k) < share; };
    const bool contextual = instance.regime == Regime::B;
    if (contextual && drawn(0))
      draw_row(instance, &Instance::alpha, a, instance.stream(Purpose::scale_coefficients), period);
    if (contextual && drawn(1))
      draw_row(instance, &Instance::beta0, a, instance.stream(Purpose::context_cost_coefficients), period);
    if (contextual && drawn(2))
      draw_row(instance, &Instance::beta1, a, instance.stream(Purpose::output_cost_coefficients), period);
    const double u = instance.environment.cost_level;
    const std::vector<double> levels = naive::uniforms(instance.stream(Purpose::cost_levels), period, 2);
    if (drawn(3)) instance.c0[static_cast<std::size_t>(a)] = u * levels[0];
    if (drawn(4)) instance.c1[static_cast<std::size_t>(a)] = u * levels[1];
  }
}

// One change for 16 periods: every direction turns by 4 x speed, towards a direction at right angles.
void turn(Instance& instance, std::uint32_t change, double speed) {
  if (instance.regime == Regime::A) return;
  std::uint32_t box = 0;
  for (const Rows rows : {&Instance::alpha, &Instance::beta0})
    for (int a = 0; a < kBoxes; ++a, ++box) {
      double* const v = &(instance.*rows)[static_cast<std::size_t>(a * kContext)];
      std::vector<double> n;
      for (std::uint32_t j = 0; j < kContext; ++j) {
        const naive::Words words = naive::block(instance.stream(Purpose::drift), j / 4, change, box);
        float first, second;
        two_normals(words[j % 4 / 2 * 2], words[j % 4 / 2 * 2 + 1], first, second);
        n.push_back(j % 2 == 0 ? first : second);
      }
      double along = 0.0, length = 0.0;
      for (std::size_t j = 0; j < n.size(); ++j) along += n[j] * v[j];
      for (std::size_t j = 0; j < n.size(); ++j) n[j] -= along * v[j];
      for (const double x : n) length += x * x;
      for (std::size_t j = 0; j < n.size(); ++j)
        v[j] = std::cos(4.0 * speed) * v[j] + std::sin(4.0 * speed) * n[j] / std::sqrt(length);
    }
}

struct Case {
  const char* drift;
  int changes[2];  // instances in regimes A and B, with the first
  double slack;    // the walk's sines and square roots are rounded in another order here
  // The change before the online period t = 1, 2, ...
  void (*change)(Instance&, int t);

  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.drift; }
};
const Case kCases[] = {
    {"swap:20,21,50",
     {4, 4},
     0.0,
     [](Instance& instance, int t) {
       if (t == 20) swap(instance, 1);
       if (t == 21) swap(instance, 2);
       if (t == 50) swap(instance, 3);
     }},
    {"step:1,33:0.5",
     {2, 2},
     0.0,
     [](Instance& instance, int t) {
       if (t == 1) step(instance, 1, 0.5);
       if (t == 33) step(instance, 2, 0.5);
     }},
    {"walk:0.05",
     {1, 5},
     1e-6,
     [](Instance& instance, int t) {
       if (t > 1 && t % 16 == 1) turn(instance, static_cast<std::uint32_t>(t / 16), 0.05);
     }},
};

class DriftCell : public testing::TestWithParam<std::tuple<Case, Regime>> {};
INSTANTIATE_TEST_SUITE_P(Drift, DriftCell,
                         testing::Combine(testing::ValuesIn(kCases), testing::Values(Regime::A, Regime::B)));

TEST_P(DriftCell, EveryPeriodIsThatOfItsParameters) {
  const auto& [one, regime] = GetParam();
  const ReplicationRequest request = request_with(one.drift, regime);
  const Replication moving = prepare_on_cpu({request}, nullptr, nullptr);
  Instance now = moving.instance;
  now.environment.drift = {};
  const Tape& tape = moving.tape;
  Instance drawn_for;  // the instance for which `still` and `sigma` were drawn
  Tape still = draw_tape(now, kDriftCalibration, kDriftPeriods);
  for (std::size_t at = 0; at < tape.at(tape.online_row(0), 0); ++at) ASSERT_EQ(tape.mu[at], still.mu[at]);
  std::vector<double> sigma;
  double widest = 0.0;
  int changes = 0;
  for (int t = 1; t <= kDriftPeriods; ++t) {
    one.change(now, t);
    if (t == 1 || !(drawn_for == now)) {
      drawn_for = now;
      ++changes;
      still = draw_tape(now, kDriftCalibration, kDriftPeriods);
      sigma = oracle_indices(now, draw_shock_sample(now, request.oracle.samples), still.contexts, request.oracle,
                             still.online_row(0));
    }
    for (int a = 0; a < kBoxes; ++a) {
      const std::size_t at = tape.at(tape.online_row(t - 1), a);
      ASSERT_NEAR(tape.mu[at], still.mu[at], one.slack) << t;
      ASSERT_NEAR(tape.cost[at], still.cost[at], one.slack) << t;
      ASSERT_NEAR(tape.contexts.scale[at], still.contexts.scale[at], one.slack) << t;
      ASSERT_NEAR(tape.reward[at], still.reward[at], one.slack) << t;
      widest = std::max(widest, std::abs(moving.sigma[at] - sigma[at]));
    }
  }
  // Regime A solves each index exactly; in B the two grids span different ranges.
  EXPECT_LT(widest, regime == Regime::A ? 1e-12 : 4e-3);
  EXPECT_EQ(changes, one.changes[regime == Regime::A ? 0 : 1]);
}

TEST_P(DriftCell, TheOracleThatMovesHasNoRegret) {
  const ReplicationRequest request = request_with(std::get<0>(GetParam()).drift, std::get<1>(GetParam()));
  const Replication replication = prepare_on_cpu({request}, nullptr, nullptr);
  LaneSpec oracle;
  oracle.score = Score::oracle_index;
  const LaneTally tally = run_reference_lane(replication, oracle, {}, nullptr);
  EXPECT_EQ(tally.regret, RegretParts{});
}

// New parameters are drawn by the environment's rules. A walk leaves out parameters that the environment does not have.
TEST(Drift, KeepsTheKindOfEnvironment) {
  ReplicationRequest request = request_with("step:5:1", Regime::B);
  request.environment.output_costs = OutputCostLaw::centred;
  request.environment.output_scales = OutputScales::constant;
  Instance instance = prepare_on_cpu({request}, nullptr, nullptr).instance;
  const std::vector<double> first = instance.beta1;
  const std::unique_ptr<Course> steps = course_of(instance);
  (void)steps->advance(4, instance);
  EXPECT_NE(instance.beta1, first);
  for (int a = 0; a < kBoxes; ++a) {
    double sum = 0.0, squares = 0.0;
    for (int j = 0; j < kOutput; ++j) {
      const double x = instance.beta1[static_cast<std::size_t>(a * kOutput + j)];
      sum += x;
      squares += x * x;
    }
    EXPECT_NEAR(sum, 0.0, 1e-12);
    EXPECT_NEAR(squares, kCentredCostLength * kCentredCostLength, 1e-9);
  }
  instance.environment.drift = parse_drift("walk:0.1");
  const std::unique_ptr<Course> walk = course_of(instance);
  const std::vector<double> beta0 = instance.beta0;
  (void)walk->advance(16, instance);
  EXPECT_NE(instance.beta0, beta0);
  for (const double x : instance.alpha) EXPECT_EQ(x, 0.0);
}

// A period does not depend on the number of periods after it.
TEST(Drift, TheNumberOfPeriodsChangesNone) {
  ReplicationRequest request = request_with("walk:0.02", Regime::B);
  const Replication longer = prepare_on_cpu({request}, nullptr, nullptr);
  request.periods = 37;
  const Replication shorter = prepare_on_cpu({request}, nullptr, nullptr);
  for (std::size_t at = 0; at < shorter.tape.mu.size(); ++at) ASSERT_EQ(shorter.tape.mu[at], longer.tape.mu[at]);
}

TEST(Drift, IsWrittenAsItIsRead) {
  for (const char* text : {"", "swap:1000", "swap:5,10,15", "step:1000:0.5", "step:1,2:1", "walk:0.01"})
    EXPECT_EQ(drift_text(parse_drift(text)), text);
  for (const char* text :
       {"swap", "swap:", "swap:0", "swap:5,5", "swap:9,5", "swap:5:0.5", "step:5", "step:5:0", "step:5:1.1", "walk:0",
        "walk:0.6", "walk:nan", "walk", "walk:0.1:5", "jump:5", "swap:1.5", "swap:-1", "swap:5,,6"})
    EXPECT_THROW((void)parse_drift(text), Error) << text;
}

}  // namespace
}  // namespace pandora
