// The solve of teams without vectors. Tests its results, that teams of any size compute the same bytes, and how often
// their members wait for each other. On a device, this waiting is the cost of a solve with few samples.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <memory>

#include "kernels/solve/solver.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/index_data.hpp"
#include "tests/reference/one_box.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::by_fibers;
using test::FiberTeam;

test::IndexData index_data(int n, int m) {
  return test::random_index_data(n, m, 23);
}

template <class Real>
class TiledNewtonOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TiledNewtonOf, Precisions);

// The gradient and Hessian in dense algebra, for samples with weights and for either loss.
void derivatives(const test::IndexData& data, const std::vector<double>& weights, Loss loss, const Ridges& ridges,
                 const VectorXd& rho, VectorXd& gradient, MatrixXd& hessian) {
  const int m = data.contexts.index_size;
  VectorXd ridge(m);
  for (int k = 0; k < m; ++k) ridge[k] = ridges.of(k);
  gradient = ridge.cwiseProduct(rho);
  hessian = ridge.asDiagonal();
  for (int s = 0; s < data.samples.size(); ++s) {
    VectorXd psi(m);
    for (int k = 0; k < m; ++k) psi[k] = data.contexts.psi[data.samples.rows[s] * data.contexts.index_stride + k];
    const IndexMoment<double> value = index_moment(loss, psi.dot(rho), data.samples.cost[s], data.samples.mu[s]);
    gradient += weights[s] * value.moment * psi;
    hessian += weights[s] * value.curvature * psi * psi.transpose();
  }
}

TYPED_TEST(TiledNewtonOf, StepsAsDenseAlgebraDoes) {
  using Real = TypeParam;
  const double tolerance = std::is_same_v<Real, float> ? 3e-5 : 1e-12;
  const Ridges ridges(0.5, 0.125);
  for (const int m : {1, 7, 8, 9, 16, 97, 101, 121, 128, 129, 140})
    for (const int n : {1, 31, 32, 33, 150, 300})
      for (const bool fades : {false, true})
        for (const Loss loss : {Loss::reservation, Loss::linear_quadratic}) {
          SCOPED_TRACE(testing::Message() << n << " samples, " << m << " features " << fades);
          const test::IndexData data = index_data(n, m);
          test::OneBox<Real> box(data.contexts, data.samples);
          std::vector<double> weights(static_cast<std::size_t>(n), 1.0);
          for (int s = 0; s < n && fades; ++s) weights[s] = static_cast<float>(1.0 / (1 + s % 7));
          if (fades) box.weigh(weights);
          box.set_loss(loss);
          VectorXd rho(m), gradient;
          for (int k = 0; k < m; ++k)
            rho[k] = static_cast<Real>(box.rho()[static_cast<std::size_t>(k)] = Real(0.1) / (k + 1));
          MatrixXd hessian;
          derivatives(data, weights, loss, ridges, rho, gradient, hessian);
          const VectorXd step = hessian.llt().solve(-gradient);

          const SerialTeam team;
          const engine::TileMemory<Real> memory(box.scratch().tiled, m);
          const engine::SampleView<Real> samples = box.template samples<SerialTeam>();
          engine::Solver<Real, SerialTeam> newton(team, samples, ridges, box.scratch(), box.view());
          newton.start(box.rho().data());
          newton.evaluate();
          ASSERT_TRUE(newton.direct());
          for (int k = 0; k < m; ++k) {
            ASSERT_NEAR(memory.gradient()[k], gradient[k], tolerance * (1 + gradient.cwiseAbs().maxCoeff()));
            ASSERT_NEAR(memory.direction()[k], step[k], 10 * tolerance * (1 + step.cwiseAbs().maxCoeff()));
          }
          EXPECT_NEAR(newton.slope(), gradient.dot(step), 10 * tolerance * (1 - gradient.dot(step)));
          newton.move(0.25);
          for (int k = 0; k < m; ++k) EXPECT_NEAR(memory.rho()[k], rho[k] + 0.25 * memory.direction()[k], 1e-14);
        }
}

