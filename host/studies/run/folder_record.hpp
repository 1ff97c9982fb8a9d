// What a folder records about its study and about the processes that worked on it.
#pragma once

#include <chrono>
#include <exception>

#include "host/lanes/model/kernel_errors.hpp"
#include "host/studies/run/run_study.hpp"

namespace pandora {

/// The exception that `body` throws, in the form for users, or null.
template <class Body>
std::exception_ptr caught(Body&& body) {
  try {
    for_the_user(body);
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

/// Throws the first exception that is not null.
inline void rethrow(std::initializer_list<std::exception_ptr> failures) {
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

/// Passes notes about damaged files on, and keeps them for the manifest in `damage`, which must outlive the function.
inline DamageNote keeping(std::vector<std::string>& damage, const DamageNote& next) {
  return [&damage, next](const std::string& message) {
    damage.push_back(message);
    if (next) next(message);
  };
}

/// What this process records about itself.
nlohmann::json process_json(const RunOptions& options, std::size_t computed);

/// Keeps the manifest and the resolved study of a folder that is being filled, and in the manifest a record of this run
/// of the program, from the construction of this object on. All arguments must outlive it.
class FolderRecord {
 public:
  FolderRecord(ResultFolder& folder, const StudyConfig& config, std::size_t parts, const RunOptions& options,
               const std::vector<PlannedSetting>& settings, int ranks, const std::vector<std::string>& damage);

  /// Records that work has begun and writes the resolved study. Call it first, because it says who owns the folder.
  /// Files under another title, or with a results.h5 that is now left out, are not damaged; they are made anew.
  void begin(std::size_t parts_there);

  /// `state`: complete, partial or interrupted. `processes`: the record of each rank about itself.
  void end(const char* state, const std::vector<nlohmann::json>& processes, std::size_t parts_there);

 private:
  void write_manifest(const char* state, const nlohmann::json& session, std::size_t parts_there);

  ResultFolder& folder_;
  const StudyConfig& config_;
  const std::size_t parts_;
  const std::vector<std::string>& damage_;
  nlohmann::json session_;  // as it stays if the process is killed
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace pandora
