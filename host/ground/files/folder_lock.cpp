#include "host/ground/files/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "host/ground/files/system_limits.hpp"

namespace pandora {

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  constexpr std::chrono::milliseconds kPatience(1000), kPause(5);
  FolderLock lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.descriptor_ < 0) {
    require_resources(errno, folder.string());
    return lock;
  }
  for (const auto end = std::chrono::steady_clock::now() + kPatience; ::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0;
       std::this_thread::sleep_for(kPause)) {
    if (errno != EWOULDBLOCK) return lock;  // some file systems know none
    if (std::chrono::steady_clock::now() > end) return {};
  }
  return lock;
}

}  // namespace pandora
