#include "host/lanes/policies/weitzman.hpp"

namespace pandora::policies {

Policy static_plugin() {
  return {.name = "static_plugin",
          .title = "Static Plug-in Weitzman",
          .short_title = "Static plug-in",
          .group = PolicyGroup::baseline,
          .summary = "Static Plug-in Weitzman: estimates once from the T_0 calibration periods",
          .needs_calibration = true,
          .variants = [](const Grids&) { return plug_in_variants(Learning::calibration); }};
}

}  // namespace pandora::policies
