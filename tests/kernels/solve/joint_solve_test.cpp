// The joint solve of the engine, by one thread, vectors and several threads, against one dense Hessian over all boxes
// (host/reference/shrunk_fit.hpp), which itself is held to finite differences and to the fixed point of its ridges.
#include "kernels/solve/joint_solve.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "host/reference/shrunk_fit.hpp"
#include "kernels/lane/stages.hpp"
#include "kernels/solve/vector_solver.hpp"
#include "tests/reference/small_problem.hpp"
#include "tests/reference/solve_memory.hpp"
#include "tests/reference/thread_backend.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Samples of A boxes whose slopes have a common part; box a has fewer the higher its number, and the last may have
// none.
struct Data {
  Data(int boxes, int features, int n, std::uint64_t seed, bool last_is_empty = false) : A(boxes), m(features) {
    test::Random random(seed);
    std::vector<std::vector<float>> psi;
    for (int row = 0; row < n; ++row) {
      std::vector<float> x = {1.0f};
      for (int k = 1; k < m; ++k) x.push_back(static_cast<float>(random.uniform(-1.0, 1.0)));
      psi.push_back(x);
    }
    contexts = test::contexts_of(psi);
    for (int a = 0; a < A; ++a) {
      IndexSamples own;
      for (int row = 0; row < n; ++row) {
        if (random.uniform(0.0, 1.0) > 1.0 / (1 + a) || (last_is_empty && a == A - 1)) continue;
        const double mu = 0.5 + 0.2 * psi[row].back() + 0.1 * a * (m > 2 ? psi[row][1] : 0.0);
        own.add(row, 0.05 + 0.02 * a, std::min(0.95, std::max(0.05, mu + random.uniform(-0.3, 0.3))));
      }
      samples.push_back(own);
    }
  }
  std::vector<const IndexSamples*> all() const {
    std::vector<const IndexSamples*> out;
    for (const IndexSamples& own : samples) out.push_back(&own);
    return out;
  }

  int A, m;
  Contexts contexts;
  std::vector<IndexSamples> samples;
};

struct Dense {
  Dense(const Data& of, const LaneSpec& spec, double ridge) : data(of), rho(of.A, VectorXd::Zero(of.m)) {
    fit.start(spec, data.A, data.m, ridge);
    for (const IndexSamples& own : data.samples) fit.state.samples += own.size();
  }
  std::vector<VectorXd*> at() {
    std::vector<VectorXd*> out;
    for (VectorXd& own : rho) out.push_back(&own);
    return out;
  }
  int refit(int most_steps = 0) { return fit.refit(data.contexts, data.all(), at(), most_steps); }
  double objective() { return fit.objective(data.contexts, data.all(), at()); }
  VectorXd gradient() { return fit.gradient(data.contexts, data.all(), at()); }

  const Data& data;
  ShrunkFit fit;
  std::vector<VectorXd> rho;
};

// A lane of the engine with these samples.
template <class Real>
class Boxes {
 public:
  Boxes(const Data& data, const LaneSpec& spec, double ridge) : ridge_(ridge), A_(data.A) {
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
    joint_.start(spec);
    lane_.joint = &joint_;
    lane_.progress = &progress_;
    const std::size_t matrix = static_cast<std::size_t>(data.m) * shape_.stride;
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
    scratch_ = memory_.allocate(shape_, engine::groups_of(8, data.m), 8,
                                padded_to_vector<double>(engine::JointSolve<Real, SerialTeam>::size(data.A, data.m)));
  }
  Boxes(const Boxes&) = delete;

  template <class Team>
  bool solve(const Team& team) {
    const engine::Problem<Real> problem{shape_, ridge_, 1.0, {}, &lane_};
    return engine::JointSolve<Real, Team>(team, problem, lane_, scratch_).solve();
  }

