// Oracle tables kept on disk: drawing the shocks and solving the grid is most of a replication's preparation.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "oracle/oracle.hpp"

namespace pandora {

/// A digest of this build (version, sources, compiler, flags) and of a small table computed here: the `numerics` of
/// tables made on the CPU.
std::string cpu_numerics();

/// Files <folder>/<key>.oracle, one per table. The key is a digest of all that a table is computed from, the contexts
/// and parameters themselves included, so an entry serves exactly the runs that would compute the same bits. Safe to
/// use from several threads and programs at once.
class OracleCache {
 public:
  using Note = std::function<void(const std::string&)>;

  /// Makes the folder if need be; throws Error (usage) naming it if it cannot be made or written. `numerics` stands for
  /// the arithmetic behind the tables. `note` is told, once per file and never by two threads at once, of entries that
  /// are damaged and of a disk that takes no more.
  OracleCache(std::filesystem::path folder, std::string numerics, Note note = {});

  /// The table of these contexts from `first_row` on: the stored one, else what `build` returns, which is then stored.
  /// A damaged entry is never used: it is noted, computed again and replaced; one that cannot be read at all stays.
  /// After an entry could not be read or written none is stored any more.
  OracleTable get(const Instance& instance, const Contexts& contexts, const OracleOptions& options, int first_row,
                  const std::function<OracleTable()>& build);

  std::size_t hits() const { return hits_; }
  std::size_t misses() const { return misses_; }
  bool storing() const { return storing_; }  ///< false once an entry could not be written

  /// All that a table is computed from, as JSON. Rows before `first_row` do not count, nor do their number.
  std::string key_text(const Instance& instance, const Contexts& contexts, const OracleOptions& options,
                       int first_row) const;
  /// The file of the entry with that text.
  std::filesystem::path path_of(const std::string& key_text) const;

 private:
  void tell(const std::filesystem::path& path, const std::string& what);
  void store(const std::filesystem::path& path, const std::string& bytes);

  std::filesystem::path folder_;
  std::string numerics_;
  Note note_;
  std::atomic<std::size_t> hits_{0}, misses_{0};
  std::atomic<bool> storing_{true};
  std::mutex mutex_;  // of what follows, of writing and of notes
  std::set<std::filesystem::path> told_;
};

}  // namespace pandora
