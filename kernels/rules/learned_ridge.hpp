// A ridge that is learned from the data which it is the ridge of: one step to the fixed point of its evidence.
#pragma once

#include "kernels/base/hd.hpp"

namespace pandora {

/// Learned ridges lie between these, times the scale of the features.
inline constexpr double kLeastRidge = 0.5, kLargestRidge = 1e7;

/// The next ridge lambda of `size` parameters b, which are estimated under lambda/2 |b|^2 with the posterior covariance
/// C: (gamma + 0.2) / (|b|^2 + 2e-5 / scale), where gamma = size - lambda tr C, within [0, size], is how many of them
/// the data determines. `ridge`: lambda; `square`: |b|^2; `trace`: tr C. The made-up numbers hold a ridge that the data
/// says nothing of. `scale` > 0: three times the mean square of a feature that the parameters multiply, 1 for features
/// from U[-1, 1]; features times a factor are then the same problem.
PANDORA_HD inline double learned_ridge(double ridge, int size, double square, double trace, double scale = 1.0) {
  double determined = size - ridge * trace;
  determined = determined < 0.0 ? 0.0 : determined > size ? size : determined;
  const double learned = (determined + 0.2) / (square + 2e-5 / scale);
  const double least = kLeastRidge * scale, largest = kLargestRidge * scale;
  return learned < least ? least : learned > largest ? largest : learned;
}

}  // namespace pandora
