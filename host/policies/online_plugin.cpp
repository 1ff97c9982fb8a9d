#include "host/policies/weitzman.hpp"

namespace pandora::policies {

Policy online_plugin() {
  return {"online_plugin", "Online Plug-in Weitzman: learns rho (and theta) online, no optimism", false, true,
          [](const Grids&) { return plug_in_variants(Learning::online); }};
}

}  // namespace pandora::policies
