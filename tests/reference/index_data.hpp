// Samples of one box with random contexts, for tests of solves of rho_hat.
#pragma once

#include <cstdint>
#include <vector>

#include "host/lanes/estimator/index_fit.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora::test {

struct IndexData {
  Contexts contexts;
  IndexSamples samples;
};

/// n samples with m features: an intercept, and uniform features.
inline IndexData random_index_data(int n, int m, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<float>> psi;
  IndexSamples samples;
  for (int s = 0; s < n; ++s) {
    psi.push_back({1.0f});
    for (int j = 1; j < m; ++j) psi.back().push_back(static_cast<float>(random.uniform(-1.0, 1.0)));
    const double mu = random.uniform(0.02, 0.98);  // as arguments, compilers would draw the two in different orders
    samples.add(s, random.uniform(0.0, 0.3), mu);
  }
  return {contexts_of(psi), samples};
}

/// m uniform numbers within [-size, size].
inline Eigen::VectorXd random_vector(int m, double size, Random& random) {
  Eigen::VectorXd out(m);
  for (double& each : out) each = random.uniform(-size, size);
  return out;
}

}  // namespace pandora::test
