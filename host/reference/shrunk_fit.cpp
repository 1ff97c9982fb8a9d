#include "host/reference/shrunk_fit.hpp"

#include <Eigen/Cholesky>

#include "host/reference/checks.hpp"
#include "kernels/solve/minimise.hpp"

namespace pandora {

using Eigen::MatrixXd;
using Eigen::VectorXd;

void ShrunkFit::start(const LaneSpec& spec, int A, int m, double ridge) {
  shrinkage_ = spec.shrinkage;
  steps_ = spec.joint_steps;
  tolerance_ = spec.joint_tolerance;
  A_ = A;
  m_ = m;
  ridge_ = ridge;
  state.start(spec);
  covariance = penalty().llt().solve(MatrixXd::Identity(A * m, A * m));
}

MatrixXd ShrunkFit::penalty() const {
  MatrixXd out = MatrixXd::Zero(A_ * m_, A_ * m_);
  for (int a = 0; a < A_; ++a)
    for (int k = 0; k < m_; ++k) {
      out(a * m_ + k, a * m_ + k) = k == 0 ? ridge_ : state.ridge_own;
      for (int b = 0; b < A_ && k > 0; ++b) out(a * m_ + k, b * m_ + k) += (state.ridge_mean - state.ridge_own) / A_;
    }
  return out;
}

double ShrunkFit::objective(const Contexts& contexts, const std::vector<const IndexSamples*>& samples,
                            const std::vector<VectorXd*>& rho) const {
  VectorXd all(A_ * m_);
  double sum = 0.0;
  for (int a = 0; a < A_; ++a) {
    all.segment(a * m_, m_) = *rho[a];
    sum += index_objective(contexts, *samples[a], 0.0, *rho[a]) / state.dispersion[a];
  }
  return sum + 0.5 * all.dot(penalty() * all);
}

VectorXd ShrunkFit::gradient(const Contexts& contexts, const std::vector<const IndexSamples*>& samples,
                             const std::vector<VectorXd*>& rho) const {
  VectorXd all(A_ * m_), sum(A_ * m_), own;
  for (int a = 0; a < A_; ++a) {
    all.segment(a * m_, m_) = *rho[a];
    index_derivatives(contexts, *samples[a], 0.0, *rho[a], own, nullptr);
    sum.segment(a * m_, m_) = own / state.dispersion[a];
  }
  return sum + penalty() * all;
}

void ShrunkFit::measure_features(const Contexts& contexts, const std::vector<const IndexSamples*>& samples) {
  int n = 0;
  double squares = 0.0;
  for (const IndexSamples* own : samples)
    for (const int row : own->rows) {
      ++n;
      squares += Eigen::Map<const Eigen::VectorXf>(contexts.psi_row(row) + 1, m_ - 1).cast<double>().squaredNorm();
    }
  if (n == 0) return;
  state.squares = squares * state.samples / n;  // where old samples were forgotten, of those that are left
  state.learn_scale(shrinkage_, m_ - 1);
}

int ShrunkFit::refit(const Contexts& contexts, const std::vector<const IndexSamples*>& samples,
                     const std::vector<VectorXd*>& rho, int most_steps) {
  const auto move = [&](const VectorXd& direction, double part) {
    for (int a = 0; a < A_; ++a) *rho[a] += part * direction.segment(a * m_, m_);
  };
  measure_features(contexts, samples);
  state.samples_at_solve = state.samples;
  for (int step = 1;; ++step) {
    MatrixXd hessian = penalty(), own;
    VectorXd unused;
    std::vector<double> moment_squares(static_cast<std::size_t>(A_)), curvature(moment_squares);
    std::vector<MatrixXd> data;
    for (int a = 0; a < A_; ++a) {
      index_derivatives(contexts, *samples[a], 0.0, *rho[a], unused, &own);
      data.push_back(own.selfadjointView<Eigen::Lower>());
      hessian.block(a * m_, a * m_, m_, m_) += data.back() / state.dispersion[a];
      for (int s = 0; s < samples[a]->size(); ++s) {
        const auto psi = Eigen::Map<const Eigen::VectorXf>(contexts.psi_row(samples[a]->rows[s]), m_).cast<double>();
        const IndexMoment<double> value = samples[a]->moment(s, psi.dot(*rho[a]));
        moment_squares[a] += value.moment * value.moment / samples[a]->weight_of(s);
        curvature[a] += value.curvature;
      }
    }
    const VectorXd at = gradient(contexts, samples, rho);
    covariance = factorised_or_fail(hessian).solve(MatrixXd::Identity(A_ * m_, A_ * m_));
    const VectorXd direction = -covariance * at;
    const double slope = finite_or_fail(at.dot(direction));
    double part = 1.0;
    move(direction, 1.0);
    for (int tries = 0; tries < 30; ++tries) {
      const double ahead = gradient(contexts, samples, rho).dot(direction);
      if (!engine::too_long(slope, ahead)) break;
      const double next = part * engine::secant_part(slope, ahead);
      move(direction, next - part);
      part = next;
    }
    SlopeSums sums{};
    VectorXd total = VectorXd::Zero(m_ - 1);
    for (int a = 0; a < A_; ++a) {
      total += rho[a]->tail(m_ - 1);
      sums.square += rho[a]->tail(m_ - 1).squaredNorm();
      sums.trace += covariance.block(a * m_ + 1, a * m_ + 1, m_ - 1, m_ - 1).trace();
      for (int b = 0; b < A_; ++b)
        sums.mean_trace += covariance.block(a * m_ + 1, b * m_ + 1, m_ - 1, m_ - 1).trace() / A_;
    }
    sums.mean_square = total.squaredNorm() / A_;
    for (int a = 0; a < A_; ++a) {
      const double determined = (covariance.block(a * m_, a * m_, m_, m_) * data[a]).trace() / state.dispersion[a];
      state.dispersion[a] =
          JointState::dispersion_of(samples[a]->effective(), moment_squares[a], curvature[a], determined);
    }
    learn_ridges(state, shrinkage_, A_, m_ - 1, sums);
    if (step == (most_steps > 0 ? most_steps : steps_) || -slope <= tolerance_) return step;
  }
}

}  // namespace pandora
