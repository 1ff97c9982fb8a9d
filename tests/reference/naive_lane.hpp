// A whole lane, written from the paper in the plainest way. All samples are stored. Every matrix is built anew and
// inverted densely whenever it is needed, and every estimate is the root of its stationarity condition.
#pragma once

#include <vector>

#include "host/lanes/estimator/reference_engine.hpp"

namespace pandora::naive {

struct Period {
  std::vector<double> score, width;
  std::vector<int> queried;   ///< boxes in order
  std::vector<int> openings;  ///< of each, from 0
  int deployed = 0;           ///< -1: the outside option
  int deployed_opening = 0;
};

struct Result {
  std::vector<Period> periods;
  double utility = 0.0;  ///< sums over the periods
  double realised_utility = 0.0;
};

/// The lane as its policy makes it, under the replication's actions (docs/wider.md).
Result run_lane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options);

}  // namespace pandora::naive
