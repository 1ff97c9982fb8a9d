// Oracle tables on disk. Drawing the shocks and solving the grid is most of a replication's preparation.
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
/// tables that the CPU makes.
std::string cpu_numerics();

/// Files <folder>/<key>.oracle, one per table. The key is a digest of all inputs of a table, including the contexts and
/// parameters themselves. So a stored table is used exactly by the runs that would compute the same bits. Several
/// threads and programs may use it at once.
class OracleCache {
 public:
  using Note = std::function<void(const std::string&)>;

  /// Makes the folder if necessary. Throws Error (usage) with its name if it cannot be made or written. `numerics`
  /// identifies the arithmetic behind the tables. `note` is called for damaged entries and for a disk that cannot be
  /// written, once per file and never by two threads at once.
  OracleCache(std::filesystem::path folder, std::string numerics, Note note = {});

  /// The table of these contexts from `first_row` on: the stored one, or the result of `build`, which is then stored. A
  /// damaged entry is never used: it is reported, computed again and replaced. An entry that cannot be read at all
  /// stays. After an entry could not be read or written, no more are stored.
  OracleTable get(const Instance& instance, const Contexts& contexts, const OracleOptions& options, int first_row,
                  const std::function<OracleTable()>& build);

  std::size_t hits() const { return hits_; }
  std::size_t misses() const { return misses_; }
  bool storing() const { return storing_; }  ///< false once an entry could not be written

  /// All inputs of a table, as JSON. Rows before `first_row` do not count, nor does their number.
  std::string key_text(const Instance& instance, const Contexts& contexts, const OracleOptions& options,
                       int first_row) const;
  /// The file of the entry with that key text.
  std::filesystem::path path_of(const std::string& key_text) const;

 private:
  void tell(const std::filesystem::path& path, const std::string& what);
  void store(const std::filesystem::path& path, const std::string& bytes);

  std::filesystem::path folder_;
  std::string numerics_;
  Note note_;
  std::atomic<std::size_t> hits_{0}, misses_{0};
  std::atomic<bool> storing_{true};
  std::mutex mutex_;  // for the following members, for writing and for notes
  std::set<std::filesystem::path> told_;
};

}  // namespace pandora
