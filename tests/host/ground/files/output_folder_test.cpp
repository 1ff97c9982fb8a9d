// Folders that are accepted or refused, files that appear whole or not at all, and locks: only one process at a time
// writes in a folder.
#include "host/ground/files/output_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "tests/host/expect_error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::expect_error;

// A fresh working directory for each test.
class OutputFolder : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    before_ = fs::current_path();
    fs::current_path(base_);
  }
  void TearDown() override {
    fs::current_path(before_);
    FolderTest::TearDown();
  }
  fs::path before_;
};
using WriteFile = OutputFolder;

TEST_F(OutputFolder, NumbersFoldersFromOne) {
  for (const char* folder : {"results/001", "results/002"}) {
    EXPECT_EQ(claim_output_folder("", false), fs::path(folder));
    EXPECT_TRUE(fs::is_directory(folder));
  }
}

TEST_F(OutputFolder, TakesTheNextFreeNumber) {
  fs::create_directories("results/001");
  fs::create_directories("results/003");
  EXPECT_EQ(claim_output_folder("", false), fs::path("results/002"));
  EXPECT_EQ(claim_output_folder("", false), fs::path("results/004"));
}

TEST_F(OutputFolder, NeverGivesOneNumberTwice) {
  std::vector<fs::path> taken(16);
  std::vector<std::thread> threads;
  for (fs::path& path : taken) threads.emplace_back([&path] { path = claim_output_folder("", false); });
  for (std::thread& thread : threads) thread.join();
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(std::unique(taken.begin(), taken.end()), taken.end());
}

TEST_F(OutputFolder, RefusesNumberedFoldersWhereResultsIsAFile) {
  std::ofstream("results") << "mine";
  expect_error(ExitCode::usage, "--out", [] { claim_output_folder("", false); });
  EXPECT_EQ(test::read_file("results"), "mine");
}

TEST_F(OutputFolder, MakesNestedFoldersAndAcceptsEmptyOnes) {
  EXPECT_EQ(claim_output_folder("a/b/c", false), fs::path("a/b/c"));
  EXPECT_EQ(claim_output_folder("a/b/c", false), fs::path("a/b/c"));
  EXPECT_EQ(test::names_in("a/b/c").size(), 0u);  // the probe is gone
}

TEST_F(OutputFolder, RefusesAFolderWithContentsUnlessForced) {
  fs::create_directories("full");
  std::ofstream("full/old.csv") << "old";
  expect_error(ExitCode::usage, "--out full", [] { claim_output_folder("full", false); });
  EXPECT_EQ(claim_output_folder("full", true), fs::path("full"));
  EXPECT_EQ(test::read_file("full/old.csv"), "old");
  EXPECT_EQ(test::names_in("full").size(), 1u);
}

TEST_F(OutputFolder, RefusesAFile) {
  std::ofstream("file") << "mine";
  for (const bool force : {false, true}) {
    expect_error(ExitCode::usage, "--out file", [=] { claim_output_folder("file", force); });
    expect_error(ExitCode::usage, "--out file/below", [=] { claim_output_folder("file/below", force); });
  }
  EXPECT_EQ(test::read_file("file"), "mine");
}

// Nobody can make folders in /proc, not even root.
TEST_F(OutputFolder, RefusesWhatCannotBeWritten) {
  expect_error(ExitCode::usage, "--out /proc/pandora", [] { claim_output_folder("/proc/pandora", false); });
  expect_error(ExitCode::usage, "--out /proc/self", [] { claim_output_folder("/proc/self", true); });
  if (::geteuid() == 0) return;  // root may write despite permissions
  fs::create_directories("locked");
  fs::permissions("locked", fs::perms::owner_read | fs::perms::owner_exec);
  expect_error(ExitCode::usage, "--out locked", [] { claim_output_folder("locked", false); });
}

TEST_F(OutputFolder, ClaimsAFileThatIsNotThereOrMayBeReplacedAndIsNoInput) {
  std::ofstream("there") << "mine";
  fs::create_hard_link("there", "again");
  fs::create_directories("folder");
  claim_output_file("new", false, {"there", "", "absent"});
  claim_output_file("folder/new", false, {});
  claim_output_file("there", true, {"absent", ""});
  expect_error(ExitCode::usage, "--out there: is there already", [] { claim_output_file("there", false, {}); });
  for (const bool force : {false, true}) {
    for (const char* name : {"there", "./folder/../there", "again"})
      expect_error(ExitCode::usage, "is the input there itself; name another file", [=] {
        claim_output_file(name, force, {"absent", "there"});
      });
    expect_error(ExitCode::usage, "--out gone/new: cannot be written",
                 [=] { claim_output_file("gone/new", force, {}); });
    expect_error(ExitCode::usage, "there is a folder", [=] { claim_output_file("folder", force, {}); });
    expect_error(ExitCode::usage, "names no file", [=] { claim_output_file("", force, {}); });
  }
  EXPECT_EQ(test::read_file("there"), "mine");
  EXPECT_EQ(test::names_in(".").size(), 3u);
  EXPECT_EQ(test::names_in("folder").size(), 0u);
}

TEST_F(WriteFile, WritesAndReplaces) {
  const std::string first(100000, 'x'), second = "short\0with a zero";
  write_file("table.csv", first);
  EXPECT_EQ(test::read_file("table.csv"), first);
  write_file("table.csv", second);
  EXPECT_EQ(test::read_file("table.csv"), second);
  write_file("empty.csv", "");
  EXPECT_EQ(test::read_file("empty.csv"), "");
  EXPECT_EQ(test::names_in(".").size(), 2u);  // no temporary files
}

TEST_F(WriteFile, FailsInAFolderThatIsMissing) {
  expect_error(ExitCode::output_lost, "gone/table.csv", [] { write_file("gone/table.csv", "1"); });
  EXPECT_FALSE(fs::exists("gone"));
  EXPECT_EQ(test::names_in(".").size(), 0u);
}

TEST_F(WriteFile, LeavesAFolderOfThatNameAlone) {
  fs::create_directories("table.csv/inside");
  expect_error(ExitCode::usage, "table.csv", [] { write_file("table.csv", "1"); });
  EXPECT_TRUE(fs::is_directory("table.csv/inside"));
  EXPECT_EQ(test::names_in(".").size(), 1u);
}

// A limit on the size of files acts like a full disk: the write stops half way.
TEST_F(WriteFile, KeepsTheOldFileWhenTheDiskIsFull) {
  write_file("table.csv", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ExitCode::output_lost, "table.csv", [] { write_file("table.csv", std::string(20000, 'x')); });
  expect_error(ExitCode::output_lost, "new.csv", [] { write_file("new.csv", std::string(20000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(test::read_file("table.csv"), "old");
  EXPECT_EQ(test::names_in(".").size(), 1u);
}

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
