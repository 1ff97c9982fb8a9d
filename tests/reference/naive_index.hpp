// The reservation index by bisection on its defining equation (eq:sigma).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace pandora::naive {

/// G of the paper: the logistic function.
inline double G(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}

/// E[(V - sigma)^+] for a law with values v of probability p.
inline double excess(const std::vector<double>& v, const std::vector<double>& p, double sigma) {
  double sum = 0.0;
  for (std::size_t i = 0; i < v.size(); ++i) sum += p[i] * std::max(v[i] - sigma, 0.0);
  return sum;
}

/// The sigma with E[(V - sigma)^+] = cost > 0, for values in [0, 1] and cost < 2.
inline double reservation_index(const std::vector<double>& v, const std::vector<double>& p, double cost) {
  double low = -2.0, high = 1.0;  // the excess is at least 2 at -2 and 0 at 1
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2.0;
    (excess(v, p, middle) > cost ? low : high) = middle;
  }
  return (low + high) / 2.0;
}

}  // namespace pandora::naive
