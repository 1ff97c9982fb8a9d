#include "kernels/random/distributions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/tape/shock_projection.hpp"
#include "pandora/paper_setting.hpp"
#include "tests/reference/statistics.hpp"

namespace pandora {
namespace {

using namespace statistics;

// Draws n untruncated coordinates of a law from a separate stream.
std::vector<double> coordinates(Law law, int n) {
  std::vector<double> out;
  const Stream stream{20240607, Purpose::oracle_shock, 7, 0, 0};
  for (std::uint32_t period = 0; static_cast<int>(out.size()) < n; ++period) {
    float xi[4][1];
    shock_group<1>(law, stream, 0, {0}, {period}, {0}, xi);
    for (int k = 0; k < 4; ++k) out.push_back(xi[k][0]);
  }
  return out;
}

template <class Function>
std::vector<double> map(const std::vector<double>& x, Function&& f) {
  std::vector<double> out;
  for (double value : x) out.push_back(f(value));
  return out;
}

double power(double x, int k) {
  return k == 0 ? 1.0 : x * power(x, k - 1);
}

constexpr int kDraws = 1000000;

TEST(SignedUniform, BothEndsOccurAndNothingBeyond) {
  EXPECT_EQ(signed_uniform(0x80000000u), -1.0f);
  EXPECT_EQ(signed_uniform(0x7fffffffu), 1.0f);
  EXPECT_EQ(signed_uniform(0u), 0.0f);
  EXPECT_EQ(signed_uniform(1u), 0x1p-31f);
  EXPECT_EQ(signed_uniform(0xffffffffu), -0x1p-31f);
}

TEST(UnitUniform, ZeroCannotOccurAndOneCan) {
  EXPECT_EQ(unit_uniform(0u), 0x1p-33f);
  EXPECT_EQ(unit_uniform(0xffffffffu), 1.0f);
  float last = 0.0f;
  for (std::uint64_t word = 0; word < 0x100000000ull; word += 65521) {
    const float u = unit_uniform(static_cast<std::uint32_t>(word));
    ASSERT_GE(u, last);  // it is monotone, so the ends are bounds
    last = u;
  }
}

TEST(OpenUniform, NeitherEndOccurs) {
  EXPECT_EQ(open_uniform(0u), 0x1p-33);
  EXPECT_EQ(open_uniform(0xffffffffu), 1.0 - 0x1p-33);
}

TEST(UniformLaw, MomentsAndDistribution) {
  const std::vector<double> x = coordinates(Law::uniform, kDraws);
  for (int k = 1; k <= 6; ++k)
    EXPECT_LT(std::abs(in_standard_errors(mean(map(x, [k](double v) { return power(v, k); })),
                                          k % 2 == 1 ? 0.0 : 1.0 / (k + 1))),
              kAlarm)
        << "moment " << k;
  EXPECT_LT(kolmogorov_smirnov(x, uniform_distribution), kKolmogorovAlarm);
}

TEST(NormalLaw, MomentsAndDistribution) {
  const std::vector<double> x = coordinates(Law::gaussian, kDraws);
  const double moments[] = {1, 0, 1, 0, 3, 0, 15};
  for (int k = 1; k <= 6; ++k)
    EXPECT_LT(std::abs(in_standard_errors(mean(map(x, [k](double v) { return power(v, k); })), moments[k])), kAlarm)
        << "moment " << k;
  EXPECT_LT(kolmogorov_smirnov(x, normal_distribution), kKolmogorovAlarm);
}

TEST(NormalLaw, Tails) {
  const std::vector<double> x = coordinates(Law::gaussian, kDraws);
  for (double bound : {2.0, 3.0, 4.0}) {
    const double upper = std::erfc(bound / std::sqrt(2.0)) / 2.0;
    const auto above = std::count_if(x.begin(), x.end(), [bound](double v) { return v > bound; });
    const auto below = std::count_if(x.begin(), x.end(), [bound](double v) { return v < -bound; });
    EXPECT_LT(std::abs(in_standard_errors(static_cast<double>(above), kDraws, upper)), kAlarm) << bound;
    EXPECT_LT(std::abs(in_standard_errors(static_cast<double>(below), kDraws, upper)), kAlarm) << bound;
  }
}

TEST(NormalLaw, LargestValue) {
  float first, second, largest = 0.0f;
  for (std::uint32_t angular = 0; angular < 1000; ++angular) {
    two_normals(0u, angular * 4294967u, first, second);  // the radial word 0 gives the least uniform number
    largest = std::max({largest, std::abs(first), std::abs(second)});
    EXPECT_LE(std::hypot(first, second), 6.77f);
  }
  EXPECT_NEAR(largest, std::sqrt(66.0 * std::log(2.0)), 1e-3);
  two_normals(0xffffffffu, 12345u, first, second);  // log(1) = 0
  EXPECT_EQ(first, 0.0f);
  EXPECT_EQ(second, 0.0f);
}

// A pair of words gives the value of the Box-Muller formula.
TEST(NormalLaw, EqualsBoxAndMullerInDouble) {
  std::mt19937 engine(3);
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t radial = static_cast<std::uint32_t>(engine()), angular = static_cast<std::uint32_t>(engine());
    const double radius = std::sqrt(-2.0 * std::log((radial + 0.5) / 4294967296.0));
    const double angle = std::acos(-1.0) * (static_cast<std::int32_t>(angular) / 2147483648.0);
    float first, second;
    two_normals(radial, angular, first, second);
    // Near u = 1 the uniform number in float has an error of 2^-25, and the square root enlarges it.
    const double tolerance = 2e-6 + 1e-7 / std::max(radius, 1e-4);
    ASSERT_NEAR(first, radius * std::cos(angle), tolerance);
    ASSERT_NEAR(second, radius * std::sin(angle), tolerance);
  }
}

// Both normals of a pair of words are used, so they must be independent and not only uncorrelated.
TEST(NormalLaw, TheTwoNormalsOfAPairAreIndependent) {
  const std::vector<double> x = coordinates(Law::gaussian, kDraws);
  const auto cross = [&x](int power_first, int power_second) {
    std::vector<double> product;
    for (std::size_t i = 0; i < x.size(); i += 2)
      product.push_back((power(x[i], power_first) - (power_first == 2)) *
                        (power(x[i + 1], power_second) - (power_second == 2)));
    return mean(product);
  };
  EXPECT_LT(std::abs(in_standard_errors(cross(1, 1), 0.0)), kAlarm);
  EXPECT_LT(std::abs(in_standard_errors(cross(2, 2), 0.0)), kAlarm);
  EXPECT_LT(std::abs(in_standard_errors(cross(1, 2), 0.0)), kAlarm);
  EXPECT_LT(std::abs(in_standard_errors(cross(2, 1), 0.0)), kAlarm);
}

TEST(CentredNormalCdf, IsTheErrorFunction) {
  for (double z = -6.0; z <= 6.0; z += 0.001)
    ASSERT_NEAR(centred_normal_cdf(static_cast<float>(z)), std::erf(static_cast<float>(z) / std::sqrt(2.0)), 6e-7) << z;
  EXPECT_EQ(centred_normal_cdf(-1.25f), -centred_normal_cdf(1.25f));
}

TEST(StudentLaw, DistributionAndVariance) {
  const std::vector<double> x = coordinates(Law::student_t5, kDraws);
  EXPECT_LT(kolmogorov_smirnov(x, t5_distribution), kKolmogorovAlarm);
  EXPECT_LT(std::abs(in_standard_errors(mean(x), 0.0)), kAlarm);
  EXPECT_LT(std::abs(in_standard_errors(mean(map(x, [](double v) { return v * v; })), 5.0 / 3.0)), kAlarm);
}

// The values are cut off at 10, because without this the fourth moment's sampling variance is infinite (t5 has no
// eighth moment).
TEST(StudentLaw, KurtosisCutOffAtTen) {
  const std::vector<double> x = coordinates(Law::student_t5, kDraws);
  double exact = 0.0;  // midpoint sums of v^4 f(v), f by differences of the distribution
  constexpr int kCells = 200000;
  for (int i = 0; i < kCells; ++i) {
    const double low = -10.0 + 20.0 * i / kCells, high = -10.0 + 20.0 * (i + 1) / kCells;
    exact += power((low + high) / 2.0, 4) * (t5_distribution(high) - t5_distribution(low));
  }
  const std::vector<double> fourth = map(x, [](double v) { return std::abs(v) <= 10.0 ? power(v, 4) : 0.0; });
  EXPECT_LT(std::abs(in_standard_errors(mean(fourth), exact)), kAlarm);
}

TEST(StudentLaw, Tails) {
  const std::vector<double> x = coordinates(Law::student_t5, kDraws);
  EXPECT_NEAR(2.0 * (1.0 - t5_distribution(4.0)), 0.0103234, 1e-7);  // a value from tables, which checks the reference
  for (double bound : {1.0, 4.0, 8.0, 12.0}) {
    const double upper = 1.0 - t5_distribution(bound);
    const auto above = std::count_if(x.begin(), x.end(), [bound](double v) { return v > bound; });
    const auto below = std::count_if(x.begin(), x.end(), [bound](double v) { return v < -bound; });
    EXPECT_LT(std::abs(in_standard_errors(static_cast<double>(above), kDraws, upper)), kAlarm) << bound;
    EXPECT_LT(std::abs(in_standard_errors(static_cast<double>(below), kDraws, upper)), kAlarm) << bound;
  }
}

TEST(StudentLaw, LargestValue) {
  const double bound = std::sqrt(5.0 * (std::exp2(13.2) - 1.0));
  EXPECT_NEAR(student_t5(0u, 0u), bound, 1e-3);            // cos(0) = 1
  EXPECT_NEAR(student_t5(0u, 0x80000000u), -bound, 1e-3);  // cos(pi) = -1
  EXPECT_EQ(student_t5(0xffffffffu, 0u), 0.0f);
  EXPECT_LT(bound, 217.0);
}

TEST(StudentLaw, EqualsBaileysFormulaInDouble) {
  std::mt19937 engine(4);
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t radial = static_cast<std::uint32_t>(engine()), angular = static_cast<std::uint32_t>(engine());
    const double u = (radial + 0.5) / 4294967296.0;
    const double radius = std::sqrt(5.0 * (std::pow(u, -0.4) - 1.0));
    const double angle = std::acos(-1.0) * (static_cast<std::int32_t>(angular) / 2147483648.0);
    ASSERT_NEAR(student_t5(radial, angular), radius * std::cos(angle),
                2e-6 * (1.0 + radius) + 1e-7 / std::max(radius, 1e-4));
  }
}

