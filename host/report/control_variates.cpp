#include "host/report/control_variates.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd centred(const std::vector<double>& values) {
  const VectorXd all = Eigen::Map<const VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  return all.array() - all.mean();
}

// Covariates about their means, and what solves for slopes on them.
struct Regressors {
  MatrixXd centred;   // n x p
  MatrixXd inverse;   // p x p, of centred' centred, in the generalised sense
  VectorXd distance;  // p: at - mean

  Regressors(const std::vector<Covariate>& covariates, Eigen::Index n)
      : centred(n, static_cast<Eigen::Index>(covariates.size())), distance(centred.cols()) {
    constexpr double kConstant = 1e-9;  // relative scatter of what does not vary but by rounding
    for (Eigen::Index k = 0; k < centred.cols(); ++k) {
      const Covariate& own = covariates[static_cast<std::size_t>(k)];
      const VectorXd deviations = pandora::centred(own.values);
      const double mean = own.values.empty() ? 0.0 : own.values[0] - deviations[0];
      const bool varies = deviations.norm() > kConstant * std::abs(mean) * std::sqrt(static_cast<double>(n));
      centred.col(k) = varies ? deviations : VectorXd::Zero(n);
      distance[k] = varies ? own.at - mean : 0.0;
    }
    if (centred.cols() == 0) return;
    // Columns of length 1: utilities are hundreds, masses below 1.
    VectorXd scale = centred.colwise().norm().transpose();
    scale = scale.unaryExpr([](double length) { return length > 0.0 ? 1.0 / length : 0.0; });
    const MatrixXd gram = scale.asDiagonal() * (centred.transpose() * centred) * scale.asDiagonal();
    inverse = scale.asDiagonal() * gram.completeOrthogonalDecomposition().pseudoInverse() * scale.asDiagonal();
  }

  // p x columns of `y`.
  MatrixXd slopes(const MatrixXd& y) const {
    return centred.cols() == 0 ? MatrixXd(0, y.cols()) : MatrixXd(inverse * (centred.transpose() * y));
  }
  // n: how much a replication's residual moves the line's value at `towards` from the means, times n.
  VectorXd leverage(const VectorXd& towards) const {
    if (centred.cols() == 0) return VectorXd::Zero(centred.rows());
    return static_cast<double>(centred.rows()) * (centred * (inverse * towards));
  }
};

// The rule of Gauss and Legendre with kNodes nodes, exact for polynomials of a degree below 2 kNodes.
template <unsigned kNodes, typename Function>
double integral(const Function& f, double from, double to) {
  const double middle = 0.5 * (from + to), half = 0.5 * (to - from);
  double sum = 0.0;
  for (unsigned i = 0; i < kNodes; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (kNodes + 0.5)), slope = 1.0;
    for (int step = 0; step < 6; ++step) {  // Newton's method for a root of the Legendre polynomial
      slope = kNodes * (std::legendre(kNodes - 1, x) - x * std::legendre(kNodes, x)) / (1.0 - x * x);
      x -= std::legendre(kNodes, x) / slope;
    }
    sum += 2.0 / ((1.0 - x * x) * slope * slope) * f(middle + half * x);
  }
  return half * sum;
}

std::vector<double> scaled(const VectorXd& values, double factor) {
  std::vector<double> out(static_cast<std::size_t>(values.size()));
  for (Eigen::Index r = 0; r < values.size(); ++r) out[static_cast<std::size_t>(r)] = factor * values[r];
  return out;
}

}  // namespace

AdjustedMean adjusted_mean(const std::vector<double>& values, const std::vector<Covariate>& header,
                           const std::vector<Covariate>& controls) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const Eigen::Index n = static_cast<Eigen::Index>(values.size());
  const double least = 2.0 + static_cast<double>(header.size() + controls.size());
  if (static_cast<double>(n) < least) return {{kUnknown, kUnknown}, {}, {}, 0.0};
  const VectorXd y = centred(values);
  const Regressors x(header, n), c(controls, n);
  const VectorXd beta = x.slopes(y), residual = y - (header.empty() ? VectorXd::Zero(n) : VectorXd(x.centred * beta)),
                 gamma = c.slopes(residual),
                 left = residual - (controls.empty() ? VectorXd::Zero(n) : VectorXd(c.centred * gamma));
  AdjustedMean out;
  out.mean.mean = values[0] - y[0];
  // From our means of the header, corrected for our luck, to the other sample's: what an error of beta is multiplied
  // by.
  VectorXd towards = x.distance;
  if (!header.empty()) out.mean.mean += beta.dot(x.distance);
  if (!controls.empty()) {
    out.mean.mean += gamma.dot(c.distance);
    if (!header.empty()) towards -= c.slopes(x.centred).transpose() * c.distance;
  }
  const VectorXd error =
      left.array() + x.leverage(towards).array() * residual.array() + c.leverage(c.distance).array() * left.array();
  const double size = static_cast<double>(n), degrees = size - 1.0;
  const double used = static_cast<double>(header.size());
  const double also = static_cast<double>(controls.size());
  // The leverage terms do not sum to 0 exactly where residuals' variances differ.
  const VectorXd about_zero = error.array() - error.mean();
  out.error = scaled(about_zero, std::sqrt(degrees / (degrees - used - also)));
  out.residual = scaled(residual, std::sqrt(degrees / (degrees - used)));
  const double squares = about_zero.squaredNorm() / (degrees - used - also);
  out.mean.half_width_95 = 1.96 * std::sqrt(squares / size);
  for (std::size_t k = 0; k < header.size(); ++k)
    out.rounding_error =
        std::hypot(out.rounding_error, beta[static_cast<Eigen::Index>(k)] * header[k].rounding / std::sqrt(12.0));
  return out;
}

std::array<double, 3> mean_least_greatest(int count, double most_first, double most_second) {
  const double a = std::min(most_first, most_second), b = std::max(most_first, most_second);
  const auto below = [&](double t) {  // the probability that a sum is at most t
    if (t < a) return t * t / (2.0 * a * b);
    if (t <= b) return (t - 0.5 * a) / b;
    return 1.0 - (a + b - t) * (a + b - t) / (2.0 * a * b);
  };
  // Polynomials on each piece, of a degree up to 2 count <= 2 kMaxBoxes: exact.
  double least = 0.0, greatest = 0.0;
  const double ends[] = {0.0, a, b, a + b};
  for (int piece = 0; piece < 3; ++piece) {
    if (!(ends[piece] < ends[piece + 1])) continue;
    least += integral<20>([&](double t) { return std::pow(1.0 - below(t), count); }, ends[piece], ends[piece + 1]);
    greatest += integral<20>([&](double t) { return 1.0 - std::pow(below(t), count); }, ends[piece], ends[piece + 1]);
  }
  return {0.5 * (a + b), least, greatest};
}

}  // namespace pandora
