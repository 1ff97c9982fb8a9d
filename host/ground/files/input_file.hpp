// Reading of files: only regular ones, no larger than the caller allows. Every failure states the system's reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace pandora {

/// A file could not be read. what() completes "<path>: ...", such as "cannot be read (Input/output error)".
struct Unreadable : std::runtime_error {
  enum class Why { absent, irregular, large, failed };
  Unreadable(Why what_is_wrong, const std::string& reason)
      : std::runtime_error("cannot be read (" + reason + ")"), why(what_is_wrong) {}
  Why why;
};

/// An open file. Folders, pipes, devices and sockets are refused without waiting for their other end.
class InputFile {
 public:
  /// Throws Unreadable, or LimitReached or std::bad_alloc if these prevent opening it.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// The size when the file was opened. Files of the system itself may report 0 and hold more.
  std::uint64_t size() const { return size_; }

  /// The next bytes: fewer than `most` only at the end. Throws Unreadable.
  std::string read(std::uint64_t most);

 private:
  std::filesystem::path path_;
  int descriptor_;
  std::uint64_t size_ = 0, done_ = 0;
};

/// The entries of a folder, sorted by name; empty if there is no such folder. Throws Unreadable.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// The whole file. Throws Unreadable; if the size alone exceeds `most`, it reads nothing.
std::string read_file(const std::filesystem::path& path, std::uint64_t most);

}  // namespace pandora
