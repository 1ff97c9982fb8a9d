// Only one process at a time writes in a folder.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "host/ground/files/output_folder.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

using FolderLockTest = test::FolderTest;

TEST_F(FolderLockTest, ExcludesOthersUntilItIsGone) {
  {
    const std::optional<FolderLock> first = FolderLock::take(base_);
    ASSERT_TRUE(first);
    EXPECT_FALSE(FolderLock::take(base_));
  }
  EXPECT_TRUE(FolderLock::take(base_));
}

// A copy of a killed process shares its lock for a moment, until it closes its files.
TEST_F(FolderLockTest, OutlastsTheMomentsOfAKilledProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    const std::optional<FolderLock> lock = FolderLock::take(base_);
    if (::fork() == 0) ::usleep(20000);  // the copy lives a little longer
    ::_exit(lock ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(FolderLock::take(base_));
}

TEST_F(FolderLockTest, IsNothingWhereThereIsNoFolder) {
  EXPECT_TRUE(FolderLock::take(base_ / "absent"));
}

}  // namespace
}  // namespace pandora
