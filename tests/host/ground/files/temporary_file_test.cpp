// Temporary names cannot be foreseen and follow no link. Temporary files that are left behind are recognised.
#include "host/ground/files/temporary_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/ground/files/output_folder.hpp"
#include "tests/host/expect_error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using testing::Optional;

TEST(TemporaryNames, AreTheProgramsOwn) {
  EXPECT_THAT(target_of_temporary("a.csv.tmp.123.0123456789abcdef"), Optional(std::string("a.csv")));
  EXPECT_THAT(target_of_temporary("a.tmp.1.tmp.123.0123456789abcdef"), Optional(std::string("a.tmp.1")));
  EXPECT_THAT(target_of_temporary(".probe.123.0123456789abcdef"), Optional(std::string()));
  EXPECT_THAT(target_of_temporary("a.csv.tmp.123"), Optional(std::string("a.csv")));  // from earlier versions
  EXPECT_THAT(target_of_temporary(".probe.123"), Optional(std::string()));
  for (const char* name : {"", "a.csv", "a.tmp", "a.tmp.", "a.tmp.x", "a.tmp.12.0123456789abcde", ".tmp.12",
                           "a.tmp.12.0123456789ABCDEF", "a.tmp.12.", "a.probe.12", ".probe.", "a.tmp.12.13"})
    EXPECT_EQ(target_of_temporary(name), std::nullopt) << name;
}

class TemporaryFileTest : public test::FolderTest {
 protected:
  std::vector<std::string> names() const { return test::names_in(base_); }
  void age(const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  }
};

TEST_F(TemporaryFileTest, HaveAnotherNameEachTimeAndGoWhereNothingBecomesOfThem) {
  {
    const TemporaryFile a(base_, "x"), b(base_, "x");
    EXPECT_EQ(a.error() + b.error(), 0);
    EXPECT_EQ(names().size(), 2u);
    for (const std::string& name : names()) EXPECT_THAT(target_of_temporary(name), Optional(std::string("x")));
  }
  EXPECT_TRUE(names().empty());
  TemporaryFile file(base_, "x");
  EXPECT_TRUE(file.write("text") && file.become_target());
  EXPECT_EQ(names(), std::vector<std::string>{"x"});
  EXPECT_EQ(test::read_file(base_ / "x"), "text");
  EXPECT_NE(TemporaryFile(base_ / "none", "x").error(), 0);
}

TEST_F(TemporaryFileTest, LeftoversGoWhenNobodyHoldsThem) {
  const TemporaryFile held(base_, "a");
  const std::string kept = names().at(0);
  age(base_ / kept);
  const std::string old = "a.tmp.1.0123456789abcdef", young = "a.tmp.2.0123456789abcdef",
                    other = "b.tmp.1.0123456789abcdef";
  for (const std::string& name : {old, young, other}) std::ofstream(base_ / name) << "x";
  for (const std::string& name : {old, other}) age(base_ / name);
  fs::create_symlink(base_ / other, base_ / "a.tmp.3.0123456789abcdef");
  const auto own = [](const std::string& target) { return target == "a"; };
  remove_leftovers(base_, Others::may_write, own);
  EXPECT_THAT(names(), testing::UnorderedElementsAre(kept, young, other, "a.tmp.3.0123456789abcdef"));
  remove_leftovers(base_, Others::none, own);
  EXPECT_THAT(names(), testing::UnorderedElementsAre(other, "a.tmp.3.0123456789abcdef"));
}

TEST_F(TemporaryFileTest, NoPlantedLinkIsFollowed) {
  std::ofstream(base_ / "victim") << "mine";
  fs::create_symlink("victim", base_ / ("table.csv.tmp." + std::to_string(::getpid())));
  write_file(base_ / "table.csv", "new");
  EXPECT_EQ(test::read_file(base_ / "victim"), "mine");
  EXPECT_EQ(test::read_file(base_ / "table.csv"), "new");
}

TEST_F(TemporaryFileTest, OnlyRegularFilesAreReplaced) {
  std::ofstream(base_ / "mine") << "mine";
  fs::create_symlink("mine", base_ / "link");
  fs::create_directory(base_ / "folder");
  ASSERT_EQ(::mkfifo((base_ / "pipe").c_str(), 0600), 0);
  for (const char* name : {"link", "folder", "pipe"})
    test::expect_error(ExitCode::usage, name, [&] { write_file(base_ / name, "new"); });
  EXPECT_EQ(test::read_file(base_ / "mine"), "mine");
  EXPECT_TRUE(fs::is_symlink(base_ / "link"));
  EXPECT_TRUE(fs::is_fifo(base_ / "pipe"));
}

}  // namespace
}  // namespace pandora
