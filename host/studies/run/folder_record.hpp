// What a folder says of the study in it and of those who worked on it.
#pragma once

#include <chrono>
#include <exception>

#include "host/lanes/model/kernel_errors.hpp"
#include "host/studies/run/run_study.hpp"

namespace pandora {

/// What `body` throws, as the user is told of it, or null.
template <class Body>
std::exception_ptr caught(Body&& body) {
  try {
    for_the_user(body);
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

/// Throws the first that is something.
inline void rethrow(std::initializer_list<std::exception_ptr> failures) {
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

/// Passes on what is noted of damaged files, and keeps it for the manifest.
class DamageLog {
 public:
  explicit DamageLog(DamageNote next) : next_(std::move(next)) {}

  /// To be called as long as this log lives.
  DamageNote note() {
    return [this](const std::string& message) {
      messages_.push_back(message);
      if (next_) next_(message);
    };
  }
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  DamageNote next_;
  std::vector<std::string> messages_;
};

/// What this process says of itself.
nlohmann::json process_json(const RunOptions& options, std::size_t computed);

/// Keeps manifest and resolved study of a folder that is being filled, and in the manifest what there is to know of
/// this run of the program from the record's making on. Everything given lives as long.
class FolderRecord {
 public:
  FolderRecord(ResultFolder& folder, const StudyConfig& config, std::size_t parts, const RunOptions& options,
               const std::vector<PlannedSetting>& settings, int ranks, const DamageLog& damage);

  /// Says that work has begun (first, since it tells whose the folder is) and writes the resolved study. Files made
  /// under another title, or with results.h5 where it is now left out, are no damage: they are made anew.
  void begin(std::size_t parts_there);

  /// `state`: complete, partial or interrupted. `processes`: what each rank says of itself.
  void end(const char* state, const std::vector<nlohmann::json>& processes, std::size_t parts_there);

 private:
  void write_manifest(const char* state, const nlohmann::json& session, std::size_t parts_there);
  void forget_other_title();

  ResultFolder& folder_;
  const StudyConfig& config_;
  const std::size_t parts_;
  const DamageLog& damage_;
  nlohmann::json session_;  // as it stays if the process is killed
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace pandora
