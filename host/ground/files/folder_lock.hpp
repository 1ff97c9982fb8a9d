// One process at a time writes in a folder.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

namespace pandora {

/// Held until the object is destroyed or the process ends. Where the file system knows no locks it holds nothing.
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
