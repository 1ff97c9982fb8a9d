// Boxes of a tape that depend on each other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/elementary.hpp"
#include "kernels/tape/shock_projection.hpp"
#include "kernels/tape/tape.hpp"
#include "tests/reference/small_instance.hpp"

namespace pandora {
namespace {

// corr(G(c z_1), G(c z_2)) for standard normals with correlation r, as a sum over a fine grid, with c = ||D' theta_*||.
double correlation_of_mu(double c, double r) {
  constexpr int kNodes = 240;
  constexpr double kStep = 12.0 / kNodes;
  double m1 = 0.0, m2 = 0.0, product = 0.0, mass = 0.0;
  for (int i = 0; i <= kNodes; ++i)
    for (int j = 0; j <= kNodes; ++j) {
      const double x = -6.0 + i * kStep, e = -6.0 + j * kStep, y = r * x + std::sqrt(1.0 - r * r) * e;
      const double p = std::exp(-0.5 * (x * x + e * e)), gx = logistic(c * x), gy = logistic(c * y);
      mass += p;
      m1 += p * gx;
      m2 += p * gx * gx;
      product += p * gx * gy;
    }
  const double mean = m1 / mass;
  return (product / mass - mean * mean) / (m2 / mass - mean * mean);
}

TEST(Tape, MuOfTwoBoxesCorrelateAsTheQuadratureSays) {
  Instance instance = naive::small_instance({3, 6, 8, 4}, Law::gaussian, Regime::A);
  instance.environment.truncation_radius = std::numeric_limits<float>::infinity();
  double c = 0.0;
  for (const double value : output_direction(instance, instance.theta)) c += value * value;
  const int n = 40000;
  for (const double r : {0.0, 0.3, 0.6, 0.9}) {
    instance.environment.correlation = r;
    const Tape tape = draw_tape(instance, 0, n);
    double a = 0.0, b = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
    for (int t = 0; t < n; ++t) {
      const double x = tape.mu[tape.at(tape.online_row(t), 0)], y = tape.mu[tape.at(tape.online_row(t), 2)];
      a += x / n;
      b += y / n;
      aa += x * x / n;
      bb += y * y / n;
      ab += x * y / n;
    }
    const double found = (ab - a * b) / std::sqrt((aa - a * a) * (bb - b * b)),
                 wanted = correlation_of_mu(std::sqrt(c), r);
    EXPECT_NEAR(found, wanted, 3.0 * (1.0 - wanted * wanted) / std::sqrt(n)) << r;
  }
}

}  // namespace
}  // namespace pandora
