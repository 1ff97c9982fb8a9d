#include "host/ground/files/temporary_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <regex>
#include <utility>
#include <vector>

#include "host/ground/files/input_file.hpp"

namespace pandora {
namespace fs = std::filesystem;
namespace {

std::string random_digits() {
  std::uint64_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value))
    value = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return fmt::format("{:016x}", value);
}

}  // namespace

std::optional<std::string> target_of_temporary(const std::string& name) {
  static const std::regex temporary(R"((?:([^]+)\.tmp|\.probe)\.\d+(?:\.[0-9a-f]{16})?)");
  std::smatch found;
  return std::regex_match(name, found, temporary) ? std::optional(found.str(1)) : std::nullopt;
}

TemporaryFile::TemporaryFile(const fs::path& folder, const std::string& target)
    : folder_(folder.empty() ? fs::path(".") : folder), target_(folder_ / target) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && descriptor_ < 0; ++i) {
    name_ =
        folder_ / fmt::format("{}{}{}.{}", target, target.empty() ? ".probe." : ".tmp.", ::getpid(), random_digits());
    descriptor_ = ::open(name_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0644);
    error_ = descriptor_ < 0 ? errno : 0;
    if (error_ != 0 && error_ != EEXIST && error_ != EINTR) return;
  }
  there_ = descriptor_ >= 0;
  if (there_) (void)::flock(descriptor_, LOCK_EX | LOCK_NB);  // so that no other process takes it for a leftover
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (there_) ::unlink(name_.c_str());
}

bool TemporaryFile::fail(int reason) {
  if (error_ == 0) error_ = reason;
  return false;
}

bool TemporaryFile::write(const std::string& contents) {
  if (error_ != 0) return false;
  for (std::size_t done = 0; done < contents.size();) {
    const ssize_t n = ::write(descriptor_, contents.data() + done, contents.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(n < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(n);
  }
  if (::fsync(descriptor_) != 0) return fail(errno);
  return true;
}

bool TemporaryFile::become_target() {
  if (error_ != 0) return false;
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0) return fail(errno);
  if (::rename(name_.c_str(), target_.c_str()) != 0) return fail(errno);
  there_ = false;
  // The name is on the disk once the folder is flushed. Some file systems cannot do that.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return true;
  const int reason = ::fsync(folder) == 0 ? 0 : errno;
  ::close(folder);
  return reason == EIO || reason == ENOSPC || reason == EDQUOT ? fail(reason) : true;
}

int try_writing(const fs::path& folder) {
  return TemporaryFile(folder, "").error();
}

void remove_leftovers(const fs::path& folder, Others others, const std::function<bool(const std::string&)>& is_own) {
  constexpr std::time_t kYoung = 60;  // seconds; a file is locked microseconds after it is made
  std::vector<fs::path> found;
  try {
    found = entries_of(folder);
  } catch (const Unreadable&) {  // a file that cannot be listed or removed does no harm
  }
  std::erase_if(found, [&is_own](const fs::path& path) {
    const auto target = target_of_temporary(path.filename().string());
    return !target || !is_own(*target);
  });
  for (const fs::path& path : found) {
    struct stat about {};
    if (::lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    if (others == Others::none) {
      ::unlink(path.c_str());
      continue;
    }
    if (std::time(nullptr) - about.st_mtime < kYoung) continue;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    ::close(descriptor);
  }
}

}  // namespace pandora