// If the sine of a pair were used too, neighbours would be uncorrelated but dependent. They must be independent.
TEST(StudentLaw, NeighbouringCoordinatesAreIndependent) {
  const std::vector<double> x = coordinates(Law::student_t5, kDraws);
  const auto sign_of_excess = [](double v) { return std::abs(v) > 1.0 ? 1.0 : 0.0; };
  const double p = 2.0 * (1.0 - t5_distribution(1.0));
  for (std::size_t lag : {1u, 2u, 3u}) {
    std::vector<double> product;
    for (std::size_t i = 0; i + lag < x.size(); i += 4)
      product.push_back((sign_of_excess(x[i]) - p) * (sign_of_excess(x[i + lag]) - p));
    EXPECT_LT(std::abs(in_standard_errors(mean(product), 0.0)), kAlarm) << lag;
  }
}

// ---- truncation of whole vectors

constexpr int kOutput = 100;

// Accepted vectors, of which projections show the coordinates xi_0 .. xi_63 and |xi_64| .. |xi_99|.
std::vector<std::vector<float>> accepted_vectors(const Environment& environment, std::uint32_t count) {
  ShockWeights weights;
  weights.n_linear = 64;
  weights.n_absolute = 36;
  weights.linear.assign(kOutput * 64, 0.0f);
  weights.absolute.assign(kOutput * 36, 0.0f);
  for (int j = 0; j < 64; ++j) weights.linear[j * 64 + j] = 1.0f;
  for (int j = 64; j < kOutput; ++j) weights.absolute[j * 36 + j - 64] = 1.0f;
  std::vector<float> linear(count * 64), absolute(count * 36);
  draw_projected_shocks(environment, kOutput, {5, Purpose::oracle_shock, environment.id, 0, 0}, {0, count, 0, 0},
                        weights, linear.data(), absolute.data());
  std::vector<std::vector<float>> out(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    out[i].assign(linear.begin() + i * 64, linear.begin() + (i + 1) * 64);
    out[i].insert(out[i].end(), absolute.begin() + i * 36, absolute.begin() + (i + 1) * 36);
  }
  return out;
}

