// Files are read whole, or refused with the reason. Reading never waits for another program, and never touches large
// files.
#include "host/ground/files/input_file.hpp"

#include <sys/stat.h>

#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using Why = Unreadable::Why;

class InputFileTest : public test::FolderTest {
 protected:
  void expect_refusal(const fs::path& path, Why why, const std::string& what, std::uint64_t most = 100) {
    try {
      (void)read_file(path, most);
      ADD_FAILURE() << path << " was read";
    } catch (const Unreadable& problem) {
      EXPECT_EQ(problem.why, why) << problem.what();
      EXPECT_EQ(problem.what(), "cannot be read (" + what + ")");
    }
  }
};

TEST_F(InputFileTest, IsReadWhole) {
  std::string text = "some\0bytes";
  for (int i = 0; i < 18; ++i) text += text;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}, text.size()}) {
    std::ofstream(base_ / "file", std::ios::binary) << text.substr(0, size);
    EXPECT_EQ(read_file(base_ / "file", size), text.substr(0, size));
    if (size > 0)
      expect_refusal(base_ / "file", Why::large,
                     "it is larger than " + (size > 1u << 20 ? std::to_string((size - 1 + (1u << 19)) >> 20) + " MiB"
                                                             : std::to_string(size - 1) + " bytes"),
                     size - 1);
  }
  InputFile file(base_ / "file");
  EXPECT_EQ(file.size(), text.size());
  EXPECT_EQ(file.read(3), text.substr(0, 3));
  EXPECT_EQ(file.read(5), text.substr(3, 5));
  EXPECT_EQ(file.read(1u << 30), text.substr(8));
  EXPECT_EQ(file.read(1), "");
  EXPECT_FALSE(read_file("/proc/self/stat", 1u << 20).empty());  // this file reports a size of 0
}

TEST_F(InputFileTest, IsRefusedWithTheReason) {
  expect_refusal(base_ / "none", Why::absent, "No such file or directory");
  expect_refusal(base_, Why::irregular, "it is a folder");
  ASSERT_EQ(::mkfifo((base_ / "pipe").c_str(), 0600), 0);  // nobody will ever write to it
  expect_refusal(base_ / "pipe", Why::irregular, "it is a pipe, a socket or a device");
  expect_refusal("/dev/zero", Why::irregular, "it is a pipe, a socket or a device");
  expect_refusal("/proc/self/mem", Why::failed, "Input/output error");
  std::ofstream(base_ / "sparse") << "x";
  fs::resize_file(base_ / "sparse", std::uintmax_t{300} << 30);
  expect_refusal(base_ / "sparse", Why::large, "it is larger than 100 bytes");
}

}  // namespace
}  // namespace pandora
