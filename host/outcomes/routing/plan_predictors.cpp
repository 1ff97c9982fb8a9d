// The learners of a router, in closed forms: one decomposition of the prompts' features serves all plans, ridges and
// prices.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "host/outcomes/routing/router.hpp"

namespace pandora {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Ridges in units of the mean square of a feature, summed over the prompts; half a decade apart.
constexpr double kRidges[] = {1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0};
constexpr std::size_t kNearest[] = {10, 30, 100, 300};
constexpr double kTie = 1e-9;  // of mean utilities

// A function of psi: m weights, what it gives each prompt, and what a fit without the prompt gives it.
struct Fitted {
  VectorXd weights, left_out;
  double error = HUGE_VAL;  // where each is left out
};

// The features less their means, turned so that they are orthogonal; the constant, which is not shrunk, apart.
class Features {
 public:
  Features(std::span<const float> psi, std::size_t m) : n_(static_cast<Index>(psi.size() / m)) {
    psi_.resize(n_, static_cast<Index>(m));
    for (Index i = 0; i < n_; ++i)
      for (Index j = 0; j < psi_.cols(); ++j)
        psi_(i, j) = psi[static_cast<std::size_t>(i) * m + static_cast<std::size_t>(j)];
    MatrixXd centred = psi_.rightCols(psi_.cols() - 1);
    means_ = centred.colwise().mean();
    centred.rowwise() -= means_.transpose();
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(centred.transpose() * centred);
    turn_ = solver.eigenvectors();
    squares_ = solver.eigenvalues().array().max(0.0);
    turned_ = centred * turn_;
    unit_ = squares_.size() > 0 ? std::max(squares_.mean(), 1e-300) : 1.0;
  }

  Fitted ridge(const VectorXd& y) const {
    const double mean = y.mean();
    const VectorXd product = turned_.transpose() * (y.array() - mean).matrix();
    Fitted best;
    for (const double share : kRidges) {
      const ArrayXd less = 1.0 / (squares_ + share * unit_);
      const VectorXd slopes = (product.array() * less).matrix();
      const ArrayXd leverage =
          (turned_.array().square().matrix() * less.matrix()).array() + 1.0 / static_cast<double>(n_);
      const ArrayXd residual = y.array() - mean - (turned_ * slopes).array();
      const ArrayXd left_out = y.array() - residual / (1.0 - leverage).max(1e-9);
      const double error = (y.array() - left_out).square().mean();
      if (!(error < best.error)) continue;
      best = {weights_of(slopes, mean), left_out.matrix(), error};
    }
    return best;
  }

  Fitted logistic(const VectorXd& y) const {
    Fitted best;
    VectorXd beta = VectorXd::Zero(turned_.cols() + 1);
    const double mean = std::clamp(y.mean(), 1e-3, 1.0 - 1e-3);
    beta(0) = std::log(mean / (1.0 - mean));
    for (const double share : {10.0, 1.0, 0.1, 0.01}) {  // the larger one is where the smaller one begins
      Fitted fitted = logistic_with(y, share * unit_, beta);
      if (fitted.error < best.error) best = std::move(fitted);
    }
    return best;
  }

