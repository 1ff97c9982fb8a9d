// FrugalGPT's order of boxes with Weitzman's stopping rule, to measure the value of its two halves (frugal_halves.hpp).
#include "frugal_halves.hpp"

namespace pandora::rivals {

Policy frugal_order() {
  return {.name = "frugal_order",
          .title = "FrugalGPT's order",
          .group = PolicyGroup::past_the_paper,
          .summary = "FrugalGPT's order of boxes, with the stop of learned indices",
          .needs_calibration = true,
          .by_name_only = true,
          .variants = [](const Grids&) { return frugal_variants(FrugalHalf::order); }};
}

}  // namespace pandora::rivals
