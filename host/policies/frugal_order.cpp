#include "host/policies/frugal_halves.hpp"

namespace pandora::policies {

Policy frugal_order() {
  Policy policy;
  policy.name = "frugal_order";
  policy.summary = "FrugalGPT's order of boxes, with the stop of learned indices";
  policy.needs_calibration = true;
  policy.by_name_only = true;
  policy.variants = [](const Grids&) { return half_variants(true); };
  return policy;
}

}  // namespace pandora::policies
