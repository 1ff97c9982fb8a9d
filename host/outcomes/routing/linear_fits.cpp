#include "host/outcomes/routing/linear_fits.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <iterator>

namespace pandora {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Ridges in units of the mean square of a feature, summed over the prompts; half a decade apart.
constexpr double kRidges[] = {1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0};

// A function of the features by logistic regression, at some weights.
struct Logits {
  ArrayXd eta, falling;  // falling: exp(-|eta|)
  explicit Logits(VectorXd&& of) : eta(std::move(of)), falling((-eta.abs()).exp()) {}

  ArrayXd shares() const { return (eta >= 0.0).select(1.0, falling) / (1.0 + falling); }
  double loss(const ArrayXd& y) const { return (eta.max(0.0) - y * eta + (1.0 + falling).log()).sum(); }
};

}  // namespace

LinearFits::LinearFits(std::span<const float> psi, std::size_t m, const std::vector<std::size_t>& asked)
    : asked_(asked) {
  const Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> all(
      psi.data(), static_cast<Index>(psi.size() / m), static_cast<Index>(m));
  MatrixXd centred = all.rightCols(all.cols() - 1).cast<double>();
  means_ = centred.colwise().mean();
  centred.rowwise() -= means_.transpose();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(centred.transpose() * centred);
  turn_ = solver.eigenvectors();
  squares_ = solver.eigenvalues().array().max(0.0);
  unit_ = squares_.size() > 0 ? std::max(squares_.mean(), 1e-300) : 1.0;
  design_.setOnes(all.rows(), all.cols());
  design_.rightCols(centred.cols()).noalias() = centred * turn_;
  MatrixXd less(squares_.size(), static_cast<Index>(std::size(kRidges)));
  for (Index k = 0; k < less.cols(); ++k) less.col(k) = 1.0 / (squares_ + kRidges[k] * unit_);
  centred = turned().array().square();
  kept_of_ = (1.0 - (centred * less).array() - 1.0 / static_cast<double>(all.rows())).max(1e-9);
}

LinearFit LinearFits::ridge(const VectorXd& y) const {
  const double mean = y.mean();
  const ArrayXd centred = y.array() - mean;
  const VectorXd product = turned().transpose() * centred.matrix();
  MatrixXd slopes(squares_.size(), kept_of_.cols());
  for (Index k = 0; k < slopes.cols(); ++k) slopes.col(k) = product.array() / (squares_ + kRidges[k] * unit_);
  const MatrixXd predicted = turned() * slopes;
  LinearFit best;
  Index which = -1;
  for (Index k = 0; k < slopes.cols(); ++k) {  // a residual without the prompt is one with it by 1 - leverage
    const double error = ((centred - predicted.col(k).array()) / kept_of_.col(k)).square().mean();
    if (!(error < best.error)) continue;
    best.error = error;
    which = k;
  }
  if (which < 0) return best;
  best.weights = weights_of(slopes.col(which), mean);
  best.left_out = of_asked(y.array() - (centred - predicted.col(which).array()) / kept_of_.col(which));
  return best;
}

LinearFit LinearFits::logistic(const VectorXd& y) const {
  LinearFit best;
  VectorXd beta = VectorXd::Zero(design_.cols());
  const double mean = std::clamp(y.mean(), 1e-3, 1.0 - 1e-3);
  beta(0) = std::log(mean / (1.0 - mean));
  for (const double share : {10.0, 1.0, 0.1, 0.01}) {  // the larger one is where the smaller one begins
    LinearFit fitted = logistic_with(y, share * unit_, beta);
    if (fitted.error < best.error) best = std::move(fitted);
  }
  return best;
}

// Newton's steps from `beta`, halved while they make it worse.
LinearFit LinearFits::logistic_with(const VectorXd& y, double ridge, VectorXd& beta) const {
  constexpr int kMostSteps = 25;
  constexpr double kTolerance = 1e-9;  // of the objective, per prompt
  const double prompts = static_cast<double>(y.size());
  VectorXd penalty = VectorXd::Constant(beta.size(), ridge);
  penalty(0) = 0.0;
  const auto objective = [&](const Logits& at, const VectorXd& of) {
    return at.loss(y.array()) + 0.5 * (penalty.array() * of.array().square()).sum();
  };
  Logits now(design_ * beta);
  double value = objective(now, beta);
  Eigen::LDLT<MatrixXd> solver;
  ArrayXd p, w;
  MatrixXd hessian, scaled;
  for (int step = 0;; ++step) {
    p = now.shares();
    w = (p * (1.0 - p)).max(1e-12);
    scaled = design_.array().colwise() * w.sqrt();
    hessian = penalty.asDiagonal();
    hessian.selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
    solver.compute(hessian);
    if (step == kMostSteps) break;
    const VectorXd uphill = design_.transpose() * (y.array() - p).matrix() - penalty.cwiseProduct(beta);
    const VectorXd move = solver.solve(uphill);
    if (uphill.dot(move) < 0.5 * kTolerance * prompts) break;  // twice what the step would gain
    double factor = 1.0;
    VectorXd next = beta + move;
    Logits there(design_ * next);
    double then = objective(there, next);
    while (then > value && factor > 1e-6) {
      factor *= 0.5;
      next = beta + factor * move;
      there = Logits(design_ * next);
      then = objective(there, next);
    }
    if (!(then < value - kTolerance * prompts)) break;
    beta = std::move(next);
    now = std::move(there);
    value = then;
  }
  // One Newton step without each prompt.
  const MatrixXd inverse = solver.solve(MatrixXd::Identity(design_.cols(), design_.cols()));
  const ArrayXd g = (design_ * inverse).cwiseProduct(design_).rowwise().sum().array();
  const Logits left_out((now.eta - g * (y.array() - p) / (1.0 - w * g).max(1e-9)).matrix());
  return {weights_of(beta.tail(beta.size() - 1), beta(0)), of_asked(left_out.shares()),
          left_out.loss(y.array()) / prompts};
}

VectorXd LinearFits::of_asked(const ArrayXd& by_row) const {
  VectorXd out(static_cast<Index>(asked_.size()));
  for (Index i = 0; i < out.size(); ++i) out(i) = by_row(static_cast<Index>(asked_[static_cast<std::size_t>(i)]));
  return out;
}

// On psi itself: the constant first.
VectorXd LinearFits::weights_of(const VectorXd& slopes, double constant) const {
  VectorXd out(design_.cols());
  out.tail(slopes.size()) = turn_ * slopes;
  out(0) = constant - means_.dot(out.tail(slopes.size()));
  return out;
}

}  // namespace pandora
