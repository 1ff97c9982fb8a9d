// The block transform against Sherman-Morrison one update at a time, in double to rounding, for every block length.
#include "kernels/gram_block.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

struct Sample {
  Eigen::VectorXd psi;
  double h, e;
};

// Random contexts; the periods that are updated, with weights that are sometimes 0 and errors.
std::vector<Sample> samples(int m, int n, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<Sample> out;
  for (int s = 0; s < n; ++s) {
    Sample sample{Eigen::VectorXd(m), 0.0, random.uniform(-1, 1)};
    for (int k = 0; k < m; ++k) sample.psi[k] = random.uniform(-1, 1);
    const double u = random.uniform(0, 1);
    sample.h = u < 0.3 ? -1.0 : u < 0.5 ? 0.0 : random.uniform(0.01, 1);  // -1: not queried
    out.push_back(sample);
  }
  return out;
}

struct Result {
  Eigen::MatrixXd P;
  Eigen::VectorXd rho;
  std::vector<double> quadratics, predictions;  // before each period's update
};

Result sequential(const std::vector<Sample>& data, int m) {
  Result r{Eigen::MatrixXd::Identity(m, m), Eigen::VectorXd::Zero(m), {}, {}};
  for (const Sample& s : data) {
    const Eigen::VectorXd v = r.P * s.psi;
    const double quadratic = s.psi.dot(v);
    r.quadratics.push_back(quadratic);
    r.predictions.push_back(s.psi.dot(r.rho));
    if (s.h < 0.0) continue;
    r.rho -= v * (s.e / (1.0 + s.h * quadratic));
    r.P -= (s.h / (1.0 + s.h * quadratic)) * v * v.transpose();
  }
  return r;
}

// flush_every > 0 materialises in the middle of blocks, as a solve does.
Result blocked(const std::vector<Sample>& data, int m, int B, int flush_every) {
  const int stride = padded_to_vector<double>(m), width = padded_to_vector<double>(B);
  SimdVector<double> P(static_cast<std::size_t>(m) * stride, 0.0), rho(static_cast<std::size_t>(stride), 0.0);
  for (int k = 0; k < m; ++k) P[static_cast<std::size_t>(k) * stride + k] = 1.0;
  GramBlock<double> gram(m, stride, B);
  Result r{{}, {}, {}, {}};
  for (std::size_t first = 0; first < data.size(); first += static_cast<std::size_t>(B)) {
    const int n = std::min<int>(B, static_cast<int>(data.size() - first));
    SimdVector<double> psi(static_cast<std::size_t>(n) * stride, 0.0),
        transposed(static_cast<std::size_t>(m) * width, 0.0);
    std::vector<const double*> rows;
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < m; ++k)
        psi[static_cast<std::size_t>(j) * stride + k] = transposed[static_cast<std::size_t>(k) * width + j] =
            data[first + j].psi[k];
      rows.push_back(&psi[static_cast<std::size_t>(j) * stride]);
    }
    gram.form(P.data(), rows.data(), transposed.data(), n);
    SimdVector<double> p(static_cast<std::size_t>(width), 0.0);
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < m; ++k) p[j] += rho[k] * data[first + j].psi[k];
    std::vector<double> steps;
    std::size_t done = 0;
    const auto flush = [&] {
      gram.materialise([&](int, const double* v) {
        for (int k = 0; k < m; ++k) rho[k] -= v[k] * steps[done];
        ++done;
      });
    };
    for (int j = 0; j < n; ++j) {
      const Sample& s = data[first + j];
      r.quadratics.push_back(gram.quadratic(j));
      r.predictions.push_back(p[j]);
      if (s.h < 0.0) continue;
      steps.push_back(s.e / gram.update(j, s.h));
      for (int i = j + 1; i < n; ++i) p[i] -= gram.row()[i] * steps.back();
      if (flush_every > 0 && j % flush_every == 0) flush();
    }
    flush();
    gram.apply(P.data());
  }
  r.P.resize(m, m);
  r.rho.resize(m);
  for (int i = 0; i < m; ++i) {
    r.rho[i] = rho[i];
    for (int k = 0; k < m; ++k) r.P(i, k) = P[static_cast<std::size_t>(i) * stride + k];
  }
  return r;
}

class GramBlockLength : public testing::TestWithParam<int> {};

