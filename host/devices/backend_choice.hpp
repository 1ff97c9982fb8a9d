// Which backend runs a study, and why.
#pragma once

#include <string>
#include <vector>

#include "host/devices/device.hpp"
#include "host/study/study.hpp"

namespace pandora {

struct BackendChoice {
  std::string name;          ///< "cpu" or "cuda"
  std::string reason;        ///< why it was chosen, for the first line of output and the manifest
  std::vector<int> devices;  ///< of "cuda"
  std::string hardware;      ///< of "cuda": the kinds of device, which numbers may depend on; their count changes none
};

/// `backend` is auto, cpu or cuda; `devices` "all" or a list such as "0,1". auto takes all usable devices if there are
/// any and falls back to the CPU with the reason; `needs_cpu` is a reason that the study brings. Throws Error (usage)
/// for what cannot be meant, Error (device) for what was asked for and is not there.
BackendChoice choose_backend(const std::string& backend, const std::string& devices, const EngineSettings& engine,
                             const DeviceReport& report, const std::string& needs_cpu = "");

/// The devices, one line each, and the versions; or why there are none.
std::string devices_text(const DeviceReport& report);

}  // namespace pandora
