#include "host/devices/backend.hpp"

#include "host/devices/scalar_device.hpp"

namespace pandora {

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = {
      {"cuda", find_devices, run_on_device, prepare_on_device},
      {"scalar", find_scalar, run_scalar, prepare_scalar},
  };
  return all;
}

}  // namespace pandora