// Compares one thread, warps and blocks, in any order of their members. In some solves the Hessian follows the weights
// and some keep one. Some have more rows or tiles than a warp or a block has members.
TYPED_TEST(TiledNewtonOf, TeamsOfAnySizeGiveTheSameBytes) {
  using Real = TypeParam;
  for (const auto& [m, n] : {std::pair(5, 150), std::pair(33, 150), std::pair(101, 150), std::pair(33, 2100),
                             std::pair(125, 40), std::pair(131, 40)}) {
    if (engine::TileMemory<Real>::shared_bytes(m) == 0) continue;
    const test::IndexData data = index_data(n, m);
    std::vector<double> weights;
    for (int s = 0; s < n; ++s) weights.push_back(1.0 / (1 + s % 3));
    for (const bool fades : {false, true}) {
      test::OneBox<Real> one(data.contexts, data.samples);
      if (fades) one.weigh(weights);
      ASSERT_TRUE(one.solve(SerialTeam{}));  // one thread has no shared memory
      unsigned seed = 1;
      for (const int members : {32, 64, 128, 128, 384}) {
        test::OneBox<Real> box(data.contexts, data.samples);
        if (fades) box.weigh(weights);
        by_fibers(members, [&box](const FiberTeam& team) { EXPECT_TRUE(box.solve(team)); }, {seed++});
        EXPECT_EQ(box.rho(), one.rho()) << members << " members, " << m << " features";
        EXPECT_EQ(box.gradients(), one.gradients());
      }
    }
  }
}

TEST(TiledNewton, FewBarriers) {
  for (const int m : {33, 101})
    for (const int n : {5, 40, 700}) {
      const test::IndexData data = index_data(n, m);
      test::OneBox<float> box(data.contexts, data.samples);
      const int barriers = by_fibers(128, [&box](const FiberTeam& team) { EXPECT_TRUE(box.solve(team)); });
      const int passes = box.gradients(), rounds = (n + 127) / 128, strips = (n + 15) / 16, panels = (m + 7) / 8;
      EXPECT_LE(passes, 12);
      EXPECT_LE(barriers, passes * (rounds + strips + 3 * panels + 8) + 6) << n << " samples, " << m << " features";
    }
}

// The sum of curvatures has the weights that are kept with it, from one solve to the next, and these are close to what
// the samples' curvatures are. A sweep that finds no change keeps the factor, but only if the Hessian has one.
TYPED_TEST(TiledNewtonOf, TheHessianFollowsTheWeights) {
  using Real = TypeParam;
  using Newton = engine::Solver<Real, SerialTeam>;
  constexpr int m = 21;
  const SerialTeam team;
  const Ridges ridges(1.0, 1.0);
  for (const bool fades : {false, true}) {
    const test::IndexData data = index_data(500, m);
    test::OneBox<Real> box(data.contexts, data.samples, 1.0);
    std::vector<double> weights;
    for (int s = 0; s < 500; ++s) weights.push_back(fades ? 1.0 / (1 + s % 40) : 1.0);
    if (fades) box.weigh(weights);
    const engine::TileMemory<Real> memory(box.scratch().tiled, m);
    for (const int n : {100, 101, 110, 300, 500}) {
      SCOPED_TRACE(testing::Message() << n << " samples " << fades);
      box.use(n);
      ASSERT_TRUE(box.solve(team));
      ASSERT_EQ(box.progress().samples_in_hessian, n);
      const engine::SampleView<Real> samples = box.template samples<SerialTeam>();
      Newton newton(team, samples, ridges, box.scratch(), box.view());
      newton.start(box.rho().data());
      newton.evaluate();
      newton.evaluate();  // the second time nothing changes, but there is no factor yet
      MatrixXd sum = MatrixXd::Identity(m, m);
      int changes = 0;
      for (int s = 0; s < n; ++s) {
        const Eigen::Map<const Eigen::Matrix<Real, m, 1>> psi(samples.psi_of(s));
        const Real weight = box.view().inverse_weight[s], curvature = box.scratch().weight[s];
        sum += static_cast<double>(weight) * (psi * psi.transpose()).template cast<double>();
        EXPECT_LE(std::abs(weight - curvature), engine::RunningHessian<Real>::kChange * static_cast<Real>(weights[s]));
        changes += weight != curvature ? 1 : 0;
      }
      EXPECT_GT(changes, 0);  // small changes are left out
      VectorXd gradient(m);
      for (int k = 0; k < m; ++k) gradient[k] = memory.gradient()[k];
      const VectorXd step = sum.llt().solve(-gradient);
      const double tolerance = (std::is_same_v<Real, float> ? 1e-4 : 1e-10) * step.norm();
      for (int again = 0; again < 2; ++again) {  // by a factorisation, then by the factor that stands
        ASSERT_TRUE(newton.direct());
        for (int k = 0; k < m; ++k) EXPECT_NEAR(memory.direction()[k], step[k], tolerance) << again;
        newton.evaluate();
      }
    }
  }
}

