// The oracle's formulas for host and device, which both the tables on the host (reservation_index.hpp, oracle.cpp) and
// the launch bodies (bodies.hpp) evaluate.
#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/base/hd.hpp"

namespace pandora {

/// sigma of (eq:sigma) for expected cost cbar > 0 over a law of n points: g[i] = G(l + s w_i) descending, cumulative[i]
/// = P_i = P(W >= w_i), partial(i) = S_i = sum_{j<=i} p_j g_j. E[(G - sigma)^+] is decreasing, convex and piecewise
/// linear in sigma with breakpoints g_i; between g_{i+1} and g_i it is S_i - P_i sigma. So sigma is found exactly: at
/// the smallest i with S_i - P_i g_{i+1} >= cbar, or the last. Negative when cbar exceeds E[G]; it is not clipped.
template <class Partial>
PANDORA_HD double reservation_index(const double* g, const double* cumulative, int n, const Partial& partial,
                                    double cbar) {
  int low = 0, high = n - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (partial(middle) - cumulative[middle] * g[middle + 1] >= cbar)
      high = middle;
    else
      low = middle + 1;
  }
  return (partial(low) - cbar) / cumulative[low];
}

/// Bin `bin` of `bins` quantile bins of a sorted sample of n: its mean, and P(W >= its last point).
PANDORA_HD inline void quantile_bin(const float* descending, std::size_t n, std::size_t bins, std::size_t bin,
                                    double& point, double& cumulative) {
  const std::size_t begin = bin * n / bins, end = (bin + 1) * n / bins;
  double sum = 0.0;
  for (std::size_t i = begin; i < end; ++i) sum += descending[i];
  point = sum / static_cast<double>(end - begin);
  cumulative = static_cast<double>(end) / static_cast<double>(n);
}

/// Nodes at equal distances on an axis.
struct GridAxis {
  int nodes = 2;
  double first = 0.0, step = 1.0;

  PANDORA_HD double node(int i) const { return first + i * step; }
  static GridAxis over(int nodes, double least, double greatest) {
    const double length = greatest - least;
    return {nodes, least, (length < 1e-9 ? 1e-9 : length) / (nodes - 1)};
  }
};

/// Trilinear interpolation of `values` in (l, s~, sqrt(cbar)), where the last index runs fastest. Arguments outside the
/// grid are extrapolated from the outermost cell.
PANDORA_HD inline double interpolate_index(const GridAxis* axes, const double* values, double shift, double scale,
                                           double cost) {
  const double coordinates[3] = {shift, scale, ::sqrt(cost)};
  std::size_t cell[3];
  double fraction[3];
  for (int k = 0; k < 3; ++k) {
    const double position = (coordinates[k] - axes[k].first) / axes[k].step;
    const int below = static_cast<int>(::floor(position)), last = axes[k].nodes - 2;
    const int i = below < 0 ? 0 : (below > last ? last : below);
    cell[k] = static_cast<std::size_t>(i);
    fraction[k] = position - i;
  }
  double value = 0.0;
  for (int corner = 0; corner < 8; ++corner) {
    const std::size_t i = cell[0] + (corner & 1), j = cell[1] + ((corner >> 1) & 1), k = cell[2] + (corner >> 2);
    const double weight = ((corner & 1) ? fraction[0] : 1 - fraction[0]) *
                          ((corner & 2) ? fraction[1] : 1 - fraction[1]) *
                          ((corner & 4) ? fraction[2] : 1 - fraction[2]);
    value += weight * values[(i * axes[1].nodes + j) * axes[2].nodes + k];
  }
  return value;
}

/// A polynomial through Chebyshev nodes of a range, by the barycentric formula.
struct ChebyshevNodes {
  static constexpr int kNodes = 17;
  double middle, half;                  ///< of the range
  double node[kNodes], weight[kNodes];  ///< on [-1, 1], and the barycentric weights

  static ChebyshevNodes over(double least, double greatest) {
    constexpr double kPi = 3.141592653589793238462643383279502884;
    ChebyshevNodes out;
    out.middle = 0.5 * (least + greatest);
    out.half = 0.5 * (greatest - least < 1e-6 ? 1e-6 : greatest - least);
    for (int k = 0; k < kNodes; ++k) {
      const double angle = (k + 0.5) * kPi / kNodes;
      out.node[k] = std::cos(angle);
      out.weight[k] = (k % 2 == 0 ? 1.0 : -1.0) * std::sin(angle);
    }
    return out;
  }

  PANDORA_HD double at(int k) const { return middle + half * node[k]; }
  /// The polynomial with `values` at the nodes.
  PANDORA_HD double interpolate(const double* values, double x) const {
    const double t = (x - middle) / half;
    double above = 0.0, below = 0.0;
    for (int k = 0; k < kNodes; ++k) {
      const double distance = t - node[k];
      if (distance == 0.0) return values[k];
      const double w = weight[k] / distance;
      above += w * values[k];
      below += w;
    }
    return above / below;
  }
};

}  // namespace pandora
