// Compares the engine's joint solve, by one thread, by vectors and by several threads, with a solve that has one dense
// Hessian over all boxes (host/lanes/estimator/shrunk_fit.hpp).
#include "kernels/solve/joint_solve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/lane/stages.hpp"
#include "kernels/solve/vector_solver.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/joint_data.hpp"
#include "tests/reference/solve_memory.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

using Data = test::JointData;
using Dense = test::DenseFit;
using test::shrunk;

// A lane of the engine that has these samples.
template <class Real>
class Boxes {
 public:
  /// `vectors`: whether the team that solves has vectors.
  Boxes(const Data& data, const LaneSpec& spec, double ridge, bool vectors)
      : ridge_(ridge), A_(data.A), vectors_(vectors) {
    const Contexts& contexts = data.contexts;
    shape_ = {.A = data.A,
              .m = data.m,
              .stride = contexts.index_stride,
              .d = 1,
              .B = 16,
              .width = 16,
              .capacity = contexts.rows};
    psi_.assign(contexts.psi.begin(), contexts.psi.end());
    mu_.assign(static_cast<std::size_t>(contexts.rows) * data.A, 0.0);
    cost_ = mu_;
    lane_.spec = spec;
    lane_.needs.curvature = true;
    joint_.start(spec, data.A);
    lane_.joint = &joint_;
    lane_.progress = &progress_;
    const std::size_t matrix = static_cast<std::size_t>(stored().size());
    for (int a = 0; a < data.A; ++a) {
      const IndexSamples& own = data.samples[a];
      rows_[a] = own.rows;
      for (int s = 0; s < own.size(); ++s) {
        mu_[static_cast<std::size_t>(own.rows[s]) * data.A + a] = own.mu[s];
        cost_[static_cast<std::size_t>(own.rows[s]) * data.A + a] = own.cost[s];
      }
      rho_[a].assign(static_cast<std::size_t>(shape_.stride), Real(0));
      P_[a].assign(matrix, Real(0));
      box_[a].samples = own.size();
      joint_.samples += own.size();
      lane_.box[a].progress = &box_[a];
      lane_.box[a].rho = rho_[a].data();
      lane_.box[a].rows = rows_[a].data();
      lane_.box[a].curvature.P = P_[a].data();
    }
    lane_.tape.psi = psi_.data();
    lane_.tape.mu = mu_.data();
    lane_.tape.cost = cost_.data();
    scratch_ =
        memory_.allocate(shape_, engine::groups_of(8, data.m), 8,
                         padded_to_vector<double>(engine::JointSolve<Real, SerialTeam>::size(data.A, data.m, 2)));
  }
  Boxes(const Boxes&) = delete;

  template <class Team>
  bool solve(const Team& team) {
    EXPECT_EQ(Team::kVectors, vectors_);
    const engine::Problem<Real> problem{shape_, ridge_, 1.0, 1.0, {}, {}, &lane_};
    return lane_.spec.fits_tied() ? engine::JointSolve<Real, Team, true>(team, problem, lane_, scratch_).solve()
                                  : engine::JointSolve<Real, Team>(team, problem, lane_, scratch_).solve();
  }

  void start_at(const std::vector<VectorXd>& rho) {
    for (int a = 0; a < A_; ++a) std::copy(rho[a].begin(), rho[a].end(), rho_[a].begin());
  }
  int gradients() const { return progress_.index_gradients; }

  /// Spoils the C_aa of box a, and then calls forget_samples for it.
  void forget(int a) {
    std::fill(P_[a].begin(), P_[a].end(), Real(7));
    progress_.joint_due = 0;
    const engine::Problem<Real> problem{shape_, ridge_, 1.0, 1.0, {}, {}, &lane_};
    EXPECT_TRUE(engine::forget_samples(SerialTeam{}, problem, lane_, a));
    EXPECT_EQ(progress_.joint_due, 1);  // the next period brings a joint solve
  }
  void expect_covariance(Dense& wanted, int a) const {
    const MatrixXd C = wanted.fit.own(a);
    double sum = 0.0, expected = 0.0;
    for (int i = 0; i < shape_.m; ++i)
      for (int k = 0; k < shape_.m; ++k) {
        EXPECT_NEAR(P_[a][stored().at(i, k)], C(i, k), 1e-12) << i << ", " << k;
        if (k / 8 <= i / 8) expected += C(i, k);
      }
    for (const Real value : P_[a]) sum += static_cast<double>(value);
    EXPECT_NEAR(sum, expected, 1e-12) << "zeros beyond m";
  }