std::uint64_t rejections(const Environment& environment, std::uint32_t count) {
  return draw_projected_shocks(environment, kOutput, {6, Purpose::oracle_shock, environment.id, 0, 0}, {0, count, 0, 0},
                               {}, nullptr, nullptr);
}

TEST(Truncation, AcceptedVectorsLieInTheBall) {
  for (const Environment& environment : paper_environments()) {
    double largest = 0.0;
    for (const std::vector<float>& xi : accepted_vectors(environment, 20000)) {
      double square = 0.0;
      for (double value : xi) square += value * value;
      largest = std::max(largest, std::sqrt(square));
    }
    EXPECT_LE(largest, environment.truncation_radius * (1.0 + 1e-6)) << environment.name;
    if (environment.law != Law::uniform) {  // some vectors reach the sphere, so nothing is cut off before it
      EXPECT_GT(largest, environment.truncation_radius * 0.995) << environment.name;
    }
  }
}

TEST(Truncation, UniformVectorsAreNeverRejected) {
  EXPECT_EQ(rejections(paper_environments()[0], 20000), 0u);
}

// The radius 11.65 is the root of the 0.99 quantile, rounded. So the exact rate of rejection is P(chi2_100 > 11.65^2).
TEST(Truncation, GaussianRateOfRejection) {
  constexpr std::uint32_t kCount = 100000;
  const double p = chi_square_tail_even(100, 11.65 * 11.65);
  EXPECT_NEAR(p, 0.01, 2e-4);
  const double rejected = static_cast<double>(rejections(paper_environments()[1], kCount));
  EXPECT_LT(std::abs(in_standard_errors(rejected, kCount + rejected, p)), kAlarm);
}