  /// forget_samples of box a, after its C_aa was spoilt.
  void forget(int a) {
    std::fill(P_[a].begin(), P_[a].end(), Real(7));
    progress_.joint_due = 0;
    const engine::Problem<Real> problem{shape_, ridge_, 1.0, {}, &lane_};
    EXPECT_TRUE(engine::forget_samples(SerialTeam{}, problem, lane_, a));
    EXPECT_EQ(progress_.joint_due, 1);  // the next period brings a joint solve
  }
  void expect_covariance(Dense& wanted, int a) const {
    const MatrixXd C = wanted.fit.own(a);
    for (int i = 0; i < shape_.m; ++i)
      for (int k = 0; k < shape_.stride; ++k)
        EXPECT_NEAR(P_[a][i * shape_.stride + k], k < shape_.m ? C(i, k) : 0.0, 1e-12) << i << ", " << k;
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
          ASSERT_NEAR(P_[a][i * shape_.stride + k], C(i, k), tolerance) << "box " << a << " at " << i << ", " << k;
      }
    }
    EXPECT_EQ(joint_.samples_at_solve, joint_.samples);
  }

 private:
  double ridge_;
  int A_;
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

LaneSpec shrunk(Shrinkage shrinkage = Shrinkage::two_level) {
  LaneSpec spec;
  spec.score = Score::learned_index;
  spec.learning = Learning::online;
  spec.fit = Fit::shrunk;
  spec.c_rho = 0.2;
  spec.shrinkage = shrinkage;
  return spec;
}

template <class Real>
void expect_dense(const Data& data, const LaneSpec& spec, double tolerance) {
  Dense wanted(data, spec, 0.7);
  Boxes<Real> serial(data, spec, 0.7), vectors(data, spec, 0.7), threads(data, spec, 0.7);
  for (int refit = 0; refit < 3; ++refit) {  // the ridges of one are where the next starts
    wanted.refit();
    ASSERT_TRUE(serial.solve(SerialTeam{}));
    ASSERT_TRUE(vectors.solve(VectorTeam{}));
    test::by_threads(5, [&](const test::ThreadTeam& team) { EXPECT_TRUE(threads.solve(team)); });
    serial.expect_near(wanted, tolerance);
    vectors.expect_near(wanted, tolerance);
    threads.expect_near(wanted, tolerance);
  }
}

// The repair of a C_aa that is no covariance any more: what it was before any sample.
TEST(JointSolve, ForgettingSamplesLeavesThePriorCovariance) {
  for (const int A : {1, 3}) {
    const Data data(A, 5, 40, 33);
    LaneSpec spec = shrunk(Shrinkage::fixed);
    spec.ridge_mean = 30.0;
    spec.ridge_own = 70.0;
    Dense wanted(data, spec, 0.7);  // not solved
    Boxes<double> boxes(data, spec, 0.7);
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
      for (const Shrinkage shrinkage : {Shrinkage::two_level, Shrinkage::one_level, Shrinkage::fixed})
        expect_dense<double>(Data(A, m, 150, 31), shrunk(shrinkage), 1e-7);
    }
}

TEST(JointSolve, IsTheDenseFitAtThePapersSize) {
  expect_dense<double>(Data(3, 101, 400, 32), shrunk(), 1e-7);
  expect_dense<float>(Data(3, 101, 400, 32), shrunk(), 2e-3);
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
  Boxes<double> boxes(data, shrunk(), 1.0);
  EXPECT_FALSE(boxes.solve(SerialTeam{}));
  EXPECT_FALSE(Boxes<double>(data, shrunk(), 1.0).solve(VectorTeam{}));
}

TEST(ShrunkFit, TheGradientIsThatOfTheObjective) {
  const Data data(3, 4, 120, 41);
  Dense fit(data, shrunk(), 0.6);
  test::Random random(2);
  fit.refit();  // ridges that differ
  for (VectorXd& own : fit.rho)
    for (double& value : own) value += random.uniform(-0.3, 0.3);
  const VectorXd gradient = fit.gradient();
  for (int at = 0; at < 12; ++at) {
    constexpr double kStep = 1e-5;
    double& value = fit.rho[at / 4][at % 4];
    const double before = value;
    value = before + kStep;
    const double above = fit.objective();
    value = before - kStep;
    const double below = fit.objective();
    value = before;
    EXPECT_NEAR(gradient[at], (above - below) / (2 * kStep), 1e-5 * (1 + std::abs(gradient[at])));
  }
}