  void expect_near(Dense& wanted, double tolerance) const {
    EXPECT_NEAR(joint_.ridge_mean / wanted.fit.state.ridge_mean, 1.0, 10 * tolerance);
    EXPECT_NEAR(joint_.ridge_own / wanted.fit.state.ridge_own, 1.0, 10 * tolerance);
    for (int a = 0; a < A_; ++a) {
      EXPECT_NEAR(joint_.dispersion[a], wanted.fit.state.dispersion[a], tolerance) << "box " << a;
      const MatrixXd C = wanted.fit.own(a);
      for (int i = 0; i < shape_.m; ++i) {
        EXPECT_NEAR(rho_[a][i], wanted.rho[a][i], tolerance) << "box " << a << " feature " << i;
        for (int k = 0; k < shape_.m; ++k)
          ASSERT_NEAR(P_[a][stored().at(i, k)], C(i, k), tolerance) << "box " << a << " at " << i << ", " << k;
      }
    }
    EXPECT_EQ(joint_.samples_at_solve, joint_.samples);
    EXPECT_EQ(joint_.unsolved, wanted.fit.state.unsolved);
  }

 private:
  engine::StoredInverse<Real> stored() const { return {shape_, vectors_}; }

  double ridge_;
  int A_;
  bool vectors_;
  engine::Shape shape_{};
  SimdVector<Real> psi_;
  std::vector<double> mu_, cost_;
  std::vector<int> rows_[kMaxBoxes];
  SimdVector<Real> rho_[kMaxBoxes], P_[kMaxBoxes];
  engine::LaneView<Real> lane_;
  engine::Progress progress_;
  engine::BoxProgress box_[kMaxBoxes];
  JointState joint_{};
  test::SolveMemory<Real> memory_;
  engine::SolveScratch<Real> scratch_;
};

template <class Real>
void expect_dense(const Data& data, const LaneSpec& spec, double tolerance) {
  Dense wanted(data, spec, 0.7);
  Boxes<Real> serial(data, spec, 0.7, false), vectors(data, spec, 0.7, true), threads(data, spec, 0.7, false);
  for (int refit = 0; refit < 3; ++refit) {  // each refit starts from the ridges of the one before
    wanted.refit();
    ASSERT_TRUE(serial.solve(SerialTeam{}));
    ASSERT_TRUE(vectors.solve(VectorTeam{}));
    serial.expect_near(wanted, tolerance);
    vectors.expect_near(wanted, tolerance);
    if (data.A * data.m > 40) continue;  // barriers of many threads take long
    test::by_fibers(5, [&](const test::FiberTeam& team) { EXPECT_TRUE(threads.solve(team)); });
    threads.expect_near(wanted, tolerance);
  }
}

// If a C_aa is no longer a covariance, the repair makes it what it was before any sample.
TEST(JointSolve, ForgettingSamplesLeavesThePriorCovariance) {
  for (const int A : {1, 3}) {
    const Data data(A, 5, 40, 33);
    LaneSpec spec = shrunk(Shrinkage::fixed);
    spec.ridge_mean = 30.0;
    spec.ridge_own = 70.0;
    Dense wanted(data, spec, 0.7);  // not solved
    Boxes<double> boxes(data, spec, 0.7, false);
    for (int a = 0; a < A; ++a) {
      boxes.forget(a);
      boxes.expect_covariance(wanted, a);
    }
  }
}

TEST(JointSolve, IsTheDenseFit) {
  for (const int A : {1, 2, 3, 5, 8})
    for (const int m : {2, 5, 17}) {
      SCOPED_TRACE("A = " + std::to_string(A) + ", m = " + std::to_string(m));
      for (const Shrinkage shrinkage : {Shrinkage::two_level, Shrinkage::one_level, Shrinkage::fixed, Shrinkage::tied})
        expect_dense<double>(Data(A, m, 150, 31), shrunk(shrinkage, A), 1e-7);
    }
}

// There are three ways to an inverse Hessian: with fewer samples than a box has parameters, with fewer than three
// samples for each parameter, and with more.
TEST(JointSolve, IsTheDenseFitAtThePapersSize) {
  for (const int n : {30, 400, 600}) {
    SCOPED_TRACE("n = " + std::to_string(n));
    expect_dense<double>(Data(3, 101, n, 32), shrunk(), 1e-7);
    expect_dense<float>(Data(3, 101, n, 32), shrunk(), 2e-3);
  }
}

