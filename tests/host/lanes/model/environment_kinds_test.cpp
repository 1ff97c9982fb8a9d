// Instances of environments that are not the paper's: own locations of the boxes, and indices that are drawn in place
// of costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "host/lanes/model/draw_instance.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "kernels/rules/period.hpp"
#include "pandora/paper_setting.hpp"
#include "tests/reference/naive_draws.hpp"
#include "tests/reference/naive_index.hpp"
#include "tests/reference/small_problem.hpp"
#include "tests/reference/statistics.hpp"

namespace pandora {
namespace {

constexpr Dimensions kDimensions{3, 10, 12, 4, IndexFeatures::affine, 3000};

Environment gaussian_with(Location location, Indices indices = Indices::of_costs, Slopes slopes = Slopes::common) {
  Environment environment = paper_environments()[1];
  environment.truncation_radius = 4.5f;
  environment.location = location;
  environment.indices = indices;
  environment.slopes = slopes;
  return environment;
}

// theta_*' Q_a x and s_a(x), in double.
struct NaivePlace {
  double shift = 0.0, scale = 1.0;
  NaivePlace(const Instance& instance, const std::vector<float>& x, int a) {
    const Dimensions& dim = instance.dimensions;
    const int first = instance.environment.location == Location::own ? a * dim.reward_features : 0;
    double mapped = 0.0;
    for (int j = 0; j < dim.context; ++j) {
      for (int k = 0; k < dim.reward_features; ++k)
        shift += instance.theta[k] * instance.Q[(first + k) * dim.context + j] * x[j];
      mapped += instance.alpha[a * dim.context + j] * x[j];
    }
    scale = 0.5 + naive::G(mapped);
  }
};

TEST(Locations, NoneIsThePapersInstanceWithoutQ) {
  const Instance paper = draw_instance(kDimensions, gaussian_with(Location::common), Regime::B, 3, 7),
                 none = draw_instance(kDimensions, gaussian_with(Location::none), Regime::B, 3, 7);
  EXPECT_EQ(none.Q, std::vector<double>(40, 0.0));
  for (const auto same : {&Instance::D, &Instance::alpha, &Instance::beta0, &Instance::c1})
    EXPECT_EQ(none.*same, paper.*same);
  const Tape tape = draw_tape(none, 0, 20);
  EXPECT_EQ(tape.contexts.reward_shift, std::vector<double>(21, 0.0));
}

TEST(Locations, OfEachBoxAreRowsOfTheSameStream) {
  const Instance paper = draw_instance(kDimensions, gaussian_with(Location::common), Regime::B, 3, 7),
                 own = draw_instance(kDimensions, gaussian_with(Location::own), Regime::B, 3, 7);
  ASSERT_EQ(own.Q.size(), 3 * paper.Q.size());
  EXPECT_EQ(std::vector<double>(own.Q.begin(), own.Q.begin() + 40), paper.Q);  // box 1
  EXPECT_EQ(own.alpha, paper.alpha);
  EXPECT_EQ(own.c0, paper.c0);
  for (std::uint32_t row = 0; row < 12; ++row) {
    const std::vector<double> u = naive::uniforms(own.stream(Purpose::reward_context_matrix), row, 10);
    double square = 0.0;
    for (double value : u) square += value * value;
    for (int j = 0; j < 10; ++j) ASSERT_NEAR(own.Q[row * 10 + j], u[j] / std::sqrt(square), 1e-15);
  }
  const Instance a = draw_instance(kDimensions, gaussian_with(Location::own), Regime::A, 3, 7);
  EXPECT_EQ(a.Q, std::vector<double>(120, 0.0));
}

// If slopes are unrelated and each box has its own location, boxes have only D and theta_* in common.
TEST(Locations, OfUnrelatedBoxesHaveNoCoordinateInCommon) {
  const Environment environment = gaussian_with(Location::own, Indices::of_costs, Slopes::unrelated);
  const Instance instance = draw_instance(kDimensions, environment, Regime::B, 0, 7);
  for (int row = 0; row < 12; ++row)
    for (int j = 0; j < 10; ++j) EXPECT_EQ(instance.Q[row * 10 + j] > 0.0, j % 3 == row / 4) << row << " " << j;
}

// The radius comes from the upper median of |u' phi| over boxes at their own locations. Draw i belongs to box i mod A
// and context i. Draws need not be a multiple of a batch of contexts.
TEST(Locations, TheRadiusPoolsBoxesAtTheirOwn) {
  for (const auto& [location, draws] :
       {std::pair{Location::none, 3000u}, {Location::own, 3000u}, {Location::common, 20001u}}) {
    Dimensions dim = kDimensions;
    dim.radius_draws = static_cast<int>(draws);
    const Instance instance = draw_instance(dim, gaussian_with(location), Regime::B, 1, 1);
    std::vector<double> magnitude;
    for (std::uint32_t i = 0; i < draws; ++i) {
      const int box = static_cast<int>(i % 3);
      const std::vector<float> x = naive::context(instance.stream(Purpose::radius_context), i, 10);
      const std::vector<float> xi =
          naive::shock(instance.environment, 12, instance.stream(Purpose::radius_shock), i, i % 3).xi;
      const NaivePlace place(instance, x, box);
      double z = place.shift;
      for (int k = 0; k < 4; ++k)
        for (int j = 0; j < 12; ++j) z += instance.theta[k] * instance.D[k * 12 + j] * place.scale * xi[j];
      magnitude.push_back(std::abs(z));
    }
    std::sort(magnitude.begin(), magnitude.end());
    EXPECT_NEAR(magnitude[draws / 2], 1.0, 1e-5);  // theta_* has the radius for this
  }
}

TEST(LinearIndices, AreDrawnInPlaceOfCosts) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    Dimensions dim = kDimensions;
    dim.index_features = IndexFeatures::affine_and_squares;
    const Instance paper = draw_instance(dim, gaussian_with(Location::common), regime, 3, 7),
                   linear = draw_instance(dim, gaussian_with(Location::common, Indices::linear), regime, 3, 7);
    for (const auto same : {&Instance::D, &Instance::Q, &Instance::alpha, &Instance::theta})
      EXPECT_EQ(linear.*same, paper.*same);
    for (const std::vector<double>* zero : {&linear.beta0, &linear.beta1, &linear.c0, &linear.c1})
      EXPECT_EQ(*zero, std::vector<double>(zero->size(), 0.0));
    ASSERT_EQ(linear.rho.size(), 3u * 21u);
    const Stream stream = linear.stream(Purpose::index_coefficients);
    for (std::uint32_t a = 0; a < 3; ++a) {
      EXPECT_NEAR(linear.rho[a * 21], 0.3 + 0.35 * naive::uniforms(stream, 16 + a, 1)[0], 1e-15);
      const std::vector<double> u = naive::uniforms(stream, a, 10);
      double square = 0.0;
      for (double value : u) square += value * value;
      for (std::uint32_t j = 0; j < 20; ++j) {
        const double wanted = regime == Regime::B && j < 10 ? 0.1 * u[j] / std::sqrt(square) : 0.0;  // 0 for squares
        EXPECT_NEAR(linear.rho[a * 21 + 1 + j], wanted, 1e-15);
      }
    }
  }
}

