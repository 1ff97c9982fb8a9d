// What a service keeps so that nothing is lost that it has answered: a snapshot of the cascade, and the calls since
// then, which are made again when the service starts. A call is with the system before it is answered, so a kill loses
// none; it is on the disk within a second, so a power failure loses at most those of the last second.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "pandora/cascade.hpp"

/// A folder with `cascade-N.json`, the cascade after N calls, and `calls-N.jsonl`, the calls after those.
class Journal {
 public:
  using Call = std::function<void(const std::string& line)>;

  /// Makes the folder where there is none. Throws std::runtime_error where it cannot be used, also while another
  /// service uses it.
  explicit Journal(const std::filesystem::path& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Whether there is a snapshot, and its file.
  bool resumes() const { return !snapshot_.empty(); }
  const std::filesystem::path& snapshot() const { return snapshot_; }
  /// `call` with every line that was written after the snapshot, in order; a last line that the kill cut off is left
  /// out. Returns how many there were.
  std::uint64_t replay(const Call& call);
  /// From here on calls are written after this snapshot.
  void start(const pandora::Cascade& cascade);

  /// A call that changed something.
  void write(const std::string& line, const pandora::Cascade& cascade);
  /// What was written, on the disk, if half a second has passed since the last time.
  void sync_in_time();

 private:
  void sync();

  const std::filesystem::path folder_;
  std::filesystem::path snapshot_;
  int lock_ = -1, calls_ = -1;
  std::uint64_t done_ = 0, since_snapshot_ = 0;  // calls in all, and after the snapshot
  bool unsynced_ = false;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};
