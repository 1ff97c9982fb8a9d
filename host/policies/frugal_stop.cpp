#include "host/policies/frugal_halves.hpp"

namespace pandora::policies {

Policy frugal_stop() {
  Policy policy;
  policy.name = "frugal_stop";
  policy.summary = "the order of learned indices, with FrugalGPT's acceptance thresholds";
  policy.needs_calibration = true;
  policy.by_name_only = true;
  policy.variants = [](const Grids&) { return half_variants(false); };
  return policy;
}

}  // namespace pandora::policies
