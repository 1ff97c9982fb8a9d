// Tests that need a directory of their own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace pandora::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// The names of the files and folders in a folder, sorted.
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A test with a fresh directory.
class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (parent() / "pandora_test_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  /// The folder in which the directory is made.
  virtual std::filesystem::path parent() const { return std::filesystem::temp_directory_path(); }

  /// A folder for tests of many runs, which would wait for a disk three quarters of their time. It is on a file system
  /// in memory, unless TMPDIR names a folder or memory is short. Programs and device files may not work there.
  static std::filesystem::path in_memory() {
    const char* const folder = "/dev/shm";
    std::error_code error;
    const bool room = std::filesystem::space(folder, error).available > (std::uintmax_t{1} << 29);
    const bool fits = !error && room && ::getenv("TMPDIR") == nullptr && ::access(folder, W_OK) == 0;
    return fits ? folder : std::filesystem::temp_directory_path();
  }

  std::filesystem::path base_;
};

}  // namespace pandora::test