TEST_P(GramBlockLength, EqualsTheSequentialRecursionToRounding) {
  const int B = GetParam();
  for (const int m : {1, 5, 33, 101})
    for (const int flush_every : {0, 3}) {
      const std::vector<Sample> data = samples(m, 150, 17 * m + B);
      const Result expected = sequential(data, m), actual = blocked(data, m, B, flush_every);
      for (std::size_t j = 0; j < data.size(); ++j) {
        ASSERT_NEAR(actual.quadratics[j], expected.quadratics[j], 1e-12 * m) << "period " << j;
        ASSERT_NEAR(actual.predictions[j], expected.predictions[j], 1e-12 * m) << "period " << j;
      }
      EXPECT_LT((actual.P - expected.P).cwiseAbs().maxCoeff(), 1e-13 * m);
      EXPECT_LT((actual.rho - expected.rho).cwiseAbs().maxCoeff(), 1e-12 * m);
      EXPECT_EQ(actual.P, actual.P.transpose()) << "P must stay exactly symmetric";
    }
}
INSTANTIATE_TEST_SUITE_P(Lengths, GramBlockLength, testing::Values(1, 7, 16, 32, 64));

TEST(GramBlock, InverseMatchesAFreshOne) {
  const int m = 33;
  const std::vector<Sample> data = samples(m, 200, 5);
  Eigen::MatrixXd V = Eigen::MatrixXd::Identity(m, m);
  for (const Sample& s : data)
    if (s.h > 0.0) V += s.h * s.psi * s.psi.transpose();
  EXPECT_LT((blocked(data, m, 32, 0).P - V.inverse()).cwiseAbs().maxCoeff(), 1e-11);
}

TEST(GramBlock, MultiplyAppliesTheCurrentInverse) {
  const int m = 20, stride = padded_to_vector<double>(m), n = 8, width = padded_to_vector<double>(n);
  const std::vector<Sample> data = samples(m, n, 9);
  SimdVector<double> P(static_cast<std::size_t>(m) * stride, 0.0), psi(static_cast<std::size_t>(n) * stride, 0.0),
      transposed(static_cast<std::size_t>(m) * width, 0.0), out(static_cast<std::size_t>(m));
  for (int k = 0; k < m; ++k) P[static_cast<std::size_t>(k) * stride + k] = 1.0;
  std::vector<const double*> rows;
  for (int j = 0; j < n; ++j) {
    for (int k = 0; k < m; ++k)
      psi[static_cast<std::size_t>(j) * stride + k] = transposed[static_cast<std::size_t>(k) * width + j] =
          data[j].psi[k];
    rows.push_back(&psi[static_cast<std::size_t>(j) * stride]);
  }
  GramBlock<double> gram(m, stride, n);
  gram.form(P.data(), rows.data(), transposed.data(), n);
  for (int j = 0; j < n; ++j)
    if (data[j].h >= 0.0) gram.update(j, data[j].h);
  gram.materialise([](int, const double*) {});
  const Eigen::VectorXd x = data[0].psi;
  gram.multiply(P.data(), x.data(), out.data());
  const Eigen::VectorXd expected = sequential(data, m).P * x;
  for (int k = 0; k < m; ++k) EXPECT_NEAR(out[k], expected[k], 1e-13);
}

TEST(GramBlock, SoundSeesAnInverseThatIsNone) {
  const int m = 4, stride = padded_to_vector<float>(m), width = padded_to_vector<float>(1);
  SimdVector<float> P(static_cast<std::size_t>(m) * stride, 0.0f), psi(static_cast<std::size_t>(stride), 0.0f),
      transposed(static_cast<std::size_t>(m) * width, 0.0f), norm(static_cast<std::size_t>(width), 1.0f);
  psi[0] = transposed[0] = 1.0f;
  const float* row = psi.data();
  GramBlock<float> gram(m, stride, 1);
  const auto sound_with = [&](float p00) {
    P[0] = p00;
    gram.form(P.data(), &row, transposed.data(), 1);
    return gram.sound(norm.data(), 1.001f);
  };
  EXPECT_TRUE(sound_with(1.0f));
  EXPECT_TRUE(sound_with(1e-6f));
  EXPECT_FALSE(sound_with(1.1f));
  EXPECT_FALSE(sound_with(-1e-9f));
  EXPECT_FALSE(sound_with(std::numeric_limits<float>::quiet_NaN()));
}

}  // namespace
}  // namespace pandora