// The objective as docs/beyond.md writes it: a ridge on the mean slope A times, and one on deviations from it.
TEST(ShrunkFit, TheObjectiveIsThatOfMeanAndDeviations) {
  const Data data(4, 5, 100, 42);
  Dense fit(data, shrunk(), 0.6);
  for (int k = 0; k < 3; ++k) fit.refit();
  VectorXd mean = VectorXd::Zero(4);
  for (const VectorXd& own : fit.rho) mean += own.tail(4) / 4;
  double wanted = 0.5 * 4 * fit.fit.state.ridge_mean * mean.squaredNorm();
  for (int a = 0; a < 4; ++a)
    wanted += 0.5 * 0.6 * std::pow(fit.rho[a][0], 2) +
              0.5 * fit.fit.state.ridge_own * (fit.rho[a].tail(4) - mean).squaredNorm() +
              index_objective(data.contexts, data.samples[a], 0.0, fit.rho[a]) / fit.fit.state.dispersion[a];
  EXPECT_NEAR(fit.objective(), wanted, 1e-9 * std::abs(wanted));
}

// From far away, and with dispersions and ridges that stand still while it moves.
TEST(ShrunkFit, NoStepRaisesTheObjective) {
  for (std::uint64_t seed = 50; seed < 80; ++seed) {
    const Data data(3, 6, 80, seed);
    Dense fit(data, shrunk(Shrinkage::fixed), 0.5);
    test::Random random(seed);
    for (VectorXd& own : fit.rho)
      for (double& value : own) value = random.uniform(-2.0, 2.0);
    const JointState start = fit.fit.state;
    for (int k = 0; k < 8; ++k) {
      const double before = fit.objective();
      fit.refit(1);
      fit.fit.state = start;
      EXPECT_LE(fit.objective(), before + 1e-9 * std::abs(before)) << "seed " << seed;
    }
  }
}

// Repeated refits end where the gradient vanishes and the ridges are what they would be learned as once more, by dense
// algebra: lambda (|r|^2 + 2e-5) = determined + 0.2.
TEST(ShrunkFit, EndsAtTheFixedPointOfItsRidges) {
  const Data data(3, 5, 500, 61);
  Dense fit(data, shrunk(), 1.0);
  for (int k = 0; k < 300; ++k) fit.refit();
  EXPECT_LT(fit.gradient().norm(), 1e-3);
  VectorXd mean = VectorXd::Zero(4);
  MatrixXd projection = MatrixXd::Zero(4, 15);  // on the mean slope times sqrt(A)
  double squares = 0.0, trace = 0.0;
  for (int a = 0; a < 3; ++a) {
    mean += fit.rho[a].tail(4) / 3;
    squares += fit.rho[a].tail(4).squaredNorm();
    trace += fit.fit.covariance.block(5 * a + 1, 5 * a + 1, 4, 4).trace();
    projection.block(0, 5 * a + 1, 4, 4) = MatrixXd::Identity(4, 4) / std::sqrt(3.0);
  }
  const double mean_trace = (projection * fit.fit.covariance * projection.transpose()).trace();
  const double lambda_m = fit.fit.state.ridge_mean, lambda_d = fit.fit.state.ridge_own;
  const double mean_square = 3 * mean.squaredNorm();
  EXPECT_NEAR(lambda_m * (mean_square + 2e-5), 4 - lambda_m * mean_trace + 0.2, 1e-2);
  EXPECT_NEAR(lambda_d * (squares - mean_square + 2e-5), 8 - lambda_d * (trace - mean_trace) + 0.2, 1e-2);
}

}  // namespace
}  // namespace pandora
