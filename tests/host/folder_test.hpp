// Tests that need a directory of their own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace pandora::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
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

  /// Where the directory is made.
  virtual std::filesystem::path parent() const { return std::filesystem::temp_directory_path(); }

  /// For tests of many runs, which on a disk wait for it three quarters of their time: a file system in memory, unless
  /// TMPDIR says where, or it has little room. Programs may not run there, nor device files work.
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
