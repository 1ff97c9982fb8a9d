// Names under which files are written before they get their own, and what of them a process that was killed left
// behind.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace pandora {

/// What a temporary of this program was to become: "a.csv" for "a.csv.tmp.<process>.<16 hexadecimal digits>", nothing
/// for ".probe.<process>.<digits>", and none for every other name. (Versions before had no digits.)
std::optional<std::string> target_of_temporary(const std::string& name);

/// A new file in a folder, of a random name that nobody can have foreseen, locked while it is open.
class TemporaryFile {
 public:
  /// `target` is what it is to become; empty for a probe. After a failure error() is its number.
  TemporaryFile(const std::filesystem::path& folder, const std::string& target);
  ~TemporaryFile();  ///< removes it, unless it became its target
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int error() const { return error_; }

  /// All of it, to the disk. False, with error(), where that fails.
  bool write(const std::string& contents);
  /// Gives it the name of its target. False, with error(), where that fails.
  bool become_target();

 private:
  bool fail(int reason);

  std::filesystem::path folder_, target_, name_;
  int descriptor_ = -1, error_ = 0;
  bool there_ = false;
};

/// 0 if files can be made in the folder, else the number of the error.
int try_writing(const std::filesystem::path& folder);

enum class Others { none, may_write };  ///< whether other processes may be writing in the folder

/// Removes temporaries of killed processes whose target `is_own`; where others may write, only those that nobody holds
/// locked and that are older than a minute.
void remove_leftovers(const std::filesystem::path& folder, Others others,
                      const std::function<bool(const std::string& target)>& is_own);

}  // namespace pandora
