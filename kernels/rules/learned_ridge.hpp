// A ridge that is learned from the same data to which it is applied: one step towards the fixed point of its evidence.
#pragma once

#include "kernels/base/hd.hpp"

namespace pandora {

/// Learned ridges stay between these bounds, times the scale of the features.
inline constexpr double kLeastRidge = 0.5, kLargestRidge = 1e7;

/// The next ridge lambda of `size` parameters b, which are estimated under lambda/2 |b|^2 with the posterior covariance
/// C. It is (gamma + 0.2) / (|b|^2 + 2e-5 / scale), where gamma = size - lambda tr C, clipped to [0, size], is how many
/// parameters the data determines. `ridge`: lambda; `square`: |b|^2; `trace`: tr C. The constants 0.2 and 2e-5 are a
/// weak prior, which fixes a ridge about which the data says nothing. `scale` > 0: three times the mean square of a
/// feature that the parameters multiply, 1 for features from U[-1, 1]. So multiplying the features by a factor does not
/// change the problem.
PANDORA_HD inline double learned_ridge(double ridge, int size, double square, double trace, double scale = 1.0) {
  double determined = size - ridge * trace;
  determined = determined < 0.0 ? 0.0 : determined > size ? size : determined;
  const double learned = (determined + 0.2) / (square + 2e-5 / scale);
  const double least = kLeastRidge * scale, largest = kLargestRidge * scale;
  return learned < least ? least : learned > largest ? largest : learned;
}

}  // namespace pandora
