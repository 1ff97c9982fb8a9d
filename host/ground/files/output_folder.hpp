// Where results go. Files appear whole or not at all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/ground/base/option.hpp"
#include "host/ground/files/temporary_file.hpp"

namespace pandora {

/// Makes (or accepts) the folder and checks that it can be written, before any work is done. An empty `path` means the
/// next free results/NNN. Throws Error (usage) if it is a file, cannot be written, or is not empty without `force`.
std::filesystem::path claim_output_folder(const std::string& path, bool force);

/// What helps beside making room, as messages say it: of a program with --out.
inline const std::string kOtherOut = "choose another " + option("out");

/// Error (usage) if something is there that is no regular file: a folder, a link, a pipe, a device.
void require_replaceable(const std::filesystem::path& path, const std::string& otherwise = kOtherOut);

/// What every command asks of the file that its --out names, before any work: it is replaceable as above, its folder
/// can be written, it is none of `inputs` (by device and inode) even with `force`, and without `force` it is not there.
/// Throws Error (usage).
void claim_output_file(const std::string& path, bool force, const std::vector<std::filesystem::path>& inputs);

/// Writes under a temporary name (temporary_file.hpp), flushes to disk and renames. Throws Error (usage) as above,
/// Error (output_lost) on any other failure, after removing the temporary file; an older file of that name stays as it
/// was.
void write_file(const std::filesystem::path& path, const std::string& contents,
                const std::string& otherwise = kOtherOut);

/// One process at a time writes in a folder. It is held until the object is destroyed or the process ends. Where the
/// file system knows no locks it holds nothing.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FolderLock();

  /// None if another process holds it and goes on to hold it for a second, which one that was killed may do for a
  /// moment. Throws LimitReached.
  static std::optional<FolderLock> take(const std::filesystem::path& folder);

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace pandora
