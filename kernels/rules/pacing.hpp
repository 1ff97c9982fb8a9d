// What a study's [budget] allows per period on average, and how policies keep to it (docs/scenarios.md, "Budget").
#pragma once

#include "kernels/base/hd.hpp"

namespace pandora {

struct Pacing {
  enum class Of : unsigned char { nothing, queries, costs } of = Of::nothing;
  double budget = 0.0;  ///< the mean per period, of boxes opened or of their costs
  double step = 0.01;   ///< step size of the multiplier
  double start = 0.0;   ///< the multiplier in the first period

  /// The multiplier after a period that opened `queries` boxes for `cost`: a step of the projected subgradient method.
  PANDORA_HD double next(double multiplier, int queries, double cost) const {
    const double moved = multiplier + step * ((of == Of::queries ? queries : cost) - budget);
    return moved > 0.0 ? moved : 0.0;
  }
  friend bool operator==(const Pacing&, const Pacing&) = default;
};

}  // namespace pandora
