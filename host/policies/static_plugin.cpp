#include "host/policies/weitzman.hpp"

namespace pandora::policies {

Policy static_plugin() {
  return {"static_plugin", "Static Plug-in Weitzman: estimates once from the T_0 calibration periods", true, true,
          [](const Grids&) { return plug_in_variants(Learning::calibration); }};
}

}  // namespace pandora::policies
