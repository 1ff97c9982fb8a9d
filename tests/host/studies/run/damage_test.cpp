// Damaged files and full disks: faults are named and repaired, and whole files stay.
#include <sys/mount.h>

#include <cerrno>
#include <cstring>

#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::Words;
using testing::HasSubstr;
using RunStudyDamage = test::ManyRunsTest;

TEST_F(RunStudyDamage, IsFoundNamedAndMendedInEveryKindOfFile) {
  Words few =
      joined(test::kFewSolves, {"--environment", "uniform", "--replications", "2"});  // 4 parts, in both regimes
  Words resuming = joined(few, {"--resume"});
  run_reference(few);
  const fs::path folder = work() / "reference";
  const auto wanted = files(folder);
  std::vector<std::string> names = {"manifest.json"};
  for (const auto& [name, bytes] : wanted)
    if (!name.ends_with("00000.part")) names.push_back(name);  // one part of each regime is enough
  ASSERT_EQ(names.size(), 14u);
  for (const std::string& name : names) {
    const std::string bytes = test::read_file(folder / name);
    ASSERT_GT(bytes.size(), 20u) << name;
    std::string flipped = bytes;
    flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
    for (const std::string& damaged : {bytes.substr(0, bytes.size() - 1), bytes.substr(0, bytes.size() / 3),
                                       std::string(), flipped, bytes + "\n0"}) {
      std::ofstream(folder / name, std::ios::binary) << damaged;
      const test::ProgramResult result = run(words("reference", resuming));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_THAT(result.err, HasSubstr("reference/" + name)) << "of " << damaged.size();
      EXPECT_EQ(result.error_lines(), 1) << result.err;
      EXPECT_TRUE(files(folder) == wanted) << name;
      EXPECT_EQ(manifest("reference")["sessions"].back()["damaged"].size(), 1u);
    }
  }
}

TEST_F(RunStudyDamage, APartInAnothersPlaceIsNotTrusted) {
  run_reference();
  const auto wanted = files(work() / "reference");
  const fs::path parts = work() / "reference" / "parts";
  fs::copy_file(parts / "000-uniform-A-00000.part", parts / "000-uniform-A-00001.part",
                fs::copy_options::overwrite_existing);
  const test::ProgramResult result = run(words("reference", {"--resume"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("000-uniform-A-00001.part: holds another part"));
  EXPECT_TRUE(files(work() / "reference") == wanted);
}

TEST_F(RunStudyDamage, AFullDiskLosesNothingThatWasComplete) {
  run_reference();
  const fs::path disk = base_ / "disk";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "cannot mount a small file system here: " << std::strerror(errno);
  const std::string folder = (disk / "results").string();
  const test::ProgramResult full = run(words(folder));
  EXPECT_EQ(full.exit_code, 6) << full.err;
  EXPECT_EQ(full.error_lines(), 1) << full.err;
  const auto wanted = files(work() / "reference");
  std::size_t complete = 0;
  for (const auto& [name, bytes] : files(folder)) {
    EXPECT_TRUE(wanted.count(name) && wanted.at(name) == bytes) << name;  // whole or absent
    complete += name.ends_with(".part") ? 1 : 0;
  }
  EXPECT_GT(complete, 0u);
  EXPECT_LT(complete, 16u);
  const test::ProgramResult still = run(words(folder, {"--resume"}));
  EXPECT_EQ(still.exit_code, 6) << still.err;
  ASSERT_EQ(::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0) << std::strerror(errno);
  const test::ProgramResult result = run(words(folder, {"--resume"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  expect_same(folder, work() / "reference");
  ::umount(disk.c_str());
}

}  // namespace
}  // namespace pandora
