// What a manifest keeps of one run of the program.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/studies/run/run_options.hpp"

namespace pandora {

/// From its making on.
class SessionRecord {
 public:
  SessionRecord(const RunOptions& options, const std::vector<PlannedSetting>& settings, int ranks);

  /// As it stays if the process is killed.
  const nlohmann::json& begun() const { return record_; }

  /// `processes`: what each rank says of itself.
  nlohmann::json ended(const std::vector<nlohmann::json>& processes, const std::vector<std::string>& damaged) const;

 private:
  nlohmann::json record_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What this process says of itself.
nlohmann::json process_json(const RunOptions& options, std::size_t computed);

}  // namespace pandora