// The costs balance the drawn indices under the law of the shocks itself, and not only under its quantile means.
TEST(LinearIndices, CostsAreTheExpectedExcessOverThem) {
  Dimensions dim = kDimensions;
  dim.radius_draws = 4000;
  for (const RewardLink link : {RewardLink::logistic, RewardLink::algebraic}) {
    Environment environment = gaussian_with(Location::own, Indices::linear);
    environment.reward_link = link;
    const Instance instance = draw_instance(dim, environment, Regime::B, 2, 5);
    std::vector<double> w;                       // theta_*' D xi
    for (std::uint32_t i = 0; i < 15872; ++i) {  // 31 draws for each quantile

      const std::vector<float> xi = naive::shock(environment, 12, instance.stream(Purpose::oracle_shock), i, 0).xi;
      w.push_back(0.0);
      for (int k = 0; k < 4; ++k)
        for (int j = 0; j < 12; ++j) w.back() += instance.theta[k] * instance.D[k * 12 + j] * xi[j];
    }
    std::sort(w.begin(), w.end(), std::greater<>());
    ASSERT_EQ(instance.shock_quantiles.size(), 512u);
    double first = 0.0;
    for (int i = 0; i < 31; ++i) first += w[i] / 31.0;
    EXPECT_NEAR(instance.shock_quantiles[0], first, 1e-5);
    const Tape tape = draw_tape(instance, 0, 12);
    for (int t = 0; t < 12; ++t)
      for (int a = 0; a < 3; ++a) {
        const std::size_t at = tape.at(tape.online_row(t), a);
        const std::vector<float> x =
            naive::context(instance.stream(Purpose::online_context), static_cast<std::uint32_t>(t), 10);
        double linear = instance.rho[a * 11], excess = 0.0;
        for (int j = 0; j < 10; ++j) linear += instance.rho[a * 11 + 1 + j] * x[j];
        const NaivePlace place(instance, x, a);
        for (const double value : w) {
          const double z = place.shift + place.scale * value,
                       mu = link == RewardLink::logistic ? naive::G(z) : 0.5 + z / (2.0 * (2.0 + std::abs(z)));
          excess += std::max(0.0, mu - std::tanh(linear)) / 15872.0;
        }
        EXPECT_NEAR(tape.cost[at], excess, 2e-5);
        EXPECT_NEAR(tape.contexts.index[at], std::tanh(linear), 1e-6);
      }
  }
}

