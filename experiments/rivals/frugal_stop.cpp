// FrugalGPT's thresholds in Weitzman's order of boxes, to measure the value of its two halves (frugal_halves.hpp).
#include "frugal_halves.hpp"

namespace pandora::rivals {

Policy frugal_stop() {
  return {.name = "frugal_stop",
          .title = "FrugalGPT's stop",
          .group = PolicyGroup::past_the_paper,
          .summary = "the order of learned indices, with FrugalGPT's acceptance thresholds",
          .needs_calibration = true,
          .by_name_only = true,
          .variants = [](const Grids&) { return frugal_variants(FrugalHalf::stop); }};
}

}  // namespace pandora::rivals
