#include "host/lanes/devices/backend.hpp"

namespace pandora {

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = {
      {"cuda", find_devices, run_on_device, prepare_on_device},
  };
  return all;
}

}  // namespace pandora