// From these costs and this law, the program's own solver finds the drawn indices.
TEST(LinearIndices, AreTheReservationIndicesOfTheirCosts) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    Study study = test::small_study(kDimensions, {gaussian_with(Location::own, Indices::linear)}, {0}, 5);
    study.regimes = {regime};
    const Plan plan = make_plan(study);
    const Replication replication = prepare_replication(study, plan, plan.units[0], nullptr);
    const Instance& instance = replication.instance;
    const Contexts& contexts = replication.tape.contexts;
    ProjectedLaw law;
    law.points = instance.shock_quantiles;
    for (int k = 1; k <= 512; ++k) law.cumulative.push_back(k / 512.0);
    ReservationSolver solver(law);
    for (std::size_t at = 3; at < replication.sigma.size(); ++at) {
      solver.evaluate(contexts.reward_shift[at], contexts.scale[at]);
      EXPECT_NEAR(solver.index(replication.tape.cost[at]), replication.sigma[at], 1e-10);
      EXPECT_EQ(replication.sigma[at], contexts.index[at]);
    }
    EXPECT_TRUE(std::isnan(replication.sigma[0]));  // x_0
  }
}

// The boxes differ, so the oracle opens about 1.5 of three, and not always in the same order.
TEST(LinearIndices, OpenAboutOneAndAHalfBoxes) {
  Dimensions dim;
  dim.output = 20;
  dim.radius_draws = 1000;
  Environment environment = gaussian_with(Location::common, Indices::linear);
  environment.truncation_radius = INFINITY;
  LaneSpec oracle;
  oracle.score = Score::oracle_index;
  for (const Regime regime : {Regime::A, Regime::B}) {
    std::vector<double> opened;
    double least = 1.0, greatest = 0.0;
    int other_first = 0;
    for (std::uint32_t r = 0; r < 30; ++r) {
      const Tape tape = draw_tape(draw_instance(dim, environment, regime, r, 1), 0, 100);
      int queries = 0, first_box = -1, changes = 0;
      for (int row = 1; row <= 100; ++row) {
        const std::size_t at = tape.at(row, 0);
        const PeriodOutcome outcome = walk_period(oracle, 3, &tape.contexts.index[at], nullptr,
                                                  [&](int a) { return tape.mu[at + static_cast<std::size_t>(a)]; });
        queries += outcome.queried;
        if (row > 1 && outcome.order[0] != first_box) ++changes;
        first_box = outcome.order[0];
      }
      opened.push_back(queries / 100.0);
      other_first += changes > 0 ? 1 : 0;
      const auto [low, high] = std::minmax_element(tape.contexts.index.begin(), tape.contexts.index.end());
      least = std::min(least, *low);
      greatest = std::max(greatest, *high);
    }
    const statistics::Mean mean = statistics::mean(opened);
    EXPECT_NEAR(mean.value, 1.5, 0.1 + 4.0 * mean.standard_error) << regime_name(regime);
    EXPECT_GT(least, 0.0);
    EXPECT_LT(greatest, 1.0);
    EXPECT_EQ(other_first > 5, regime == Regime::B);
  }
}

}  // namespace
}  // namespace pandora
