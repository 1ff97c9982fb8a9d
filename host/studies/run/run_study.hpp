// Runs or extends a study: from its configuration to its folder of results. Also merges the folders of shards.
#pragma once

#include <cstddef>

#include "host/ground/machine/ranks.hpp"
#include "host/lanes/devices/backend_choice.hpp"
#include "host/lanes/engine/lanes.hpp"
#include "host/studies/results/stored_results.hpp"
#include "host/studies/sweep/oracle_cache.hpp"

namespace pandora {

/// This process does the parts whose number modulo `count` is `index`.
struct Shard {
  int index = 0, count = 1;

  /// Reads "i/n" with 0 <= i < n. Throws Error (usage) otherwise.
  static Shard parse(const std::string& text);
};

/// The backend for all settings; `backend` and `devices` as for choose_backend. Throws Error (usage, device).
BackendChoice backend_for(const std::string& backend, const std::string& devices,
                          const std::vector<PlannedSetting>& settings);

/// The identity of results with that backend on this machine. Runs small sweeps on it, which takes some hundredths of a
/// second.
Identity identity_for(const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                      const BackendChoice& backend);

struct RunOptions {
  std::string out;         ///< empty: the next free results/NNN
  std::string study_file;  ///< the file from which the study was read, so that results do not replace it; may be empty
  ResultFolder::Mode mode = ResultFolder::Mode::fresh;
  Shard shard;
  BackendChoice backend;
  int threads = 1;
  std::string oracle_cache;         ///< folder; empty: none
  std::string command;              ///< the command line, for the manifest
  std::string program = "pandora";  ///< the command that replays a lane
  const std::atomic<bool>* interrupted = nullptr;
  /// Called once the folder is claimed and before anything runs.
  std::function<void(const std::filesystem::path& folder, std::size_t parts_there, std::size_t parts)> started;
  std::function<void(std::size_t lanes_done, std::size_t lanes)> progress;
  /// Called for the first lanes that fail, when they fail.
  std::function<void(const std::string& message)> failed;
  DamageNote note;
};

struct RunOutcome {
  std::filesystem::path folder;
  std::size_t parts = 0, parts_there = 0;  ///< of the whole study; in the folder
  bool complete = false;                   ///< all parts are there and the final files are written
  Findings findings;                       ///< tables of a complete study; failed lanes, also of a single shard
};

/// Runs the missing part of this process's share. When all parts are there, writes the final files. Throws Error:
/// interrupted (finished work is on disk), output_lost, mismatch, usage, device.
RunOutcome run_study(const StudyConfig& config, const RunOptions& options, const Ranks& ranks);

/// Merges the parts of several folders of one study. Throws Error (mismatch) if they do not belong to one study, build
/// and arithmetic, and Error (bad_data) with the missing parts.
RunOutcome merge_folders(const std::vector<std::string>& folders, const RunOptions& options);

}  // namespace pandora
