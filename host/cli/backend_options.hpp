// The options of a command that say what simulates the lanes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "host/lanes/devices/backend_choice.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora::cli {

struct BackendOptions {
  std::string backend = "auto", devices = "all";
  int threads = 0;

  void add_to(CLI::App& command);

  /// The backend that serves all settings. Throws Error (usage, device).
  BackendChoice choose(const std::vector<PlannedSetting>& settings) const;
};

}  // namespace pandora::cli
