// What a folder says of the study in it and of those who worked on it.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "host/lanes/model/kernel_errors.hpp"
#include "host/studies/run/run_options.hpp"
#include "host/studies/run/session_record.hpp"

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

/// Keeps manifest and resolved study of a folder that is being filled.
class FolderRecord {
 public:
  FolderRecord(ResultFolder& folder, const StudyConfig& config, std::size_t parts)
      : folder_(folder), config_(config), parts_(parts) {}

  /// Says that work has begun (first, since it tells whose the folder is) and writes the resolved study. Files made
  /// under another title, or with results.h5 where it is now left out, are no damage: they are made anew.
  void begin(const nlohmann::json& session, std::size_t parts_there);

  /// `state`: complete, partial or interrupted.
  void end(const char* state, const nlohmann::json& session, std::size_t parts_there);

 private:
  void write_manifest(const char* state, const nlohmann::json& session, std::size_t parts_there);
  void forget_other_title();

  ResultFolder& folder_;
  const StudyConfig& config_;
  const std::size_t parts_;
};

}  // namespace pandora
