#include "host/ground/files/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "host/ground/base/fail.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/system_limits.hpp"

namespace pandora {
namespace fs = std::filesystem;
namespace {

// Creates the next free results/NNN; creation is atomic, so two programs never share one.
fs::path next_numbered_folder() {
  std::error_code error;
  fs::create_directories("results", error);
  for (int n = 1; n < 100000 && !error; ++n) {
    fs::path folder = fs::path("results") / fmt::format("{:03}", n);
    if (fs::create_directory(folder, error)) return folder;
  }
  fail(ExitCode::usage, "results: cannot create a folder for the results here ({}); name a writable one with {}",
       error ? error.message() : "all numbers are taken", option("out"));
}

// The remedy for the system's reason.
std::string remedy(int reason, const std::string& otherwise) {
  if (std::string of_limit = remedy_of_limit(reason); !of_limit.empty()) return of_limit;
  switch (reason) {
    case EISDIR:
      return fmt::format("it is a folder; remove it or {}", otherwise);
    case EACCES:
    case EPERM:
    case EROFS:
      return fmt::format("make its folder writable or {} and run again", otherwise);
    case ENOENT:
    case ENOTDIR:
      return fmt::format("its folder is gone; {} and run again", otherwise);
    default:
      return fmt::format("free some space or {} and run again", otherwise);
  }
}

// Throws Error (usage) if no file can be made in the folder.
void require_writable(const fs::path& folder, const std::string& what, const char* otherwise) {
  const int reason = try_writing(folder);
  require_resources(reason, what);
  if (reason != 0) fail(ExitCode::usage, "{}: cannot be written ({}); {}", what, std::strerror(reason), otherwise);
}

// Throws Error (usage) unless it is a regular file.
void require_regular(const fs::path& path, mode_t mode, const std::string& otherwise) {
  if (S_ISREG(mode)) return;
  const bool link = S_ISLNK(mode);
  fail(ExitCode::usage, "{}: cannot be written (there is a {}, and only regular files are written); {} or {}",
       path.string(),
       S_ISDIR(mode) ? "folder"
       : link        ? "link"
                     : "pipe, socket or device",
       link ? "replace it by the file that it names" : "remove it", otherwise);
}

}  // namespace

fs::path claim_output_folder(const std::string& path, bool force) {
  if (path.empty()) return next_numbered_folder();
  fs::path folder(path);
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    fail(ExitCode::usage, "{}: is a file; name a folder", option("out", path));
  fs::create_directories(folder, error);
  if (error)
    fail(ExitCode::usage, "{}: cannot be created ({}); name a writable folder", option("out", path), error.message());
  bool empty = false;
  try {
    empty = entries_of(folder).empty();
  } catch (const Unreadable& problem) {
    fail(ExitCode::usage, "{}: {}; name a folder of your own", option("out", path), problem.what());
  }
  if (!force && !empty)
    fail(ExitCode::usage,
         "{}: is not empty; name a fresh folder, add {} to go on with its results, or {} to replace them",
         option("out", path), option("resume"), option("force"));
  require_writable(folder, option("out", path), "name a writable folder");
  return folder;
}

void require_replaceable(const fs::path& path, const std::string& otherwise) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) == 0) require_regular(path, about.st_mode, otherwise);
}

void claim_output_file(const std::string& path, bool force, const std::vector<fs::path>& inputs) {
  if (path.empty()) fail(ExitCode::usage, "{}: names no file; give one", option("out"));
  require_replaceable(path);
  std::error_code none;
  for (const fs::path& input : inputs)
    if (fs::equivalent(input, path, none))
      fail(ExitCode::usage, "{}: is the input {} itself; name another file", option("out", path), input.string());
  if (!force && fs::exists(path, none))
    fail(ExitCode::usage, "{}: is there already; name another file, or replace it with {}", option("out", path),
         option("force"));
  require_writable(fs::path(path).parent_path(), option("out", path), "name a file in a writable folder");
}

void write_file(const fs::path& path, const std::string& contents, const std::string& otherwise) {
  require_replaceable(path, otherwise);
  TemporaryFile file(path.parent_path(), path.filename().string());
  if (file.write(contents) && file.become_target()) return;
  fail(ExitCode::output_lost, "{}: could not be written ({}); {}", path.string(), std::strerror(file.error()),
       remedy(file.error(), otherwise));
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<FolderLock> FolderLock::take(const fs::path& folder) {
  constexpr std::chrono::milliseconds kPatience(1000), kPause(5);
  FolderLock lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.descriptor_ < 0) {
    require_resources(errno, folder.string());
    return lock;
  }
  for (const auto end = std::chrono::steady_clock::now() + kPatience; ::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0;
       std::this_thread::sleep_for(kPause)) {
    if (errno != EWOULDBLOCK) return lock;  // some file systems have no locks
    if (std::chrono::steady_clock::now() > end) return {};
  }
  return lock;
}

}  // namespace pandora
