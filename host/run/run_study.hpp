// A study from its configuration to its folder of results: what is missing is run, what is there is kept.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "host/devices/backend_choice.hpp"
#include "host/machine/ranks.hpp"
#include "host/results/result_folder.hpp"
#include "host/results/write_results.hpp"

namespace pandora {

/// This process does the parts whose number is `index` modulo `count`.
struct Shard {
  int index = 0, count = 1;

  /// "i/n" with 0 <= i < n; throws Error (usage) otherwise.
  static Shard parse(const std::string& text);
};

struct RunOptions {
  std::string out;         ///< empty: the next free results/NNN
  std::string study_file;  ///< where the study was read, so that results do not replace it; may be empty
  ResultFolder::Mode mode = ResultFolder::Mode::fresh;
  Shard shard;
  BackendChoice backend;
  int threads = 1;
  std::string oracle_cache;         ///< folder; empty: none
  std::string command;              ///< the command line, for the manifest
  std::string program = "pandora";  ///< what replays a lane
  const std::atomic<bool>* interrupted = nullptr;
  /// Called once the folder is claimed and nothing has been run yet.
  std::function<void(const std::filesystem::path& folder, std::size_t parts_there, std::size_t parts)> started;
  std::function<void(std::size_t lanes_done, std::size_t lanes)> progress;
  /// Told of the first lanes that fail, when they do.
  std::function<void(const std::string& message)> failed;
  DamageNote note;
};

struct RunOutcome {
  std::filesystem::path folder;
  std::size_t parts = 0, parts_there = 0;  ///< of the whole study; in the folder
  bool complete = false;                   ///< all parts are there and the final files are written
  Findings findings;                       ///< tables of a complete study, failed lanes also of a shard's own
};

/// Runs what is missing of this process's share. When all parts are there, writes the final files. Throws Error:
/// interrupted (what was finished is on disk), output_lost, mismatch, usage, device.
RunOutcome run_study(const StudyConfig& config, const RunOptions& options, const Ranks& ranks);

/// Puts the parts of several folders of one study together. Throws Error (mismatch) if they are not of one study, build
/// and arithmetic, Error (bad_data) naming what is missing.
RunOutcome merge_folders(const std::vector<std::string>& folders, const RunOptions& options);

}  // namespace pandora
