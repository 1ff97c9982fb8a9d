// The solve of teams without vectors: what it computes, that teams of any size compute the same bytes, and how often
// their members wait for each other, which is what a solve of few samples costs on a device.
#include "kernels/solve/tiled_newton.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "tests/reference/index_data.hpp"
#include "tests/reference/one_box.hpp"
#include "tests/reference/fiber_team.hpp"

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

TYPED_TEST(TiledNewtonOf, StepsAsDenseAlgebraDoes) {
  using Real = TypeParam;
  const double tolerance = std::is_same_v<Real, float> ? 3e-5 : 1e-12;
  for (const int m : {1, 7, 8, 9, 16, 101})
    for (const int n : {1, 31, 32, 33, 150}) {
      SCOPED_TRACE(testing::Message() << n << " samples, " << m << " features");
      const test::IndexData data = index_data(n, m);
      test::OneBox<Real> box(data.contexts, data.samples);
      VectorXd rho(m), gradient;
      for (int k = 0; k < m; ++k)
        rho[k] = static_cast<Real>(box.rho()[static_cast<std::size_t>(k)] = Real(0.1) / (k + 1));
      MatrixXd hessian;
      index_derivatives(data.contexts, data.samples, Ridges(0.5, 0.125), rho, gradient, &hessian);
      const MatrixXd full = hessian.selfadjointView<Eigen::Lower>();
      const VectorXd step = full.llt().solve(-gradient);

      const SerialTeam team;
      const engine::TileMemory<Real> memory(box.scratch().tiled, m);
      const Ridges ridges(0.5, 0.125);
      engine::TiledNewton<Real, SerialTeam> newton(team, box.samples(), ridges, memory, box.scratch().weight);
      newton.start(box.rho().data());
      newton.evaluate();
      ASSERT_TRUE(newton.direct());
      for (int k = 0; k < m; ++k) {
        EXPECT_NEAR(memory.gradient()[k], gradient[k], tolerance * (1 + gradient.cwiseAbs().maxCoeff()));
        EXPECT_NEAR(memory.direction()[k], step[k], 10 * tolerance * (1 + step.cwiseAbs().maxCoeff()));
      }
      EXPECT_NEAR(newton.slope(), gradient.dot(step), 10 * tolerance * (1 - gradient.dot(step)));
      newton.move(0.25);
      for (int k = 0; k < m; ++k) EXPECT_NEAR(memory.rho()[k], rho[k] + 0.25 * memory.direction()[k], 1e-14);
    }
}

TYPED_TEST(TiledNewtonOf, TeamsOfAnySizeGiveTheSameBytes) {
  using Real = TypeParam;
  for (const int m : {5, 33}) {
    const test::IndexData data = index_data(150, m);
    test::OneBox<Real> one(data.contexts, data.samples);
    ASSERT_TRUE(one.solve(SerialTeam{}));  // without memory of its own
    for (const int members : {1, 3, 32, 128}) {
      test::OneBox<Real> box(data.contexts, data.samples);
      by_fibers(members, [&box](const FiberTeam& team) { EXPECT_TRUE(box.solve(team)); });
      EXPECT_EQ(box.rho(), one.rho()) << members << " members, " << m << " features";
      EXPECT_EQ(box.gradients(), one.gradients());
    }
  }
}

TEST(TiledNewton, FewBarriers) {
  for (const int m : {33, 101})
    for (const int n : {5, 40, 700}) {
      const test::IndexData data = index_data(n, m);
      test::OneBox<float> box(data.contexts, data.samples);
      const int barriers = by_fibers(128, [&box](const FiberTeam& team) { EXPECT_TRUE(box.solve(team)); });
      const int passes = box.gradients(), strips = (n + 31) / 32, panels = (m + 7) / 8;
      EXPECT_LE(passes, 12);
      EXPECT_LE(barriers, passes * (2 * strips + 3 * panels + 10) + 8) << n << " samples, " << m << " features";
    }
}

// Above kFreshSamples only the first sweep forms a Hessian; the solution is the one that is asked for, in few sweeps,
// and the same in teams of any size.
TEST(TiledNewton, ManySamplesAreSolvedAroundOneHessian) {
  constexpr int m = 21, n = 2600;
  ASSERT_GT(n, (engine::TiledNewton<float, SerialTeam>::kFreshSamples));
  const test::IndexData data = index_data(n, m);
  VectorXd exact = VectorXd::Zero(m), gradient;
  fit_index(data.contexts, data.samples, 1.0, exact);
  MatrixXd hessian;
  index_derivatives(data.contexts, data.samples, 1.0, exact, gradient, &hessian);
  const MatrixXd full = hessian.selfadjointView<Eigen::Lower>();
  test::OneBox<float> one(data.contexts, data.samples, 1.0);
  for (const float start : {0.0f, 0.4f}) {  // far, and farther
    const int before = one.gradients();
    for (float& x : one.rho()) x = start;
    ASSERT_TRUE(one.solve(SerialTeam{}));
    VectorXd rho(m);
    for (int k = 0; k < m; ++k) rho[k] = static_cast<double>(one.rho()[static_cast<std::size_t>(k)]);
    EXPECT_LT((rho - exact).dot(full * (rho - exact)), 2 * index_tolerance(n, 1.0)) << "from " << start;
    EXPECT_LE(one.gradients() - before, 12);
  }
  for (const int members : {3, 128, 384}) {
    test::OneBox<float> box(data.contexts, data.samples, 1.0);
    for (float& x : box.rho()) x = 0.4f;
    const int barriers = by_fibers(members, [&box](const FiberTeam& team) { EXPECT_TRUE(box.solve(team)); });
    EXPECT_EQ(box.rho(), one.rho()) << members << " members";
    const int groups = members / 96 < 4 ? 1 : 4,
              rounds = 4 * ((m + 7) / 8 * ((m + 7) / 8 + 1) / 2 / members + 1) / groups, strips = (n + 31) / 32,
              panels = (m + 7) / 8, passes = box.gradients();
    EXPECT_LE(barriers, passes * (2 * panels + 8 + 4 * 4) + rounds * 2 * (strips / 4 + 1) + panels + 12) << members;
  }
}

// A Hessian of fewer samples than features and next to no ridge has no factor in single precision.
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

// Where it is more than every device can give a block, it is not asked for.
TEST(TileMemory, FitsIntoABlocksSharedMemoryAtThePapersShape) {
  using Memory = engine::TileMemory<float>;
  EXPECT_EQ(Memory::shared_bytes(101, 128), Memory::bytes(101, 128));
  EXPECT_LE(Memory::bytes(101, 128), 75u << 10);  // three blocks share a multiprocessor's 227 KiB
  EXPECT_EQ(Memory::members_with_room(101, 384), 384);
  EXPECT_EQ(Memory::members_with_room(120, 384), 256);
  EXPECT_EQ(Memory::shared_bytes(401, 128), 0u);
}

}  // namespace
}  // namespace pandora
