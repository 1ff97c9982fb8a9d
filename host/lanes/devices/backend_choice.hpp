// Which backend runs a study, and why.
#pragma once

#include <string>
#include <vector>

#include "host/lanes/devices/device.hpp"
#include "host/lanes/engine/lanes.hpp"

namespace pandora {

struct BackendChoice {
  std::string name;      ///< "cpu" or that of a Backend
  std::string reason;    ///< why it was chosen, for the first line of output and the manifest
  DeviceSet devices;     ///< none: the CPU
  std::string hardware;  ///< the kinds of device, which numbers may depend on; their count changes none
};

/// What a backend has found on this machine.
struct FoundDevices {
  const Backend* backend;
  DeviceReport report;
};
/// One for each of backends(), in its order.
std::vector<FoundDevices> find_all_devices();

/// `backend` is auto, cpu or the name of one of those `found`; `devices` "all" or a list such as "0,1". auto takes all
/// usable devices of the first backend that has any and falls back to the CPU with the reason; `needs_cpu` is a reason
/// that the study brings. Throws Error (usage) for what cannot be meant, Error (device) for what was asked for and is
/// not there.
BackendChoice choose_backend(const std::string& backend, const std::string& devices, const EngineSettings& engine,
                             const std::vector<FoundDevices>& found, const std::string& needs_cpu = "");

/// The devices, one line each, and the versions; or why there are none.
std::string devices_text(const DeviceReport& report);

}  // namespace pandora
