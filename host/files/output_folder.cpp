#include "host/files/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "pandora/error.hpp"

namespace pandora {
namespace fs = std::filesystem;
namespace {

// Creates the next free results/NNN; creation is atomic, so two programs never share one.
fs::path next_numbered_folder() {
  std::error_code error;
  fs::create_directories("results", error);
  for (int n = 1; n < 100000 && !error; ++n) {
    const fs::path folder = fs::path("results") / fmt::format("{:03}", n);
    if (fs::create_directory(folder, error)) return folder;
  }
  throw Error(ExitCode::usage, fmt::format("results: cannot create a folder for the results here ({}); name a writable "
                                           "one with --out",
                                           error ? error.message() : "all numbers are taken"));
}

}  // namespace

fs::path claim_output_folder(const std::string& path, bool force) {
  if (path.empty()) return next_numbered_folder();
  const fs::path folder(path);
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw Error(ExitCode::usage, fmt::format("--out {}: is a file; name a folder", path));
  fs::create_directories(folder, error);
  if (error)
    throw Error(ExitCode::usage,
                fmt::format("--out {}: cannot be created ({}); name a writable folder", path, error.message()));
  const bool empty = fs::is_empty(folder, error);
  if (error)
    throw Error(ExitCode::usage,
                fmt::format("--out {}: cannot be read ({}); name a folder of your own", path, error.message()));
  if (!force && !empty)
    throw Error(
        ExitCode::usage,
        fmt::format(
            "--out {}: is not empty; name a fresh folder, add --resume to go on with its results, or --force to "
            "replace them",
            path));
  const std::string probe = (folder / fmt::format(".probe.{}", ::getpid())).string();
  const int descriptor = ::open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (descriptor < 0)
    throw Error(ExitCode::usage,
                fmt::format("--out {}: cannot be written ({}); name a writable folder", path, std::strerror(errno)));
  ::close(descriptor);
  ::unlink(probe.c_str());
  return folder;
}

void write_file(const fs::path& path, const std::string& contents) {
  const std::string temporary = fmt::format("{}.tmp.{}", path.string(), ::getpid());
  const int descriptor = ::open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  bool good = descriptor >= 0;
  for (std::size_t done = 0; good && done < contents.size();) {
    const ssize_t n = ::write(descriptor, contents.data() + done, contents.size() - done);
    if (n < 0 && errno == EINTR) continue;
    good = n > 0;
    done += good ? static_cast<std::size_t>(n) : 0;
  }
  good = good && ::fsync(descriptor) == 0;
  int reason = errno;
  if (descriptor >= 0 && ::close(descriptor) != 0 && good) {
    good = false;
    reason = errno;
  }
  if (good && ::rename(temporary.c_str(), path.c_str()) != 0) {
    good = false;
    reason = errno;
  }
  if (good) {
    // The name is on the disk when the folder is.
    const int folder =
        ::open(path.has_parent_path() ? path.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
      ::fsync(folder);
      ::close(folder);
    }
    return;
  }
  ::unlink(temporary.c_str());
  throw Error(ExitCode::output_lost, fmt::format("{}: could not be written ({}); free some space or choose another "
                                                 "--out and run again",
                                                 path.string(), std::strerror(reason)));
}

}  // namespace pandora
