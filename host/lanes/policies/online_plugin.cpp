#include "host/lanes/policies/weitzman.hpp"

namespace pandora::policies {

Policy online_plugin() {
  return {.name = "online_plugin",
          .title = "Online Plug-in Weitzman",
          .short_title = "Online plug-in",
          .group = PolicyGroup::weitzman,
          .summary = "Online Plug-in Weitzman: learns rho (and theta) online, no optimism",
          .variants = [](const Grids&) { return plug_in_variants(Learning::online); }};
}

}  // namespace pandora::policies
