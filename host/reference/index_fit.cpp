#include "host/reference/index_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

#include "host/reference/checks.hpp"

namespace pandora {
namespace {

constexpr int kStrip = 128;  // samples gathered at once

Eigen::Map<const Eigen::VectorXf> psi_of(const Contexts& contexts, int row) {
  return {contexts.psi_row(row), contexts.index_size};
}

}  // namespace

double index_objective(const Contexts& contexts, const IndexSamples& samples, double ridge,
                       const Eigen::VectorXd& rho) {
  double sum = 0.5 * ridge * rho.squaredNorm();
  for (int s = 0; s < samples.size(); ++s)
    sum += samples.weight_of(s) * index_loss(psi_of(contexts, samples.rows[s]).cast<double>().dot(rho), samples.cost[s],
                                             samples.mu[s], samples.loss);
  return sum;
}

void index_derivatives(const Contexts& contexts, const IndexSamples& samples, double ridge, const Eigen::VectorXd& rho,
                       Eigen::VectorXd& gradient, Eigen::MatrixXd* hessian) {
  const int m = contexts.index_size;
  gradient = ridge * rho;
  if (hessian != nullptr) *hessian = ridge * Eigen::MatrixXd::Identity(m, m);
  Eigen::MatrixXd psi(m, kStrip), weighted(m, kStrip);
  Eigen::VectorXd z, moments(kStrip);
  for (int first = 0; first < samples.size(); first += kStrip) {
    const int n = std::min(kStrip, samples.size() - first);
    for (int k = 0; k < n; ++k) psi.col(k) = psi_of(contexts, samples.rows[first + k]).cast<double>();
    z.noalias() = psi.leftCols(n).transpose() * rho;
    int active = 0;
    for (int k = 0; k < n; ++k) {
      const IndexMoment<double> value = samples.moment(first + k, z[k]);
      moments[k] = value.moment;
      if (hessian != nullptr && value.curvature > 0.0) weighted.col(active++) = std::sqrt(value.curvature) * psi.col(k);
    }
    gradient.noalias() += psi.leftCols(n) * moments.head(n);
    if (active > 0) hessian->selfadjointView<Eigen::Lower>().rankUpdate(weighted.leftCols(active));
  }
}

int fit_index(const Contexts& contexts, const IndexSamples& samples, double ridge, Eigen::VectorXd& rho) {
  constexpr int kMostSteps = 100;
  Eigen::VectorXd gradient;
  Eigen::MatrixXd hessian;
  double last = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kMostSteps; ++step) {
    index_derivatives(contexts, samples, ridge, rho, gradient, &hessian);
    const Eigen::LLT<Eigen::MatrixXd> factor(hessian);
    const Eigen::VectorXd direction = factor.solve(-gradient);
    const double slope = gradient.dot(direction);  // minus the squared Newton decrement
    if (!sound(factor) || !is_finite(slope)) break;
    if (-slope <= 1e-18 || (-slope <= 1e-12 && -slope >= 0.5 * last)) return step;  // the latter is rounding
    last = -slope;
    double length = 1.0;
    if (-slope > 1e-9) {  // below that, differences of the objective drown in rounding and the full step is safe
      const double before = index_objective(contexts, samples, ridge, rho);
      while (index_objective(contexts, samples, ridge, rho + length * direction) > before + 1e-4 * length * slope &&
             length > 1e-10)
        length *= 0.5;
    }
    rho += length * direction;
  }
  throw LaneFailure(Failure::index_fit, fmt::format("the index fit of {} samples did not converge in {} Newton steps",
                                                    samples.size(), kMostSteps));
}

}  // namespace pandora
