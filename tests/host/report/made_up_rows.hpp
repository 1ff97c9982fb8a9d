// Made-up rows of comparisons.
#pragma once

#include <optional>
#include <vector>

#include "host/report/compare.hpp"

namespace pandora::test {

/// A row in which every side has one hyperparameter.
inline ComparedRow row_of(const std::vector<double>& a, const std::vector<double>& b, std::optional<int> T0 = 7) {
  const auto side = [](const std::vector<double>& regrets) {
    return ComparedSide{1, regrets, estimate(regrets).mean, {}, cross_fit({regrets})};
  };
  return {"", "uniform", "A", T0, static_cast<int>(a.size()), side(a), side(b), paired_difference(a, b), {}};
}

/// a - b is the shift plus -1, 0, 0, 1, so its standard error is sqrt(2 / 3 / 4).
inline ComparedRow shifted(double shift) {
  return row_of({shift - 1.0, shift, shift, shift + 1.0}, {0.0, 0.0, 0.0, 0.0});
}

}  // namespace pandora::test
