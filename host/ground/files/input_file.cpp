#include "host/ground/files/input_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "host/ground/files/system_limits.hpp"

namespace pandora {
namespace {

using Why = Unreadable::Why;

[[noreturn]] void refuse(int reason, const std::filesystem::path& path) {
  if (reason == EAGAIN)  // from special files of the system such as /proc/kmsg; no limit is reached
    throw Unreadable(Why::irregular, "it waits for what others write, as a pipe does");
  require_resources(reason, path.string());
  const bool absent = reason == ENOENT || reason == ENOTDIR;
  throw Unreadable(absent ? Why::absent : Why::failed, std::strerror(reason));
}

void require_regular(mode_t mode) {
  if (S_ISREG(mode)) return;
  throw Unreadable(Why::irregular, S_ISDIR(mode) ? "it is a folder" : "it is a pipe, a socket or a device");
}

std::string size_text(std::uint64_t bytes) {
  return bytes < 1u << 20 ? fmt::format("{} bytes", bytes)
                          : fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1u << 20));
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) refuse(errno, path);
  require_regular(about.st_mode);  // before open(), which already has an effect on a device
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) refuse(errno, path);
  try {
    if (::fstat(descriptor_, &about) != 0) refuse(errno, path);
    require_regular(about.st_mode);  // checked again: the file may have been replaced
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  size_ = static_cast<std::uint64_t>(about.st_size);
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

std::string InputFile::read(std::uint64_t most) {
  constexpr std::uint64_t kPiece = 1u << 16;
  std::string bytes;
  std::uint64_t n = 0;  // bytes read so far
  while (n < most) {
    if (n == bytes.size()) {
      const std::uint64_t expected = size_ > done_ ? size_ - done_ : kPiece;
      bytes.resize(n + std::min(expected, most - n));
    }
    const ssize_t got = ::read(descriptor_, bytes.data() + n, bytes.size() - n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(errno, path_);
    if (got == 0) break;
    n += static_cast<std::uint64_t>(got);
    done_ += static_cast<std::uint64_t>(got);
  }
  bytes.resize(n);
  return bytes;
}

// std::filesystem's iterators are not used: those of libstdc++ end the program if there is no memory for a name.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> directory(::opendir(folder.c_str()), close);
  std::vector<std::filesystem::path> entries;
  if (directory == nullptr && (errno == ENOENT || errno == ENOTDIR)) return entries;
  if (directory == nullptr) refuse(errno, folder);
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(directory.get());
    if (entry == nullptr && errno != 0) refuse(errno, folder);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(folder / name);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string read_file(const std::filesystem::path& path, std::uint64_t most) {
  InputFile file(path);
  std::string bytes;
  if (file.size() <= most) bytes = file.read(most + 1);
  if (std::max<std::uint64_t>(bytes.size(), file.size()) > most)
    throw Unreadable(Why::large, "it is larger than " + size_text(most));
  return bytes;
}

}  // namespace pandora
