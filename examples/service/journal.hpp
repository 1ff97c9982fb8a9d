// What a service keeps so that nothing is lost that it has answered: a snapshot of the cascade, and the calls since
// then, which are made again when the service starts. A call is with the system before it is made, and out again if it
// was refused, so a kill loses none that was answered; it is on the disk within a second, so a power failure loses at
// most those of the last second.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "pandora/cascade.hpp"

/// A folder with `cascade-N.json`, the cascade after N lines, and `calls-N.jsonl`, the lines after those: calls, and
/// the epochs of the numbers that they gave to requests. Files of other names are never touched.
class Journal {
 public:
  /// Makes a call; throws pandora::Error if it is refused.
  using Call = std::function<void(const std::string& line)>;

  /// Makes the folder where there is none. Throws std::runtime_error where it cannot be used, also while another
  /// service uses it. `given`: a file that is never removed, whatever its name.
  Journal(const std::filesystem::path& folder, const std::filesystem::path& given);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Whether there is a snapshot, and its file.
  bool resumes() const { return !snapshot_.empty(); }
  const std::filesystem::path& snapshot() const { return snapshot_; }
  /// `call` with every line that was written after the snapshot, in order. Of a last line that a kill cut off, or that
  /// is refused, nothing is left; one before it that is refused is an error.
  void replay(const Call& call);
  /// From here on calls are written after a snapshot of this cascade. Throws std::runtime_error where it cannot be
  /// written or loaded again; then all goes on with the one of before.
  void start(pandora::Cascade& cascade);

  /// A call that is about to change something. Throws std::runtime_error, and nothing of it is left, where it cannot be
  /// written.
  void write(const std::string& line);
  /// The last one was refused.
  void take_back() noexcept;
  /// Whether so many calls were written that a snapshot is due, so that a start takes seconds at most.
  bool is_long() const { return since_snapshot_ >= next_snapshot_; }
  /// What was written, on the disk, if half a second has passed since the last time.
  void sync_in_time();

 private:
  int open_calls(const std::filesystem::path& path, int flags) const;
  void remove_older() const;

  const std::filesystem::path folder_, given_;
  std::filesystem::path snapshot_;
  int lock_ = -1, calls_ = -1;
  std::uint64_t done_ = 0, since_snapshot_ = 0, next_snapshot_ = 0;  // lines in all, and after the snapshot
  std::int64_t length_ = 0, before_ = 0;                             // of the calls, and without the last one
  bool cut_is_due_ = false, unsynced_ = false;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};
