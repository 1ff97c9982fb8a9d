// Two-level shrinkage in the plainest way: a penalty on the mean slope and on deviations, a dense Hessian, and its
// inverse.
#pragma once

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/rules/shrinkage.hpp"
#include "tests/reference/naive_fits.hpp"

namespace pandora::naive {

struct Shrunk {
  int A = 0, m = 0;
  double ridge = 1.0, mean = 1000.0, own = 1000.0, scale = 1.0;
  std::size_t fitted = 0;  // samples at the last refit
  bool measured = false;
  Shrinkage learns = Shrinkage::two_level;
  std::vector<int> group;  // of every box; all in one unless slopes are tied
  int most_steps = 50;
  double tolerance = 1.0;
  std::vector<double> kappa;
  Eigen::MatrixXd C;  // the last inverse of a Hessian
  double inverted_mean = 0.0, inverted_own = 0.0, mean_trace = 0.0, own_trace = 0.0;
  std::vector<double> determined;

  Shrunk() = default;
  Shrunk(const LaneSpec& spec, int boxes, int size, double ridge_index)
      : A(boxes),
        m(size),
        ridge(ridge_index),
        mean(spec.ridge_mean),
        own(spec.shrinkage == Shrinkage::fixed  ? spec.ridge_own
            : spec.shrinkage == Shrinkage::tied ? 1e7
                                                : spec.ridge_mean),
        learns(spec.shrinkage),
        group(groups_of(spec, boxes)),
        most_steps(spec.joint_steps),
        tolerance(spec.joint_tolerance),
        kappa(static_cast<std::size_t>(boxes), 0.08),
        C(penalty().inverse()) {}

  static std::vector<int> groups_of(const LaneSpec& spec, int boxes) {
    if (spec.shrinkage != Shrinkage::tied) return std::vector<int>(static_cast<std::size_t>(boxes), 0);
    return {spec.tie, spec.tie + boxes};
  }
  // 1 / n between two of the n boxes of a group, 0 between others
  double share(int a, int b) const {
    return group[a] == group[b] ? 1.0 / static_cast<double>(std::count(group.begin(), group.end(), group[a])) : 0.0;
  }

  // The penalty: a ridge on every intercept, lambda_m on the mean slope of the boxes, and lambda_d on the deviations
  // from it.
  Eigen::MatrixXd penalty() const {
    Eigen::MatrixXd P = Eigen::MatrixXd::Zero(A * m, A * m);
    for (int a = 0; a < A; ++a)
      for (int b = 0; b < A; ++b)
        for (int k = 0; k < m; ++k) {
          const double one = a == b ? 1.0 : 0.0, part = share(a, b);
          P(a * m + k, b * m + k) = k == 0 ? one * ridge : mean * part + own * (one - part);
        }
    return P;
  }

  struct Point {
    Eigen::VectorXd gradient;
    Eigen::MatrixXd hessian;
    std::vector<double> moment_squares, curvature;
  };
  Point at(const std::vector<std::vector<IndexSample>>& samples, const std::vector<std::vector<double>>& mu, Loss loss,
           const Eigen::VectorXd& rho) const {
    Point out{penalty() * rho, penalty(), std::vector<double>(A), std::vector<double>(A)};
    for (int a = 0; a < A; ++a)
      for (std::size_t s = 0; s < samples[a].size(); ++s) {
        const Eigen::VectorXd& psi = samples[a][s].psi;
        const double z = psi.dot(rho.segment(a * m, m)), link = loss == Loss::reservation ? std::tanh(z) : z;
        const double moment = samples[a][s].cost - std::max(mu[a][s] - link, 0.0);
        const double h = mu[a][s] <= link ? 0.0 : loss == Loss::reservation ? 1.0 - link * link : 1.0;
        out.gradient.segment(a * m, m) += moment / kappa[a] * psi;
        out.hessian.block(a * m, a * m, m, m) += h / kappa[a] * psi * psi.transpose();
        out.moment_squares[a] += moment * moment;
        out.curvature[a] += h;
      }
    return out;
  }

