// Writing of results. A file appears whole or not at all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/ground/base/option.hpp"
#include "host/ground/files/temporary_file.hpp"

namespace pandora {

/// Makes (or accepts) the folder and checks that it can be written, before any work is done. With an empty `path` it is
/// the next free results/NNN. Throws Error (usage) if it is a file, cannot be written, or is not empty without `force`.
std::filesystem::path claim_output_folder(const std::string& path, bool force);

/// The remedy, besides making room, in messages of a program with --out.
inline const std::string kOtherOut = "choose another " + option("out");

/// Throws Error (usage) if there is something that is not a regular file: a folder, a link, a pipe, a device.
void require_replaceable(const std::filesystem::path& path, const std::string& otherwise = kOtherOut);

/// The checks that every command makes for the file of its --out, before any work. The file must be replaceable as
/// above, and its folder writable. It must be none of `inputs` (by device and inode), even with `force`. Without
/// `force` it must not exist. Throws Error (usage).
void claim_output_file(const std::string& path, bool force, const std::vector<std::filesystem::path>& inputs);

/// Writes under a temporary name (temporary_file.hpp), flushes to disk and renames. Throws Error (usage) as above. On
/// any other failure it removes the temporary file and throws Error (output_lost); an older file of that name stays
/// unchanged.
void write_file(const std::filesystem::path& path, const std::string& contents,
                const std::string& otherwise = kOtherOut);

/// A lock under which only one process at a time writes in a folder. It is held until the object is destroyed or the
/// process ends. On file systems without locks it does nothing.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FolderLock();

  /// Returns nothing if another process holds the lock and still holds it after a second. (A killed process may hold it
  /// for a moment.) Throws LimitReached.
  static std::optional<FolderLock> take(const std::filesystem::path& folder);

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace pandora
