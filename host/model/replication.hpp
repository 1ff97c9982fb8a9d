// One draw of all fixed parameters with everything its lanes share.
#pragma once

#include <vector>

#include "kernels/tape.hpp"

namespace pandora {

struct Replication {
  Instance instance;
  Tape tape;
  std::vector<double> sigma;  ///< oracle indices, rows of the tape x A
};

}  // namespace pandora
