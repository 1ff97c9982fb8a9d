// Options that several commands have: which study, what simulates its lanes.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/lanes/devices/backend_choice.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora::cli {

class StudyOptions {
 public:
  /// What a command's other options say of a key.
  struct Implied {
    std::string key, value, where;
  };

  /// Adds the study's file (without one the study is the paper's) unless `file` is null, --set, and those of the
  /// options of single keys that are named; without names all of them.
  void add_to(CLI::App& command, const std::vector<std::string>& options = {},
              const char* file = "the study's TOML file (default: the paper's study)");

  /// Empty if none was given.
  std::string file() const { return file_.value_or(""); }
  /// The files that the study is read from: its own, and its tables of outcomes. No command writes over them.
  std::vector<std::filesystem::path> inputs(const StudyConfig& config) const;
  /// What was given for the option, such as "--regime".
  const std::optional<std::string>& given(const std::string& option) const { return given_.at(option); }

  /// The study: its file, then the options, then `implied`, then --set. Throws Error (usage).
  StudyConfig config(const std::vector<Implied>& implied = {}) const;

 private:
  std::optional<std::string> file_;  // here and below: an empty word is an error, not an absent option
  std::map<std::string, std::optional<std::string>> given_;
  std::vector<std::string> sets_;
};

struct BackendOptions {
  std::string backend = "auto", devices = "all";
  int threads = 0;

  void add_to(CLI::App& command);
  /// The backend that serves all settings. Throws Error (usage, device).
  BackendChoice choose(const std::vector<PlannedSetting>& settings) const;
};

/// Adds --threads.
void add_threads(CLI::App& command, int& threads);

}  // namespace pandora::cli
