// The choice of the backend that runs a study, with its reason.
#pragma once

#include <string>
#include <vector>

#include "host/lanes/devices/device.hpp"
#include "host/lanes/engine/lanes.hpp"

namespace pandora {

struct BackendChoice {
  std::string name;      ///< "cpu" or the name of a Backend
  std::string reason;    ///< the reason, for the first line of output and the manifest
  DeviceSet devices;     ///< none: the CPU
  std::string hardware;  ///< the kinds of device; numbers may depend on them, but not on their count
};

/// The devices that a backend found on this machine.
struct FoundDevices {
  const Backend* backend;
  DeviceReport report;
};
/// One for each of backends(), in its order.
std::vector<FoundDevices> find_all_devices();

/// `backend` is auto, cpu or the name of a backend in `found`; `devices` is "all" or a list such as "0,1". auto takes
/// all usable devices of the first backend that has any, and otherwise the CPU with the reason. `needs_cpu` is a reason
/// for the CPU that the study brings. Throws Error (usage) for a request that makes no sense, and Error (device) for a
/// device that is not there.
BackendChoice choose_backend(const std::string& backend, const std::string& devices, const EngineSettings& engine,
                             const std::vector<FoundDevices>& found, const std::string& needs_cpu = "");

/// The devices, one line each, and the versions; or the reason why there are none.
std::string devices_text(const DeviceReport& report);

}  // namespace pandora
