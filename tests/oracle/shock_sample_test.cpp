#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "host/lanes/model/draw_instance.hpp"
#include "oracle/oracle.hpp"
#include "pandora/paper_setting.hpp"
#include "tests/reference/naive_draws.hpp"
#include "tests/reference/naive_index.hpp"
#include "tests/reference/small_instance.hpp"

namespace pandora {
namespace {

using naive::G;

constexpr Dimensions kSmall{3, 6, 9, 4, IndexFeatures::affine};
constexpr int kSamples = 501;

TEST(ShockSample, EqualsTheNaiveProjections) {
  const Instance instance = naive::small_instance(kSmall, Law::gaussian, Regime::B);
  const ShockSample sample = draw_shock_sample(instance, kSamples);

  std::vector<double> direction(kSmall.output, 0.0);  // D' theta_*
  double square = 0.0;
  for (int j = 0; j < kSmall.output; ++j) {
    for (int k = 0; k < kSmall.reward_features; ++k)
      direction[j] += instance.D[k * kSmall.output + j] * instance.theta[k];
    square += direction[j] * direction[j];
  }
  EXPECT_NEAR(sample.projection_norm, std::sqrt(square), 1e-12);

  std::vector<double> projected;
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    const std::vector<float> xi =
        naive::shock(instance.environment, kSmall.output, instance.stream(Purpose::oracle_shock), i, 0).xi;
    double w = 0.0;
    for (int j = 0; j < kSmall.output; ++j) w += direction[j] * xi[j] / std::sqrt(square);
    projected.push_back(w);
    for (int a = 0; a < kSmall.boxes; ++a) {  // unsorted draws: draw i of box a
      double term = 0.0;
      for (int j = 0; j < kSmall.output; ++j) term += instance.beta1[a * kSmall.output + j] * std::abs(xi[j]);
      ASSERT_NEAR(sample.cost_terms[a][i], term, 5e-6);
    }
  }
  std::sort(projected.begin(), projected.end(), std::greater<>());
  ASSERT_EQ(sample.projected.size(), projected.size());
  for (int i = 0; i < kSamples; ++i) ASSERT_NEAR(sample.projected[i], projected[i], 5e-6);
}

TEST(ShockSample, RegimeAHasNoCostTerms) {
  EXPECT_TRUE(draw_shock_sample(naive::small_instance(kSmall, Law::uniform, Regime::A), 10).cost_terms.empty());
}

TEST(OutputCostTable, IsOneHalfInRegimeA) {
  const ShockSample sample = draw_shock_sample(naive::small_instance(kSmall, Law::uniform, Regime::A), 10);
  const OutputCostTable table(sample, kSmall.boxes, 1.0, 1.0);
  for (int a = 0; a < kSmall.boxes; ++a) EXPECT_NEAR(table(a, 1.0), 0.5, 1e-15);
}

// Compares the table with the mean over the sample in double, at scales in the whole interval (0.5, 1.5) of s. The
// error comes from cubic interpolation, and is largest at the ends. At the nodes, sums in float cost less than 1e-8.
TEST(OutputCostTable, EqualsTheMeanOverTheSample) {
  std::vector<Environment> environments(paper_environments().begin(), paper_environments().end());
  for (Environment environment : paper_environments()) {  // with costs that depend on outputs
    environment.output_costs = OutputCostLaw::centred;
    environments.push_back(environment);
  }
  for (const Environment& environment : environments) {
    const Instance instance = draw_instance({}, environment, Regime::B, 0, 1);
    const ShockSample sample = draw_shock_sample(instance, 20000);
    const OutputCostTable table(sample, 3, 0.5, 1.5);
    double worst = 0.0;
    for (int a = 0; a < 3; ++a)
      for (int i = 0; i <= 40; ++i) {
        const double scale = 0.5 + i / 40.0;
        double sum = 0.0;
        for (double term : sample.cost_terms[a]) sum += G(scale * term);
        worst = std::max(worst, std::abs(table(a, scale) - sum / 20000.0));
      }
    EXPECT_LT(worst, 1e-7) << environment.name;
  }
}

TEST(OutputCostTable, IsTheMeanInDoubleAtTheNodes) {
  const Instance instance = draw_instance({}, paper_environments()[1], Regime::B, 0, 1);
  const ShockSample sample = draw_shock_sample(instance, 20000);
  const OutputCostTable table(sample, 3, 0.5, 1.5);
  for (double scale : {0.5, 1.0, 1.5}) {
    double sum = 0.0;
    for (double term : sample.cost_terms[1]) sum += G(scale * term);
    EXPECT_NEAR(table(1, scale), sum / 20000.0, 3e-8) << scale;
  }
}

TEST(OutputCostTable, ASingleScaleIsEnough) {
  const Instance instance = naive::small_instance(kSmall, Law::gaussian, Regime::B);
  const ShockSample sample = draw_shock_sample(instance, 1003);  // not a multiple of the length of partial sums
  const OutputCostTable table(sample, kSmall.boxes, 0.8, 0.8);
  for (int a = 0; a < kSmall.boxes; ++a) {
    double sum = 0.0;
    for (double term : sample.cost_terms[a]) sum += G(0.8 * term);
    EXPECT_NEAR(table(a, 0.8), sum / 1003.0, 1e-7);
  }
}

}  // namespace
}  // namespace pandora
