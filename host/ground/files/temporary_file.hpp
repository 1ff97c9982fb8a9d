// The temporary names under which files are first written, and the removal of temporary files of killed processes.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace pandora {

/// The name that a temporary file of this program was to get: "a.csv" for "a.csv.tmp.<process>.<16 hexadecimal
/// digits>", an empty text for ".probe.<process>.<digits>", and nothing for every other name. (Earlier versions had no
/// digits.)
std::optional<std::string> target_of_temporary(const std::string& name);

/// A new file in a folder, with a random name that nobody can foresee. It is locked while it is open.
class TemporaryFile {
 public:
  /// `target` is the name that it will get; empty for a probe. After a failure error() is the system's error number.
  TemporaryFile(const std::filesystem::path& folder, const std::string& target);
  ~TemporaryFile();  ///< removes the file, unless it got its target's name
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int error() const { return error_; }

  /// Writes everything to the disk. Returns false, with error() set, if that fails.
  bool write(const std::string& contents);
  /// Renames the file to its target. Returns false, with error() set, if that fails.
  bool become_target();

 private:
  bool fail(int reason);

  std::filesystem::path folder_, target_, name_;
  int descriptor_ = -1, error_ = 0;
  bool there_ = false;
};

/// 0 if files can be made in the folder, otherwise the system's error number.
int try_writing(const std::filesystem::path& folder);

enum class Others { none, may_write };  ///< whether other processes may be writing in the folder

/// Removes temporary files of killed processes if `is_own` accepts their target. If other processes may write, removes
/// only those that nobody holds locked and that are older than a minute.
void remove_leftovers(const std::filesystem::path& folder, Others others,
                      const std::function<bool(const std::string& target)>& is_own);

}  // namespace pandora
