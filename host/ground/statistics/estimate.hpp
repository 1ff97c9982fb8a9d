// A mean with its interval.
#pragma once

#include <vector>

namespace pandora {

/// Mean over replications and 1.96 standard errors: NaN where nothing is known, the half-width of a single replication
/// too.
struct Estimate {
  double mean = 0.0;
  double half_width_95 = 0.0;
};
Estimate estimate(const std::vector<double>& values);

}  // namespace pandora
