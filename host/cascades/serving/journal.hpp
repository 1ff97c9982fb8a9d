// The calls of a store as files: a snapshot, and the calls since then.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pandora/cascade.hpp"

namespace pandora {

/// A folder with `cascade-N.json`, the cascade after N lines, and `calls-N.jsonl`, `calls-M.jsonl`, ..., the lines after
/// those, each file's up to the next one: calls, and the epochs of the numbers that they gave to requests. Files of other
/// names but `lock` are never touched. Its owner alone may read them. `lock` and calls are regular files of one name:
/// links, pipes and devices are refused. Not safe for threads, but for what says so.
class Journal {
 public:
  /// Makes a call; throws Error where it is refused.
  using Call = std::function<void(const std::string& line)>;

  /// `given`: a file that is never removed. Throws Error (usage) where another process uses the folder, Error
  /// (output_lost) where it cannot be used.
  Journal(const std::filesystem::path& folder, const std::filesystem::path& given);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  bool resumes() const { return !snapshot_.empty(); }
  const std::filesystem::path& snapshot() const { return snapshot_; }
  /// `call` with every line after the snapshot, in order. Of a last line that a kill cut off, or that is refused, nothing
  /// is left; one before it that is refused is an Error (bad_data).
  void replay(const Call& call);
  /// From here on calls are written after a snapshot of this cascade. Throws Error (output_lost) where it cannot be
  /// written, and all goes on with the one of before.
  void start(Cascade& cascade);
  /// Lines since the snapshot.
  std::uint64_t since_snapshot() const { return written_ - done_; }

  /// A call that is about to change something. Throws Error (output_lost), and nothing of it is left, where it cannot be
  /// written. `on_disk`: not before it is there.
  void write(const std::string& line, bool on_disk);
  /// The last one was refused.
  void take_back() noexcept;

  /// Lines from the snapshot on that are whole and will not change: they are in files of their own from now on.
  struct Piece {
    std::filesystem::path snapshot;
    std::vector<std::filesystem::path> calls;
    std::uint64_t end = 0;  // lines in all, up to there
  };
  Piece cut(Cascade& cascade);
  /// Safe beside write(): the snapshot after a piece's lines. Throws Error (output_lost).
  void save(const Piece& piece, const Cascade& cascade) const;
  /// That snapshot is the one from now on, and what was before goes.
  void follow(const Piece& piece);

  /// The file that is written to, for fdatasync beside all else; whether anything was written since the last time that
  /// this was asked.
  std::shared_ptr<const int> file() const { return calls_; }
  bool unsynced() { return std::exchange(unsynced_, false); }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::shared_ptr<const int> opened(std::uint64_t first, const std::string& line) const;
  void require_own_calls() const;
  void write_snapshot(const std::filesystem::path& path, const std::string& text) const;
  void remove_older() const;

  const std::filesystem::path folder_, given_;
  std::filesystem::path snapshot_;
  std::shared_ptr<const int> lock_, calls_;           // close what they have open
  std::uint64_t done_ = 0, first_ = 0, written_ = 0;  // lines: before the snapshot, before the file, in all
  std::int64_t length_ = 0, before_ = 0;              // of the file, and without the last line
  bool cut_is_due_ = false, unsynced_ = false;
};

}  // namespace pandora