 private:
  // Newton's steps from `beta`, halved while they make it worse.
  Fitted logistic_with(const VectorXd& y, double ridge, VectorXd& beta) const {
    constexpr int kMostSteps = 25;
    constexpr double kTolerance = 1e-9;  // of the objective, per prompt
    MatrixXd design(n_, turned_.cols() + 1);
    design << VectorXd::Ones(n_), turned_;
    VectorXd penalty = VectorXd::Constant(beta.size(), ridge);
    penalty(0) = 0.0;
    const auto objective = [&](const VectorXd& at) {
      const ArrayXd eta = (design * at).array();
      return log_losses(y.array(), eta).sum() + 0.5 * (penalty.array() * at.array().square()).sum();
    };
    double now = objective(beta);
    Eigen::LDLT<MatrixXd> solver;
    ArrayXd eta, p, w;
    for (int step = 0;; ++step) {
      eta = (design * beta).array();
      p = 1.0 / (1.0 + (-eta).exp());
      w = (p * (1.0 - p)).max(1e-12);
      solver.compute(design.transpose() * w.matrix().asDiagonal() * design + MatrixXd(penalty.asDiagonal()));
      if (step == kMostSteps) break;
      const VectorXd move = solver.solve(design.transpose() * (y.array() - p).matrix() - penalty.cwiseProduct(beta));
      double factor = 1.0, then = objective(beta + move);
      for (; then > now && factor > 1e-6; then = objective(beta + factor * move)) factor *= 0.5;
      if (!(then < now - kTolerance * static_cast<double>(n_))) break;
      beta += factor * move;
      now = then;
    }
    // One Newton step without each prompt.
    const MatrixXd inverse = solver.solve(MatrixXd::Identity(design.cols(), design.cols()));
    const ArrayXd g = (design * inverse).cwiseProduct(design).rowwise().sum().array();
    const ArrayXd left_out = eta - g * (y.array() - p) / (1.0 - w * g).max(1e-9);
    return {weights_of(beta.tail(beta.size() - 1), beta(0)), (1.0 / (1.0 + (-left_out).exp())).matrix(),
            log_losses(y.array(), left_out).mean()};
  }

  static ArrayXd log_losses(const ArrayXd& y, const ArrayXd& eta) {
    return eta.max(0.0) - y * eta + (-eta.abs()).exp().log1p();
  }

  // On psi itself: the constant first.
  VectorXd weights_of(const VectorXd& slopes, double constant) const {
    VectorXd out(psi_.cols());
    out.tail(slopes.size()) = turn_ * slopes;
    out(0) = constant - means_.dot(out.tail(slopes.size()));
    return out;
  }

  Index n_;
  MatrixXd psi_, turn_, turned_;
  VectorXd means_;
  ArrayXd squares_;
  double unit_ = 1.0;
};

// With the digits that a file shows, so that it holds them exactly.
double with_five_digits(double x) {
  return std::strtod(fmt::format("{:.5g}", x).c_str(), nullptr);
}

std::vector<std::size_t> spread(std::size_t rows, std::size_t most) {
  std::vector<std::size_t> out(std::min(rows, most));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i * rows / out.size();
  return out;
}

PlanWorths rows_of(const PlanWorths& worths, const std::vector<std::size_t>& rows) {
  PlanWorths out{worths.plans, {}, {}};
  for (const std::size_t row : rows)
    for (std::size_t at = row * worths.plans; at < (row + 1) * worths.plans; ++at) {
      out.quality.push_back(worths.quality[at]);
      out.dollars.push_back(worths.dollars[at]);
    }
  return out;
}

VectorXd of_plan(const std::vector<double>& numbers, std::size_t plans, std::size_t p) {
  VectorXd out(static_cast<Index>(numbers.size() / plans));
  for (Index i = 0; i < out.size(); ++i) out(i) = numbers[static_cast<std::size_t>(i) * plans + p];
  return out;
}

void put(std::vector<double>& numbers, std::size_t plans, std::size_t p, const VectorXd& values) {
  numbers.resize(static_cast<std::size_t>(values.size()) * plans);
  for (Index i = 0; i < values.size(); ++i) numbers[static_cast<std::size_t>(i) * plans + p] = values(i);
}

}  // namespace

PlanPredictors::PlanPredictors(std::span<const float> psi, std::size_t m, PlanWorths worths)
    : worths_(std::move(worths)) {
  const std::vector<std::size_t> remembered = spread(psi.size() / m, kMostNeighbours);
  for (const std::size_t k : spread(remembered.size(), kMostAsked)) asked_.push_back(remembered[k]);
  add_linear(psi, m);
  add_neighbours(psi, m, remembered);
}

