// What this machine computes, told from what another one would.
#pragma once

#include <string>
#include <vector>

#include "host/lanes/devices/device.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora {

/// A digest of what small sweeps give here, with the engine of each setting: 16 digits for every different engine, in
/// order, with spaces between. Machines that compute alike agree on it.
std::string fingerprint_of(const std::vector<Setting>& settings, const DeviceSet& devices);

}  // namespace pandora
