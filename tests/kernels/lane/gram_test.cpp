// Compares the block transform, for every block length, with Sherman-Morrison updates one at a time. In double they
// agree up to rounding.
#include "kernels/lane/gram.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/solve/vector_solver.hpp"
#include "tests/reference/gram_memory.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

struct Sample {
  Eigen::VectorXd psi;
  double h, e;
};

// Random samples with contexts and errors. Some periods are not updated, and some weights are 0.
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

// The block transform. With flush_every > 0 it computes the v_j in the middle of blocks, as before a solve.
template <class Team>
Result blocked(const Team& team, const std::vector<Sample>& data, int m, int B, int flush_every) {
  test::GramMemory<double> memory(m, B, Team::kVectors);
  const engine::Shape& shape = memory.shape;
  const engine::GramView<double>& gram = memory.view;
  SimdVector<double> rho(static_cast<std::size_t>(shape.stride), 0.0);
  Result r{{}, {}, {}, {}};
  for (std::size_t first = 0; first < data.size(); first += static_cast<std::size_t>(B)) {
    const int n = std::min<int>(B, static_cast<int>(data.size() - first));
    const engine::BlockContexts<double> block =
        memory.contexts(n, [&](int j, int k) { return data[first + j].psi[k]; });
    test::form_gram(team, shape, gram, block);
    SimdVector<double> p(static_cast<std::size_t>(shape.width), 0.0);
    engine::predict(team, shape, block, rho.data(), p.data());
    std::vector<double> steps;
    const auto flush = [&] {
      engine::materialise_gram(team, shape, gram, [&](int update, const auto& v, int i) {
        double element[64];
        static_assert(sizeof(v) <= sizeof element);
        std::memcpy(element, &v, sizeof(v));
        const std::size_t bytes = sizeof(v), elements = bytes / sizeof(double);
        for (std::size_t k = 0; k < elements; ++k) rho[i + k] -= element[k] * steps[update];
      });
    };
    for (int j = 0; j < n; ++j) {
      const Sample& s = data[first + j];
      r.quadratics.push_back(gram.diagonal[j]);
      r.predictions.push_back(p[j]);
      if (s.h < 0.0) continue;
      steps.push_back(s.e / engine::update_gram(team, shape, gram, n, j, s.h));
      for (int i = j + 1; i < n; ++i) p[i] -= gram.row[i] * steps.back();
      if (flush_every > 0 && j % flush_every == 0) flush();
    }
    flush();
    engine::apply_gram(team, shape, gram);
  }
  r.P.resize(m, m);
  r.rho.resize(m);
  for (int i = 0; i < m; ++i) {
    r.rho[i] = rho[i];
    for (int k = 0; k < m; ++k) r.P(i, k) = memory.inverse(i, k);
  }
  return r;
}

class GramLength : public testing::TestWithParam<int> {};

TEST_P(GramLength, EqualsTheSequentialRecursionToRounding) {
  const int B = GetParam();
  for (const int m : {1, 5, 33, 101})
    for (const int flush_every : {0, 3}) {
      const std::vector<Sample> data = samples(m, 150, 17 * m + B);
      const Result expected = sequential(data, m);
      const auto expect_equal = [&](const Result& actual) {
        for (std::size_t j = 0; j < data.size(); ++j) {
          ASSERT_NEAR(actual.quadratics[j], expected.quadratics[j], 1e-12 * m) << "period " << j;
          ASSERT_NEAR(actual.predictions[j], expected.predictions[j], 1e-12 * m) << "period " << j;
        }
        EXPECT_LT((actual.P - expected.P).cwiseAbs().maxCoeff(), 1e-13 * m);
        EXPECT_LT((actual.rho - expected.rho).cwiseAbs().maxCoeff(), 1e-12 * m);
        EXPECT_EQ(actual.P, actual.P.transpose()) << "P must stay exactly symmetric";
      };
      expect_equal(blocked(VectorTeam{}, data, m, B, flush_every));
      expect_equal(blocked(SerialTeam{}, data, m, B, flush_every));
    }
}
INSTANTIATE_TEST_SUITE_P(Lengths, GramLength, testing::Values(1, 7, 16, 32, 64));

TEST(Gram, InverseMatchesAFreshOne) {
  const int m = 33;
  const std::vector<Sample> data = samples(m, 200, 5);
  Eigen::MatrixXd V = Eigen::MatrixXd::Identity(m, m);
  for (const Sample& s : data)
    if (s.h > 0.0) V += s.h * s.psi * s.psi.transpose();
  EXPECT_LT((blocked(VectorTeam{}, data, m, 32, 0).P - V.inverse()).cwiseAbs().maxCoeff(), 1e-11);
}

TEST(Gram, TheCurrentInverseTimesAVector) {
  const int m = 20, n = 8;
  const std::vector<Sample> data = samples(m, n, 9);
  test::GramMemory<double> memory(m, n, true);
  const VectorTeam team;
  test::form_gram(team, memory.shape, memory.view, memory.contexts(n, [&](int j, int k) { return data[j].psi[k]; }));
  for (int j = 0; j < n; ++j)
    if (data[j].h >= 0.0) engine::update_gram(team, memory.shape, memory.view, n, j, data[j].h);
  engine::materialise_gram(team, memory.shape, memory.view, [](int, const auto&, int) {});
  SimdVector<double> point(static_cast<std::size_t>(memory.shape.stride), 0.0);
  engine::SolveScratch<double> scratch{};
  scratch.point = point.data();
  Eigen::VectorXd x = data[0].psi;
  const Eigen::VectorXd expected = sequential(data, m).P * x;
  engine::multiply_current(memory.view, memory.shape, scratch, x.data());
  for (int k = 0; k < m; ++k) EXPECT_NEAR(x[k], expected[k], 1e-13);
}

template <class Team>
void expect_soundness(const Team& team, int feature, Ridges ridges) {
  test::GramMemory<float> memory(4, 1, Team::kVectors);
  const std::vector<Sample> data = {{Eigen::VectorXd::Unit(4, feature), 0.0, 0.0}};
  const engine::BlockContexts<float> block = memory.contexts(1, [&](int j, int k) { return data[j].psi[k]; });
  const auto sound_with = [&](float p00) {
    memory.P[static_cast<std::size_t>(memory.stored.at(feature, feature))] = p00;
    test::form_gram(team, memory.shape, memory.view, block);
    return engine::sound_gram(team, memory.shape, memory.view, block, most_inverse<float>(ridges));
  };
  EXPECT_TRUE(sound_with(1.0f));
  EXPECT_TRUE(sound_with(1e-6f));
  EXPECT_FALSE(sound_with(1.1f));
  EXPECT_FALSE(sound_with(-1e-9f));
  EXPECT_FALSE(sound_with(std::numeric_limits<float>::quiet_NaN()));
}

TEST(Gram, SoundSeesAnInverseThatIsNone) {
  for (const int feature : {0, 2}) {
    expect_soundness(VectorTeam{}, feature, 1.0);
    expect_soundness(SerialTeam{}, feature, 1.0);
    const Ridges ridges = feature == 0 ? Ridges(1.0, 1e-3) : Ridges(1e-3, 1.0);  // each bound differs
    expect_soundness(VectorTeam{}, feature, ridges);
    expect_soundness(SerialTeam{}, feature, ridges);
  }
}

}  // namespace
}  // namespace pandora