  void refit(const std::vector<std::vector<IndexSample>>& samples, const std::vector<std::vector<double>>& mu,
             Loss loss, Eigen::VectorXd& rho) {
    measure(samples);
    std::size_t count = 0;
    for (const auto& box : samples) count += box.size();
    const bool few = count<static_cast<std::size_t>(3 * A * m), whole = count / 2> fitted;
    fitted = count;
    const double enough = whole ? std::min(1e-6, tolerance) : tolerance;
    const int most = whole ? 200 : most_steps;
    double before = 0.0;
    for (int step = 1;; ++step) {
      const Point here = at(samples, mu, loss, rho);
      double decrement = here.gradient.dot(C * here.gradient);
      const bool serves = whole ? decrement <= 0.01 : decrement <= 1.0 || decrement <= 0.25 * before;
      if (step == 1 || few || !serves || (whole && decrement <= enough)) {
        invert(here);
        decrement = here.gradient.dot(C * here.gradient);
      }
      const Eigen::VectorXd direction = -C * here.gradient;
      const bool last = step == most || decrement <= enough;
      double part = 1.0;
      for (int tries = 0; tries < 30 && !(last && decrement <= 1.0); ++tries) {
        const double ahead = at(samples, mu, loss, rho + part * direction).gradient.dot(direction);
        if (ahead <= 0.5 * decrement) break;
        part *= std::min(0.9, std::max(0.1, decrement / (decrement + ahead)));
      }
      rho += part * direction;
      if (!whole || (!last && step <= 50)) learn(samples, here, rho);
      if (last) return;
      before = decrement;
    }
  }

 private:
  // Sets the scale to three times the mean square of a feature. Ridges that are not learned yet are multiplied by it,
  // and others are at least half of it.
  void measure(const std::vector<std::vector<IndexSample>>& samples) {
    double square = 0.0, n = 0.0;
    for (const auto& box : samples)
      for (const IndexSample& sample : box) {
        square += sample.psi.tail(m - 1).squaredNorm() / (m - 1);
        n += 1.0;
      }
    if (learns == Shrinkage::fixed || !(square > 0.0)) return;
    scale = 3.0 * square / n;
    mean = measured ? std::max(0.5 * scale, mean) : mean * scale;
    own = measured ? std::max(0.5 * scale, own) : own * scale;
    measured = true;
  }

  // Computes C, its traces for the slopes, and how far the samples of each box determine its parameters.
  void invert(const Point& here) {
    const Eigen::MatrixXd prior = penalty();
    C = here.hessian.inverse();
    own_trace = mean_trace = 0.0;
    determined.clear();
    for (int a = 0; a < A; ++a) {
      for (int k = 1; k < m; ++k) {
        own_trace += C(a * m + k, a * m + k);
        for (int b = 0; b < A; ++b) mean_trace += C(a * m + k, b * m + k) * share(a, b);
      }
      const Eigen::MatrixXd data = here.hessian.block(a * m, a * m, m, m) - prior.block(a * m, a * m, m, m);
      determined.push_back((C.block(a * m, a * m, m, m) * data).trace());
    }
    own_trace -= mean_trace;
    inverted_mean = mean;
    inverted_own = own;
  }

  void learn(const std::vector<std::vector<IndexSample>>& samples, const Point& here, const Eigen::VectorXd& rho) {
    double squares = 0.0, mean_square = 0.0;
    for (int a = 0; a < A; ++a) {
      for (int b = 0; b < A; ++b)
        mean_square += share(a, b) * rho.segment(a * m + 1, m - 1).dot(rho.segment(b * m + 1, m - 1));
      squares += rho.segment(a * m + 1, m - 1).squaredNorm();
      const double n = static_cast<double>(samples[a].size());
      const double free = n == 0 ? 1.0 : 1.0 - determined[a] / n;
      kappa[a] = std::min(0.5, (0.4 + here.moment_squares[a] / std::max(0.5, free)) / (5.0 + here.curvature[a]));
    }
    const auto ridge_of = [this](double lambda, double size, double square, double variance) {
      const double by_data = std::min(size, std::max(0.0, size - lambda * variance));
      return std::min(1e7 * scale, std::max(0.5 * scale, (by_data + 0.2) / (square + 2e-5 / scale)));
    };
    if (learns == Shrinkage::fixed) return;
    // Each parameter's 1 / variance moves by as much as the ridge has.
    const int groups = *std::max_element(group.begin(), group.end()) + 1;
    const double means = groups * (m - 1), mean_now = means / (means / mean_trace + mean - inverted_mean);
    if (learns == Shrinkage::tied) {
      mean = ridge_of(mean, means, mean_square, mean_now);
      return;
    }
    const double own_now = A == 1 ? 0.0 : (A - 1) * (m - 1) / ((A - 1) * (m - 1) / own_trace + own - inverted_own);
    if (learns == Shrinkage::one_level || A == 1) {
      mean = own = ridge_of(mean, A * (m - 1), squares, mean_now + own_now);
      return;
    }
    own = ridge_of(own, (A - 1) * (m - 1), squares - mean_square, own_now);
    mean = ridge_of(mean, m - 1, mean_square, mean_now);
  }
};

}  // namespace pandora::naive
