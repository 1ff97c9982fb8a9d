// Reading: regular files alone, no larger than what the caller can take, and every failure with the system's reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace pandora {

/// Why a file was not read. what() completes "<path>: ...", such as "cannot be read (Input/output error)".
struct Unreadable : std::runtime_error {
  enum class Why { absent, irregular, large, failed };
  Unreadable(Why what_is_wrong, const std::string& reason)
      : std::runtime_error("cannot be read (" + reason + ")"), why(what_is_wrong) {}
  Why why;
};

/// An open file. Folders, pipes, devices and sockets are refused without waiting for anybody at their other end.
class InputFile {
 public:
  /// Throws Unreadable; LimitReached and std::bad_alloc where that is what keeps it from being opened.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// As it stood when the file was opened; files of the system itself may claim 0 and hold more.
  std::uint64_t size() const { return size_; }

  /// The next bytes: fewer than `most` only at the end. Throws Unreadable.
  std::string read(std::uint64_t most);

 private:
  std::filesystem::path path_;
  int descriptor_;
  std::uint64_t size_ = 0, done_ = 0;
};

/// What stands in a folder, in the order of names; nothing where there is no such folder. Throws Unreadable.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// The whole of it. Throws Unreadable, before anything is read where the size alone is more than `most`.
std::string read_file(const std::filesystem::path& path, std::uint64_t most);

}  // namespace pandora
