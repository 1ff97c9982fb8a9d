#include "host/cascades/fits/readable_thresholds.hpp"

#include <cmath>
#include <vector>

namespace pandora {
namespace {

constexpr double kErrors = 0.5;

struct MeanAndError {
  double mean = 0.0, error = 0.0;
};

MeanAndError difference(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  double sum = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] - b[i];
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / n)};
}

}  // namespace

FixedCascade with_readable_thresholds(FixedCascade cascade, const Outcomes& outcomes, double price,
                                      std::span<const std::size_t> rows) {
  const std::vector<double> fitted = evaluate(outcomes, cascade, rows).utility(price);
  for (double& threshold : cascade.thresholds) {
    const double exact = threshold;
    double best = exact;
    for (const double parts : {20.0, 100.0}) {
      double most = -HUGE_VAL;
      for (const double near : {std::floor(exact * parts) / parts, std::ceil(exact * parts) / parts}) {
        threshold = near;
        const MeanAndError more = difference(evaluate(outcomes, cascade, rows).utility(price), fitted);
        if (more.mean < -kErrors * more.error || more.mean <= most) continue;
        most = more.mean;
        best = near;
      }
      if (std::isfinite(most)) break;
    }
    threshold = best;
  }
  return cascade;
}

}  // namespace pandora