void PlanPredictors::add_linear(std::span<const float> psi, std::size_t m) {
  const Features features(psi, m);
  const std::size_t plans = worths_.plans;
  Router ridge{Router::Learner::ridge, m, {plans, {}, {}}, {}, 0}, logistic = ridge;
  logistic.learner = Router::Learner::logistic;
  PlanWorths ridge_left_out{plans, {}, {}}, logistic_left_out = ridge_left_out;
  const bool shares = std::ranges::all_of(worths_.quality, [](double q) { return q >= 0.0 && q <= 1.0; });
  const bool with_logistic = m <= kMostLogistic && shares;
  for (std::size_t p = 0; p < plans; ++p) {
    const auto keep = [&](const Fitted& fitted, std::vector<double>& weights, std::vector<double>& left_out) {
      put(weights, plans, p, fitted.weights);
      put(left_out, plans, p, fitted.left_out);
    };
    const VectorXd quality = of_plan(worths_.quality, plans, p);
    keep(features.ridge(quality), ridge.known.quality, ridge_left_out.quality);
    keep(features.ridge(of_plan(worths_.dollars, plans, p)), ridge.known.dollars, ridge_left_out.dollars);
    if (with_logistic) keep(features.logistic(quality), logistic.known.quality, logistic_left_out.quality);
  }
  logistic.known.dollars = ridge.known.dollars;
  logistic_left_out.dollars = ridge_left_out.dollars;
  add(std::move(ridge), rows_of(ridge_left_out, asked_));
  if (with_logistic) add(std::move(logistic), rows_of(logistic_left_out, asked_));
}

void PlanPredictors::add_neighbours(std::span<const float> psi, std::size_t m,
                                    const std::vector<std::size_t>& remembered) {
  const std::size_t plans = worths_.plans;
  Router router{Router::Learner::neighbours, m, rows_of(worths_, remembered), {}, 0};
  for (std::vector<double>* const numbers : {&router.known.quality, &router.known.dollars})
    for (double& x : *numbers) x = with_five_digits(x);
  for (std::size_t j = 0; j < m; ++j)
    for (const std::size_t row : remembered) router.prompts.push_back(with_five_digits(psi[row * m + j]));
  std::vector<std::vector<std::size_t>> near;
  for (const std::size_t k : spread(remembered.size(), kMostAsked)) {
    std::vector<double> own(m);
    for (std::size_t j = 0; j < m; ++j) own[j] = router.prompts[j * remembered.size() + k];
    std::erase(near.emplace_back(nearest_prompts(router.prompts, own, std::end(kNearest)[-1] + 1, true)), k);
  }
  for (const std::size_t count : kNearest) {
    if (count >= remembered.size()) break;
    router.nearest = count;
    PlanWorths left_out{plans, {}, {}};
    for (const std::vector<std::size_t>& found : near) {
      const PlanWorths mean = mean_of(router.known, std::span(found).first(count));
      left_out.quality.insert(left_out.quality.end(), mean.quality.begin(), mean.quality.end());
      left_out.dollars.insert(left_out.dollars.end(), mean.dollars.begin(), mean.dollars.end());
    }
    add(router, std::move(left_out));
  }
}

void PlanPredictors::add(Router router, PlanWorths left_out) {
  routers_.push_back(std::move(router));
  left_out_.push_back(std::move(left_out));
}

RoutedPlans PlanPredictors::best(double price) const {
  std::size_t best = 0;
  double most = -HUGE_VAL;
  for (std::size_t k = 0; k < routers_.size(); ++k) {
    double sum = 0.0;
    for (std::size_t i = 0; i < asked_.size(); ++i)
      sum += worths_.utility(asked_[i] * worths_.plans + left_out_[k].best(i, price), price);
    if (!(sum > most + kTie * static_cast<double>(asked_.size()))) continue;
    most = sum;
    best = k;
  }
  std::vector<char> is_chosen(worths_.plans, false);
  for (std::size_t i = 0; i < asked_.size(); ++i) is_chosen[left_out_[best].best(i, price)] = true;
  RoutedPlans out;
  for (std::size_t p = 0; p < is_chosen.size(); ++p)
    if (is_chosen[p]) out.plans.push_back(p);
  out.router = routers_[best].with_plans(out.plans);
  out.learner = best;
  return out;
}

}  // namespace pandora