// Above kOneHessian samples a solve keeps the factor of its first Hessian, and only new samples are added to the sum.
// The solution is right, takes few sweeps, and is the same in teams of any size.
TEST(TiledNewton, ManySamplesAreSolvedAroundOneHessian) {
  constexpr int m = 21, most = 3000;
  const test::IndexData data = index_data(most, m);
  for (const auto& counts : {std::vector{2600}, std::vector{900, 1900, 2100, 2101, 2350, 3000}}) {
    std::vector<std::unique_ptr<test::OneBox<float>>> boxes;
    for (int k = 0; k < 4; ++k) {
      boxes.push_back(std::make_unique<test::OneBox<float>>(data.contexts, data.samples, 1.0));
      for (float& x : boxes.back()->rho()) x = 0.4f;  // far from the solution
    }
    for (const int n : counts) {
      SCOPED_TRACE(n);
      IndexSamples samples;
      for (int s = 0; s < n; ++s) samples.add(data.samples.rows[s], data.samples.cost[s], data.samples.mu[s]);
      VectorXd exact = VectorXd::Zero(m), gradient, rho(m);
      fit_index(data.contexts, samples, 1.0, exact);
      MatrixXd hessian;
      index_derivatives(data.contexts, samples, 1.0, exact, gradient, &hessian);
      const MatrixXd full = hessian.selfadjointView<Eigen::Lower>();
      test::OneBox<float>& one = *boxes[0];
      one.use(n);
      const int before = one.gradients();
      ASSERT_TRUE(one.solve(SerialTeam{}));
      for (int k = 0; k < m; ++k) rho[k] = static_cast<double>(one.rho()[static_cast<std::size_t>(k)]);
      EXPECT_LT((rho - exact).dot(full * (rho - exact)), 2 * index_tolerance(n, 1.0));
      EXPECT_LE(one.gradients() - before, 12);
      EXPECT_EQ(one.progress().samples_in_hessian, n);
      const int sizes[] = {1, 32, 128, 384};
      for (int k = 1; k < 4; ++k) {
        test::OneBox<float>& box = *boxes[static_cast<std::size_t>(k)];
        box.use(n);
        const int swept = box.gradients(), before_it = box.progress().samples_in_hessian,
                  known = before_it > engine::kOneHessian ? before_it : 0;
        const int barriers = by_fibers(sizes[k], [&box](const FiberTeam& team) { EXPECT_TRUE(box.solve(team)); });
        EXPECT_EQ(box.rho(), one.rho()) << sizes[k] << " members";
        const int panels = (m + 7) / 8, passes = box.gradients() - swept, forms = n > engine::kOneHessian ? 1 : passes,
                  fresh = n - known;
        EXPECT_LE(barriers,
                  passes * (2 * panels + 8 + 4 * 4) + forms * (fresh / sizes[k] + fresh / 16 + panels + 3) + 10);
      }
    }
  }
}

TEST(Elementary, ReciprocalRootsAreRightToTheLastDigits) {
  test::Random random(5);
  for (int k = 0; k < 100000; ++k) {
    const double x = std::exp(random.uniform(-80.0, 80.0));
    EXPECT_NEAR(reciprocal_root(x) * std::sqrt(x), 1.0, 5e-16);
    const float y = static_cast<float>(x);
    EXPECT_NEAR(static_cast<double>(reciprocal_root(y)) * std::sqrt(static_cast<double>(y)), 1.0, 2e-7);
  }
}

// With fewer samples than features and next to no ridge, the Hessian has no Cholesky factor in single precision.
TEST(TiledNewton, WithoutARidgeTheSolveGoesOnInDouble) {
  constexpr double kNone = 1e-7;
  const test::IndexData data = index_data(20, 60);
  test::OneBox<float> box(data.contexts, data.samples, kNone);
  for (float& x : box.rho()) x = 0.0f;
  ASSERT_TRUE(box.solve(SerialTeam{}));
  VectorXd rho(60), gradient;
  for (int k = 0; k < 60; ++k) rho[k] = static_cast<double>(box.rho()[static_cast<std::size_t>(k)]);
  index_derivatives(data.contexts, data.samples, kNone, rho, gradient, nullptr);
  EXPECT_LT(gradient.norm(), 1e-3);
}

// If no supported device can give a block so much memory, the solve does not ask for it.
TEST(TileMemory, FitsIntoABlocksSharedMemoryAtThePapersShape) {
  using Memory = engine::TileMemory<float>;
  EXPECT_EQ(Memory::shared_bytes(101), Memory::bytes(101));
  EXPECT_LE(Memory::bytes(101), 48u << 10);  // four blocks share a multiprocessor's 227 KiB
  EXPECT_EQ(Memory::shared_bytes(160), Memory::bytes(160));
  EXPECT_EQ(Memory::shared_bytes(401), 0u);
}

}  // namespace
}  // namespace pandora
