// The ridge of an index parameter rho_a = (rho_a0, r_a): one number for the intercept, one for the slopes.
#pragma once

#include "kernels/base/hd.hpp"

namespace pandora {

/// The diagonal of the matrix of ridges: of the first feature (the intercept) and of the others (the slopes).
struct Ridges {
  double first = 1.0, others = 1.0;
  Ridges() = default;
  PANDORA_HD constexpr Ridges(double all) : first(all), others(all) {}  // NOLINT: implicit
  PANDORA_HD constexpr Ridges(double of_first, double of_others) : first(of_first), others(of_others) {}

  /// Of feature k.
  PANDORA_HD constexpr double of(int k) const { return k == 0 ? first : others; }
  PANDORA_HD constexpr double least() const { return others < first ? others : first; }
  PANDORA_HD constexpr double greatest() const { return others > first ? others : first; }
};

}  // namespace pandora
