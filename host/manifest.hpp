// manifest.json: the provenance of a folder of results.
#pragma once

#include <string>

#include "host/study.hpp"

namespace pandora {

struct RunRecord {
  std::string command;         ///< the command line
  std::string backend;         ///< "cpu" or "cuda"
  std::string backend_reason;  ///< of "cuda": the devices and the driver
  int threads = 1;
  std::string started, ended;  ///< UTC, ISO 8601
  double wall_seconds = 0.0;
};

std::string manifest_json(const Study& study, const RunRecord& record);

/// Version, source revision, compiler and flags of this build, one per line.
std::string build_text();

/// The current time in UTC, ISO 8601.
std::string utc_now();

}  // namespace pandora
