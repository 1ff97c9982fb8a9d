#include "kernels/tape/shock_projection.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/reference/naive_draws.hpp"

namespace pandora {
namespace {

// An environment whose ball rejects about a third of the vectors, so that several attempts occur.
Environment tight(Law law, int output_size) {
  Environment environment;
  environment.law = law;
  environment.id = 9;
  environment.shock_scale = law == Law::student_t5 ? 0.774596669f : 1.0f;
  const float variance = law == Law::uniform ? 1.0f / 3.0f : 1.0f;
  environment.truncation_radius = 1.05f * std::sqrt(variance * static_cast<float>(output_size));
  return environment;
}

ShockWeights random_weights(int output_size, int n_linear, int n_absolute) {
  std::mt19937 engine(static_cast<unsigned>(output_size));
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  ShockWeights weights;
  weights.n_linear = n_linear;
  weights.n_absolute = n_absolute;
  for (int i = 0; i < output_size * n_linear; ++i) weights.linear.push_back(uniform(engine));
  for (int i = 0; i < output_size * n_absolute; ++i) weights.absolute.push_back(uniform(engine));
  return weights;
}

struct Projections {
  std::vector<float> linear, absolute;
  std::uint64_t rejected = 0;
  friend bool operator==(const Projections&, const Projections&) = default;
};

Projections draw(const Environment& environment, int output_size, const Stream& stream, const ShockRange& range,
                 const ShockWeights& weights) {
  Projections out;
  out.linear.resize(static_cast<std::size_t>(range.count) * weights.n_linear);
  out.absolute.resize(static_cast<std::size_t>(range.count) * weights.n_absolute);
  out.rejected =
      draw_projected_shocks(environment, output_size, stream, range, weights, out.linear.data(), out.absolute.data());
  return out;
}

// Draws one vector after the other in full, and then computes the inner products in the order of the coordinates, by
// fma.
Projections naive_draw(const Environment& environment, int output_size, const Stream& stream, const ShockRange& range,
                       const ShockWeights& weights) {
  Projections out;
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const std::uint32_t box = range.cycle == 0 ? range.box : i % range.cycle;
    const naive::Shock shock = naive::shock(environment, output_size, stream, range.first_period + i, box);
    out.rejected += shock.rejected;
    for (int p = 0; p < weights.n_linear; ++p) {
      float sum = 0.0f;
      for (int j = 0; j < output_size; ++j) sum = std::fma(weights.linear[j * weights.n_linear + p], shock.xi[j], sum);
      out.linear.push_back(sum);
    }
    for (int q = 0; q < weights.n_absolute; ++q) {
      float sum = 0.0f;
      for (int j = 0; j < output_size; ++j)
        sum = std::fma(weights.absolute[j * weights.n_absolute + q], std::fabs(shock.xi[j]), sum);
      out.absolute.push_back(sum);
    }
  }
  return out;
}

class ShockProjectionLaw : public testing::TestWithParam<Law> {
 protected:
  Stream stream_{42, Purpose::online_shock, 9, 1, 3};
};
INSTANTIATE_TEST_SUITE_P(ShockProjection, ShockProjectionLaw,
                         testing::Values(Law::uniform, Law::gaussian, Law::student_t5));

TEST_P(ShockProjectionLaw, EqualsMaterialisedVectors) {
  const Environment environment = tight(GetParam(), 100);
  const ShockWeights weights = random_weights(100, 10, 1);
  const ShockRange range{7, 501, 2, 0};  // 501 is not a multiple of the width
  const Projections fast = draw(environment, 100, stream_, range, weights);
  EXPECT_GT(fast.rejected, 20u);  // so some vectors were rejected
  EXPECT_TRUE(fast == naive_draw(environment, 100, stream_, range, weights));
}

// Boxes of a tape that depend on each other. Draws for a single box are not correlated with any other.
TEST_P(ShockProjectionLaw, CorrelatedBoxesEqualMaterialisedVectors) {
  Environment environment = tight(GetParam(), 37);
  const ShockWeights weights = random_weights(37, 4, 1);
  const Projections alone = draw(environment, 37, stream_, {7, 101, 2, 0}, weights);
  environment.correlation = 0.6;
  EXPECT_TRUE(draw(environment, 37, stream_, {7, 101, 2, 0}, weights) == alone);
  for (const std::uint32_t box : {0u, 2u, 15u}) {
    const ShockRange range{7, 101, box, 0, true};
    const Projections fast = draw(environment, 37, stream_, range, weights);
    EXPECT_GT(fast.rejected, 5u);
    EXPECT_TRUE(fast == naive_draw(environment, 37, stream_, range, weights)) << box;
  }
}

// Whatever the correlation, each box by itself has the truncated law. Compares moments of a projection and of the sum
// of |xi_j|, in standard errors.
TEST_P(ShockProjectionLaw, CorrelationLeavesTheLawOfABox) {
  Environment environment = tight(GetParam(), 20);
  const ShockWeights weights = random_weights(20, 1, 1);
  const std::uint32_t n = 200000;
  const auto moments = [&](double r, std::uint32_t box) {
    environment.correlation = r;
    const Projections drawn = draw(environment, 20, stream_, {0, n, box, 0, true}, weights);
    std::vector<double> out(5, 0.0);
    for (std::uint32_t i = 0; i < n; ++i) {
      const double w = drawn.linear[i], v = drawn.absolute[i];
      for (const auto& [k, x] : {std::pair{0, w}, {1, w * w}, {2, w * w * w * w}, {3, v}, {4, v * v}}) out[k] += x / n;
    }
    return out;
  };
  const std::vector<double> alone = moments(0.0, 0);
  // The standard deviations of the five means come from several boxes, which are independent for r = 0.
  std::vector<std::vector<double>> spread;
  for (std::uint32_t box = 1; box < 13; ++box) spread.push_back(moments(0.0, box));
  for (const double r : {0.3, 0.9}) {
    const std::vector<double> together = moments(r, 1);
    for (std::size_t k = 0; k < alone.size(); ++k) {
      double mean = 0.0, squares = 0.0;
      for (const auto& one : spread) mean += one[k] / static_cast<double>(spread.size());
      for (const auto& one : spread) squares += (one[k] - mean) * (one[k] - mean);
      const double error = std::sqrt(squares / static_cast<double>(spread.size() - 1));
      EXPECT_LT(std::abs(together[k] - mean), 4.0 * error) << "r " << r << ", moment " << k;
    }
  }
}

// The correlation of two boxes' normals is r, times the share of periods in which both need equally many attempts. Here
// nothing is rejected.
TEST(ShockProjection, GaussianBoxesHaveTheCorrelationAsked) {
  Environment environment;
  environment.law = Law::gaussian;
  environment.id = 9;
  environment.correlation = 0.6;
  const ShockWeights weights = random_weights(20, 1, 0);
  const Stream stream{42, Purpose::online_shock, 9, 1, 3};
  const std::uint32_t n = 100000;
  const Projections a = draw(environment, 20, stream, {0, n, 0, 0, true}, weights),
                    b = draw(environment, 20, stream, {0, n, 1, 0, true}, weights);
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (std::uint32_t i = 0; i < n; ++i) {
    ab += static_cast<double>(a.linear[i]) * b.linear[i];
    aa += static_cast<double>(a.linear[i]) * a.linear[i];
    bb += static_cast<double>(b.linear[i]) * b.linear[i];
  }
  EXPECT_NEAR(ab / std::sqrt(aa * bb), 0.6, 3.0 * (1.0 - 0.36) / std::sqrt(static_cast<double>(n)));
}

TEST_P(ShockProjectionLaw, OddOutputSizes) {
  for (int output_size : {1, 2, 3, 5, 7, 99, 101, 130}) {
    const Environment environment = tight(GetParam(), output_size);
    const ShockWeights weights = random_weights(output_size, 3, 2);
    const ShockRange range{0, 37, 1, 0};
    EXPECT_TRUE(draw(environment, output_size, stream_, range, weights) ==
                naive_draw(environment, output_size, stream_, range, weights))
        << output_size;
  }
}

TEST_P(ShockProjectionLaw, DrawsCycleThroughTheBoxes) {
  const Environment environment = tight(GetParam(), 10);
  const ShockWeights weights = random_weights(10, 1, 1);
  for (std::uint32_t cycle : {1u, 3u, 16u}) {
    const ShockRange range{100, 53, 5, cycle};
    EXPECT_TRUE(draw(environment, 10, stream_, range, weights) == naive_draw(environment, 10, stream_, range, weights))
        << cycle;
  }
}

TEST_P(ShockProjectionLaw, AnySplitOfTheRangeGivesTheSameBits) {
  const Environment environment = tight(GetParam(), 20);
  const ShockWeights weights = random_weights(20, 4, 1);
  const Projections whole = draw(environment, 20, stream_, {10, 200, 1, 0}, weights);
  for (std::uint32_t cut : {1u, 15u, 16u, 17u, 100u, 199u}) {
    Projections parts = draw(environment, 20, stream_, {10, cut, 1, 0}, weights);
    const Projections rest = draw(environment, 20, stream_, {10 + cut, 200 - cut, 1, 0}, weights);
    parts.linear.insert(parts.linear.end(), rest.linear.begin(), rest.linear.end());
    parts.absolute.insert(parts.absolute.end(), rest.absolute.begin(), rest.absolute.end());
    parts.rejected += rest.rejected;
    EXPECT_TRUE(parts == whole) << cut;
  }
}

TEST(ShockProjection, EveryCountUpToTwoBatches) {
  const Environment environment = tight(Law::gaussian, 9);
  const ShockWeights weights = random_weights(9, 2, 1);
  const Stream stream{1, Purpose::online_shock, 9, 0, 0};
  for (std::uint32_t count = 0; count <= 33; ++count) {
    // There is a guard value behind the end, where nothing may be written.
    std::vector<float> linear(count * 2 + 1, -777.0f), absolute(count + 1, -777.0f);
    draw_projected_shocks(environment, 9, stream, {0, count, 0, 0}, weights, linear.data(), absolute.data());
    EXPECT_EQ(linear.back(), -777.0f);
    EXPECT_EQ(absolute.back(), -777.0f);
    linear.pop_back();
    absolute.pop_back();
    const Projections expected = naive_draw(environment, 9, stream, {0, count, 0, 0}, weights);
    EXPECT_EQ(linear, expected.linear) << count;
    EXPECT_EQ(absolute, expected.absolute) << count;
  }
}

TEST(ShockProjection, AsManyProjectionsAsFit) {
  const Environment environment = tight(Law::uniform, 30);
  const ShockWeights weights = random_weights(30, kMaxRewardFeatures, kMaxBoxes);
  const Stream stream{1, Purpose::online_shock, 9, 0, 0};
  EXPECT_TRUE(draw(environment, 30, stream, {0, 20, 0, 0}, weights) ==
              naive_draw(environment, 30, stream, {0, 20, 0, 0}, weights));
}

TEST(ShockProjection, CoordinateMajorTransposes) {
  const std::vector<double> rows = {1, 2, 3, 4, 5, 6};  // 2 x 3
  EXPECT_EQ(coordinate_major(rows, 2, 3), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace pandora
