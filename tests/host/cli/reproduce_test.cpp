// `pandora reproduce` leaves whole files or none, whatever ends it.
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/host/cli/cli_words.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::kResultFiles;
using test::names_in;
using test::tiny;
using test::Words;
using testing::HasSubstr;
using CliReproduce = test::ProgramTest;

TEST_F(CliReproduce, WritesEveryFileAndNothingElse) {
  const test::ProgramResult result = run(tiny({"--out", "results_here"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("Online plug-in, known"));
  EXPECT_EQ(names_in(work()), std::vector<std::string>{"results_here"});
  EXPECT_EQ(names_in(work() / "results_here"), kResultFiles);
  const std::string summary = test::read_file(work() / "results_here" / "summary.csv");
  // The oracle has 2 rows, the plug-in 2 x 2, and FrugalGPT 1, because it does not run at T_0 = 0.
  EXPECT_EQ(std::count(summary.begin(), summary.end(), '\n'), 1 + 2 + 4 + 1);
  EXPECT_THAT(summary, testing::StartsWith("regime,environment,T0,policy,reward,c_rho,c_theta,c_b,"));

  const auto manifest = nlohmann::json::parse(test::read_file(work() / "results_here" / "manifest.json"));
  EXPECT_EQ(manifest["half_widths"], "95%, Student's t");
  for (const char* line : {"periods = 50\n", "replications = 2\n", "samples = 2000\n", "T0 = [0, 5]\n", "seed = 1\n",
                           "refit = \"geometric:1.5\"\n", "environments = [\"uniform\"]\n"})
    EXPECT_THAT(manifest["study_toml"].get<std::string>(), HasSubstr(line));
  EXPECT_EQ(manifest["sessions"][0]["backend"], "cpu");
  EXPECT_THAT(manifest["sessions"][0]["command"].get<std::string>(), HasSubstr("reproduce --environment uniform"));
}

// With seven boxes and all policies, FrugalGPT is left out. Nobody named it, so there is no message.
TEST_F(CliReproduce, MoreBoxesThanFrugalGptSearchesWhole) {
  const test::ProgramResult result =
      run(words_of("reproduce --plan --set dimensions.boxes=7 --periods 50 --samples 1000 --regime A --t0 5"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(run(words_of("policies")).out, HasSubstr("at most 5 boxes for A = 6"));
  output(tiny({"--set", "dimensions.boxes=7", "--out", "seven"}));
  EXPECT_THAT(test::read_file(work() / "seven" / "summary.csv"), HasSubstr("frugalgpt"));
}

TEST_F(CliReproduce, SameSeedGivesTheSameBytesForAnyThreads) {
  ASSERT_EQ(run(tiny({"--out", "one", "--threads", "1"})).exit_code, 0);
  ASSERT_EQ(run(tiny({"--out", "two", "--threads", "2"})).exit_code, 0);
  ASSERT_EQ(run(tiny({"--out", "other", "--seed", "2"})).exit_code, 0);
  for (const char* name : {"summary.csv", "oracle.csv", "oracle_order.csv"})
    EXPECT_EQ(test::read_file(work() / "one" / name), test::read_file(work() / "two" / name)) << name;
  EXPECT_NE(test::read_file(work() / "one" / "summary.csv"), test::read_file(work() / "other" / "summary.csv"));
}

TEST_F(CliReproduce, NumbersItsFoldersAndNamesTheBackend) {
  Words loud = tiny();
  loud.pop_back();  // without --quiet
  const test::ProgramResult result = run(loud);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(names_in(work() / "results"), std::vector<std::string>{"001"});
  EXPECT_EQ(names_in(work() / "results" / "001"), kResultFiles);
  const std::string first_line = result.out.substr(0, result.out.find('\n'));
  EXPECT_THAT(first_line, HasSubstr("backend cpu"));
  EXPECT_THAT(first_line, HasSubstr("results/001"));
  EXPECT_THAT(result.err, HasSubstr("100%"));  // the progress bar
}

TEST_F(CliReproduce, WritesTheFilesOfTheTableThatIsAskedFor) {
  output(words_of("reproduce --table 3 --environment uniform --samples 2000 --replications 1 --quiet --out order"));
  EXPECT_EQ(names_in(work() / "order"),
            (std::vector<std::string>{"checksums.sha256", "manifest.json", "oracle_order.csv", "parts", "results.h5",
                                      "study.toml"}));
  ASSERT_EQ(run(tiny({"--table", "1", "--out", "regret"})).exit_code, 0);
  std::vector<std::string> files = kResultFiles;
  std::erase(files, "oracle_order.csv");
  EXPECT_EQ(names_in(work() / "regret"), files);
}

TEST_F(CliReproduce, ForceReplacesResultsAndKeepsWhatIsNotItsOwn) {
  fs::create_directory(work() / "full");
  std::ofstream(work() / "full" / "notes.txt") << "mine";
  std::ofstream(work() / "full" / "summary.csv") << "old";
  expect_refusal(tiny({"--out", "full"}), 2, {"--out full", "not empty", "--force"});
  EXPECT_EQ(test::read_file(work() / "full" / "summary.csv"), "old");
  ASSERT_EQ(run(tiny({"--out", "full", "--force"})).exit_code, 0);
  EXPECT_EQ(test::read_file(work() / "full" / "notes.txt"), "mine");
  EXPECT_THAT(test::read_file(work() / "full" / "summary.csv"), testing::StartsWith("regime,"));
}

// No file may be half-written under any name. Each file is absent, or is the same as in a run on a disk with room.
void expect_whole_files(const fs::path& folder, const fs::path& reference) {
  for (const std::string& name : names_in(folder)) {
    ASSERT_TRUE(fs::exists(reference / name)) << name;
    if (fs::is_directory(folder / name)) {
      expect_whole_files(folder / name, reference / name);
      continue;
    }
    if (name == "manifest.json") continue;  // it has times
    EXPECT_EQ(test::read_file(folder / name), test::read_file(reference / name)) << name;
  }
}

// A limit on file sizes stops a write half way, like a full disk. Standard output goes to a file too, which is smaller.
TEST_F(CliReproduce, FullDiskGivesCode6AndNoHalfFile) {
  ASSERT_EQ(run(tiny({"--out", "reference"})).exit_code, 0);
  const auto size = fs::file_size(work() / "reference" / "summary.csv");
  ASSERT_GT(size, 300u);
  const test::ProgramResult result = run(tiny({"--out", "small"}), size - 100);
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_EQ(result.error_lines(), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("small/"));
  expect_whole_files(work() / "small", work() / "reference");
}

TEST_F(CliReproduce, FullFileSystemGivesCode6AndNoHalfFile) {
  ASSERT_EQ(run(tiny({"--out", "reference"})).exit_code, 0);
  const fs::path disk = base_ / "disk";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=4k") != 0)
    GTEST_SKIP() << "cannot mount a small file system here: " << std::strerror(errno);
  const test::ProgramResult result = run(tiny({"--out", (disk / "results").string()}));
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_EQ(result.error_lines(), 1) << result.err;
  if (fs::exists(disk / "results")) expect_whole_files(disk / "results", work() / "reference");
  ::umount(disk.c_str());
}

// Finished parts stay, and tests/host/studies/run/resume_test.cpp resumes such a run. Tables do not appear.
TEST_F(CliReproduce, InterruptGivesCode130AndNoTable) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string folder = signal == SIGINT ? "int" : "term";
    const pid_t child = start(words_of(
        "reproduce --environment uniform --regime A --periods 1000 --samples 2000 --replications 500 --t0 0 --policy "
        "online_plugin --threads 1 --out " +
        folder));
    while (test::read_file(base_ / "out").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(child, signal);
    const test::ProgramResult result = wait_for(child);
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_THAT(result.err, HasSubstr("interrupted"));
    EXPECT_FALSE(fs::exists(work() / folder / "summary.csv"));
  }
}

// A command line that is no UTF-8 does not cost a run its results.
TEST_F(CliReproduce, FolderNamesNeedNotBeUtf8) {
  output(tiny({"--out", "caf\xe9"}));
  EXPECT_EQ(names_in(work() / "caf\xe9"), kResultFiles);
}

}  // namespace
}  // namespace pandora