// The law of 0.6 sum T_j^2 has no closed form. So a two-sample test compares it with the C++ library's t distribution.
TEST(Truncation, StudentRateOfRejection) {
  constexpr int kCount = 60000;
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  std::gamma_distribution<double> half_chi_square(2.5);
  int outside = 0;
  for (int i = 0; i < kCount; ++i) {
    double square = 0.0;
    for (int j = 0; j < kOutput; ++j) {
      const double z = normal(engine);
      square += 0.6 * z * z / (2.0 * half_chi_square(engine) / 5.0);
    }
    outside += square > 13.56 * 13.56;
  }
  const double rejected = static_cast<double>(rejections(paper_environments()[2], kCount));
  const double p = (outside + rejected) / (2.0 * kCount + rejected);
  EXPECT_NEAR(p, 0.01, 1e-3);
  const double difference = rejected / (kCount + rejected) - static_cast<double>(outside) / kCount;
  EXPECT_LT(std::abs(difference) / std::sqrt(p * (1.0 - p) * 2.0 / kCount), kAlarm);
}

// Truncation takes the largest vectors away, so the mean square norm falls below 100, by a known amount.
TEST(Truncation, MeanSquareNormOfAcceptedGaussianVectors) {
  std::vector<double> ours, theirs;
  for (const std::vector<float>& xi : accepted_vectors(paper_environments()[1], 20000)) {
    double square = 0.0;
    for (double value : xi) square += value * value;
    ours.push_back(square);
  }
  // E[R^2; R <= r] / P(R <= r) for chi2_100: E[R^2; R <= r] = 100 P(chi2_102 <= r^2)
  const double exact =
      100.0 * (1.0 - chi_square_tail_even(102, 11.65 * 11.65)) / (1.0 - chi_square_tail_even(100, 11.65 * 11.65));
  EXPECT_LT(exact, 99.7);
  EXPECT_LT(std::abs(in_standard_errors(mean(ours), exact)), kAlarm);
}

}  // namespace
}  // namespace pandora
