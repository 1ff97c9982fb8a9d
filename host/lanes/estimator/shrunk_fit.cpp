#include "host/lanes/estimator/shrunk_fit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "host/lanes/estimator/checks.hpp"
#include "kernels/solve/minimise.hpp"

namespace pandora {

using Eigen::MatrixXd;
using Eigen::VectorXd;

void ShrunkFit::start(const LaneSpec& spec, int A, int m, double ridge) {
  spec_ = spec;
  if (spec.shrinkage != Shrinkage::tied) std::ranges::fill(spec_.tie, std::uint8_t{0});
  groups_ = SlopeGroups<true>(spec_, A).count();
  A_ = A;
  m_ = m;
  ridge_ = ridge;
  state.start(spec, A);
  covariance = penalty().llt().solve(MatrixXd::Identity(A * m, A * m));
}

MatrixXd ShrunkFit::penalty() const {
  MatrixXd out = MatrixXd::Zero(A_ * m_, A_ * m_);
  for (int a = 0; a < A_; ++a)
    for (int k = 0; k < m_; ++k) {
      out(a * m_ + k, a * m_ + k) = k == 0 ? ridge_ : state.ridge_own;
      for (int b = 0; b < A_ && k > 0; ++b)
        if (together(a, b)) out(a * m_ + k, b * m_ + k) += (state.ridge_mean - state.ridge_own) / state.boxes[a];
    }
  return out;
}

VectorXd ShrunkFit::gradient_at(Refit& refit) const {
  if (refit.gradients.empty()) {
    refit.gradients.resize(A_);
    refit.sums.assign(A_, {});
    for (int a = 0; a < A_; ++a)
      index_derivatives(refit.contexts, *refit.samples[a], 0.0, *refit.rho[a], refit.gradients[a], nullptr,
                        &refit.sums[a]);
  }
  VectorXd all(A_ * m_), sum(A_ * m_);
  for (int a = 0; a < A_; ++a) {
    all.segment(a * m_, m_) = *refit.rho[a];
    sum.segment(a * m_, m_) = refit.gradients[a] / state.dispersion[a];
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
  state.squares = squares;
  state.learn_scale(spec_.shrinkage, m_ - 1, n);
}

// Computes C at rho, and its traces for slopes and boxes.
void ShrunkFit::invert(Refit& refit) {
  MatrixXd hessian = penalty(), own;
  VectorXd unused;
  std::vector<MatrixXd> data;
  for (int a = 0; a < A_; ++a) {
    index_derivatives(refit.contexts, *refit.samples[a], 0.0, *refit.rho[a], unused, &own);
    data.push_back(own.selfadjointView<Eigen::Lower>());
    hessian.block(a * m_, a * m_, m_, m_) += data.back() / state.dispersion[a];
  }
  covariance = factorised_or_fail(hessian).solve(MatrixXd::Identity(A_ * m_, A_ * m_));
  refit.traces = {state.ridge_mean, state.ridge_own, 0.0, 0.0};
  refit.determined.clear();
  for (int a = 0; a < A_; ++a) {
    refit.determined.push_back((covariance.block(a * m_, a * m_, m_, m_) * data[a]).trace() / state.dispersion[a]);
    refit.traces.all += covariance.block(a * m_ + 1, a * m_ + 1, m_ - 1, m_ - 1).trace();
    for (int b = 0; b < A_; ++b)
      if (together(a, b))
        refit.traces.mean += covariance.block(a * m_ + 1, b * m_ + 1, m_ - 1, m_ - 1).trace() / state.boxes[a];
  }
}

// Computes a direction by C. Forms a new Hessian if `afresh`, or if the last one does not serve.
void ShrunkFit::point_downhill(Refit& refit, bool afresh) {
  const VectorXd at = gradient_at(refit);
  const double before = -refit.slope;
  const auto point = [&] {
    refit.direction = -covariance * at;
    refit.slope = at.dot(refit.direction);
  };
  refit.kept = !afresh;
  if (refit.kept) {
    point();
    refit.kept = refit.plan.inverse_serves(-refit.slope, before);
  }
  if (refit.kept) return;
  invert(refit);
  point();
  finite_or_fail(refit.slope);
}

// Moves along the direction as long as the objective falls; `trusted`: takes the whole step.
void ShrunkFit::descend(Refit& refit, bool trusted) const {
  const auto move = [&](double part) {
    for (int a = 0; a < A_; ++a) *refit.rho[a] += part * refit.direction.segment(a * m_, m_);
    refit.gradients.clear();
  };
  double part = 1.0;
  move(1.0);
  for (int tries = 0; tries < 30 && !trusted; ++tries) {
    const double ahead = gradient_at(refit).dot(refit.direction);
    if (!engine::too_long(refit.slope, ahead)) break;
    const double next = part * engine::secant_part(refit.slope, ahead);
    move(next - part);
    part = next;
  }
}

std::vector<double> ShrunkFit::learned_dispersions(const Refit& refit) const {
  std::vector<double> out;
  for (int a = 0; a < A_; ++a)
    out.push_back(JointState::dispersion_of(refit.samples[a]->effective(), refit.sums[a].squares,
                                            refit.sums[a].curvature, refit.determined[a]));
  return out;
}

SlopeSums ShrunkFit::sums_of(const Refit& refit) const {
  SlopeSums sums = refit.traces.carried(state, A_, m_ - 1, groups_);
  for (int a = 0; a < A_; ++a) sums.square += refit.rho[a]->tail(m_ - 1).squaredNorm();
  const SlopeGroups<true> groups(spec_, A_);
  for (int a = 0; a < A_; ++a) {
    if (groups.first(groups.of(a)) != a) continue;  // each group once
    VectorXd total = VectorXd::Zero(m_ - 1);
    for (int b = a; b < A_; ++b)
      if (together(a, b)) total += refit.rho[b]->tail(m_ - 1);
    sums.mean_square += total.squaredNorm() / state.boxes[a];
  }
  return sums;
}

int ShrunkFit::refit(const Contexts& contexts, const std::vector<const IndexSamples*>& samples,
                     const std::vector<VectorXd*>& rho) {
  measure_features(contexts, samples);
  int count = 0;
  for (const IndexSamples* own : samples) count += own->size();
  Refit refit{contexts, samples, rho, RefitPlan(spec_, count, state.samples_at_solve, A_ * m_)};
  const RefitPlan& plan = refit.plan;
  state.samples_at_solve = state.samples;
  for (int step = 1;; ++step) {
    point_downhill(refit, step == 1 || plan.every_step);
    if (plan.whole && refit.kept && -refit.slope <= plan.tolerance) point_downhill(refit, true);
    const bool solved = -refit.slope <= plan.tolerance, last = solved || step == plan.most_steps;
    const std::vector<double> dispersions = learned_dispersions(refit);  // from the moments before the step
    descend(refit, last && step_is_trusted(-refit.slope));
    if (plan.learns(step, last)) {
      const SlopeSums sums = sums_of(refit);
      for (int a = 0; a < A_; ++a) state.dispersion[a] = dispersions[a];
      learn_ridges(state, spec_.shrinkage, A_, m_ - 1, sums, groups_);
    }
    if (!last) continue;
    state.unsolved += solved ? 0 : 1;
    return step;
  }
}

}  // namespace pandora