TEST(JointSolve, IsTheDenseFitOfFewerSamplesThanABoxHasParameters) {
  for (const int A : {1, 2, 3, 8})
    for (const Shrinkage shrinkage : {Shrinkage::two_level, Shrinkage::one_level, Shrinkage::fixed, Shrinkage::tied}) {
      SCOPED_TRACE("A = " + std::to_string(A));
      LaneSpec spec = shrunk(shrinkage, A);
      spec.ridge_own = 3.0;
      expect_dense<double>(Data(A, 23, 8, 37), spec, 1e-7);
      expect_dense<double>(Data(A, 23, 8, 38, A > 1), spec, 1e-7);
      expect_dense<float>(Data(A, 23, 8, 37), spec, 1e-3);
    }
  Data data(3, 23, 10, 39);
  for (IndexSamples& own : data.samples) own.loss = Loss::linear_quadratic;
  LaneSpec spec = shrunk();
  spec.loss = Loss::linear_quadratic;
  expect_dense<double>(data, spec, 1e-7);
}

// Tests numbers of samples around the number of a box's parameters.
TEST(JointSolve, IsTheDenseFitOfAsManySamplesAsABoxHasParameters) {
  for (const int m : {12, 13, 14}) expect_dense<double>(Data(1, m, 13, 40), shrunk(), 1e-7);
}

// If a refit begins far from the solution, the first inverse does not serve the second step. If it begins near, the
// first inverse serves all steps. Every Hessian and every look ahead takes one gradient of each box.
TEST(JointSolve, FormsAnotherHessianOnlyWhereTheFirstDoesNotServe) {
  const Data data(3, 5, 150, 31);
  LaneSpec spec = shrunk();
  spec.joint_tolerance = 1e-12;
  spec.joint_steps = 3;
  Dense wanted(data, spec, 0.7);
  Boxes<double> boxes(data, spec, 0.7, true);
  test::Random random(3);
  for (int a = 0; a < 3; ++a)
    for (double& value : wanted.rho[a]) value = random.uniform(-3.0, 3.0);
  boxes.start_at(wanted.rho);
  std::vector<int> gradients;
  for (int refit = 0; refit < 20; ++refit) {
    const int before = boxes.gradients();
    wanted.refit();
    ASSERT_TRUE(boxes.solve(VectorTeam{}));
    boxes.expect_near(wanted, 1e-7);
    gradients.push_back((boxes.gradients() - before) / 3);
  }
  EXPECT_GT(gradients.front(), 4);
  for (std::size_t refit = 10; refit < gradients.size(); ++refit)
    EXPECT_LE(gradients[refit], 3);  // at the start and after two steps; the third step is trusted
}

TEST(JointSolve, IsTheDenseFitWithTheOtherLoss) {
  Data data(3, 5, 200, 33);
  for (IndexSamples& own : data.samples) own.loss = Loss::linear_quadratic;
  LaneSpec spec = shrunk();
  spec.loss = Loss::linear_quadratic;
  expect_dense<double>(data, spec, 1e-7);
}

// A box that was never opened borrows the common slope.
TEST(JointSolve, OfABoxWithoutSamples) {
  const Data data(3, 5, 300, 34, true);
  expect_dense<double>(data, shrunk(), 1e-7);
  Dense fit(data, shrunk(), 1.0);
  for (int k = 0; k < 10; ++k) fit.refit();
  EXPECT_GT(fit.rho[2].tail(4).norm(), 0.1 * fit.rho[0].tail(4).norm());
  EXPECT_EQ(fit.rho[2][0], 0.0);
  EXPECT_DOUBLE_EQ(fit.fit.state.dispersion[2], 0.08);
}

TEST(JointSolve, SinglePrecisionFollowsDouble) {
  for (const int A : {1, 3, 8}) expect_dense<float>(Data(A, 9, 300, 35), shrunk(), 1e-3);
}

TEST(JointSolve, FailsWhereANumberIsNotFinite) {
  Data data(2, 5, 60, 36);
  data.samples[1].mu[3] = std::nan("");
  Boxes<double> boxes(data, shrunk(), 1.0, false);
  EXPECT_FALSE(boxes.solve(SerialTeam{}));
  EXPECT_FALSE(Boxes<double>(data, shrunk(), 1.0, true).solve(VectorTeam{}));
}

}  // namespace
}  // namespace pandora
