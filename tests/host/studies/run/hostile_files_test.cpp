// Pipes, devices, sparse files, unreadable files and leftovers in the places of the program's files; closed or full
// streams; signals and limits.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "host/ground/files/temporary_file.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using test::ProgramResult;
using test::Words;

const std::string kStudyOfTwoRegimes = test::kTinyStudy + "periods = 20\noracle.order_contexts = 5\n";
constexpr const char* kPart = "000-uniform-A-00001.part";

class HostileFiles : public test::RunStudyTest {
 protected:
  void SetUp() override {
    RunStudyTest::SetUp();
    write("study.toml", kStudyOfTwoRegimes);
  }

  int shell(const std::string& command) {
    const int status = std::system(("cd '" + work().string() + "' && exec timeout 60 " + command).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string program() const { return std::string("'") + PANDORA_PROGRAM + "'"; }
};
using LostOutput = HostileFiles;
using Leftovers = HostileFiles;
using EndedMerge = HostileFiles;

TEST_F(HostileFiles, NegativeZeroIsReadBack) {
  for (const char* set : {"hyperparameters.c_rho=[-0.0]", "environment.uniform.u=-0.0"}) {
    fs::remove_all(work() / "v");
    fs::remove_all(work() / "m");
    const ProgramResult result = run(words("v", {"--policy", "dow", "--set", set}));
    if (result.exit_code == 2) continue;  // this value is refused, so nothing is written
    ASSERT_TRUE(fs::exists(work() / "v" / "manifest.json")) << result.err;
    EXPECT_EQ(run({"merge", "v", "--out", "m", "--quiet"}).exit_code, result.exit_code);
    EXPECT_EQ(run({"run", "v/study.toml", "--resume", "--out", "v", "--quiet"}).exit_code, result.exit_code);
  }
}

TEST_F(HostileFiles, ClosedDescriptorsDoNotBecomeResults) {
  run_reference();
  int folder = 0;
  for (const char* closed : {"<&- 2>&-", "2>&-", "<&-", "<&- >/dev/null 2>&-"}) {
    const std::string out = "v" + std::to_string(folder++);
    EXPECT_EQ(shell(program() + " run study.toml --threads 3 --out " + out + " " + closed), 0) << closed;
    expect_same(work() / out, work() / "reference");
  }
  EXPECT_EQ(shell(program() + " run nowhere.toml >/dev/null 2>&-"), 2);
  // With a closed output the text is lost, and nobody asked for that.
  EXPECT_EQ(shell(program() + " run study.toml --quiet --out w >&- <&- 2>&-"), 6);
  expect_same(work() / "w", work() / "reference");
}

TEST_F(LostOutput, IsNoSuccess) {
  run_reference();
  for (const char* command : {"run study.toml --out v", "run study.toml --quiet --out w", "merge reference --out m",
                              "--help", "--version", "run --help", "run --print-defaults", "policies", "devices",
                              "show reference", "run study.toml --plan", "lanes study.toml"}) {
    EXPECT_EQ(shell(program() + " " + command + " >/dev/full 2>err"), 6) << command;
    EXPECT_THAT(text("err"), testing::HasSubstr("standard output could not be written")) << command;
  }
  for (const char* folder : {"v", "w", "m"}) expect_same(work() / folder, work() / "reference");
}

TEST_F(HostileFiles, AWriterReplacesRegularFilesOnlyAndNoInput) {
  const auto refused = [this](const std::string& out) {
    expect_refusal({"oracle", "grid", "study.toml", "--force", "--out", out}, 2, {out});
  };
  ASSERT_EQ(::mkfifo((work() / "pipe").c_str(), 0600), 0);
  refused("pipe");
  EXPECT_TRUE(fs::is_fifo(work() / "pipe"));
  // The test makes its own device, because a faulty program would replace a device of the machine.
  if (::mknod((work() / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
    refused("device");
    EXPECT_TRUE(fs::is_character_file(work() / "device"));
  }
  refused("study.toml");
  fs::create_hard_link(work() / "study.toml", work() / "same.h5");
  refused("same.h5");
  fs::create_symlink("study.toml", work() / "link.h5");
  refused("link.h5");
  EXPECT_EQ(text("study.toml"), kStudyOfTwoRegimes);
  // The study has the name of a result file, which --force would remove.
  run_reference();
  fs::copy_file(work() / "study.toml", work() / "reference" / "summary.csv", fs::copy_options::overwrite_existing);
  expect_refusal({"run", "reference/summary.csv", "--out", "reference", "--force"}, 2, {"reference/summary.csv"});
  EXPECT_EQ(text("reference/summary.csv"), kStudyOfTwoRegimes);
}

TEST_F(HostileFiles, WhatCannotBeReadIsToldAndLeft) {
  expect_refusal({"run", "/proc/self/mem", "--out", "v"}, 2, {"/proc/self/mem: cannot be read (Input/output error)"});
  EXPECT_FALSE(fs::exists(work() / "v"));
  run_reference();
  for (const std::string& name :
       {std::string("manifest.json"), std::string("parts/") + kPart, std::string("curves.csv")}) {
    const fs::path file = work() / "reference" / name;
    const std::string bytes = test::read_file(file);
    fs::remove(file);
    fs::create_symlink("/proc/self/mem", file);
    const bool table = name == "curves.csv";  // a link in a file's place
    expect_refusal(words("reference", {"--resume"}), table ? 2 : 3, {name, table ? "link" : "Input/output error"});
    if (!table) expect_refusal({"merge", "reference", "--out", "m"}, 3, {name, "Input/output error"});
    EXPECT_TRUE(fs::is_symlink(file));
    fs::remove(file);
    std::ofstream(file, std::ios::binary) << bytes;
    EXPECT_EQ(run(words("reference", {"--resume"})).exit_code, 0) << test::read_file(base_ / "err");
  }
}

TEST_F(HostileFiles, HugeFilesAreDamageAndTakeNoMemory) {
  run_reference();
  ASSERT_EQ(run({"oracle", "grid", "study.toml", "--cache", "cache"}).exit_code, 0);
  std::vector<fs::path> victims = {work() / "reference" / "parts" / kPart, work() / "reference" / "manifest.json",
                                   work() / "reference" / "results.h5"};
  for (const auto& entry : fs::directory_iterator(work() / "cache")) victims.push_back(entry.path());
  const std::string resume = program() + " run study.toml --quiet --resume --out reference >out 2>err";
  for (const fs::path& victim : victims) {
    const std::uintmax_t before = fs::file_size(victim);
    fs::resize_file(victim, std::uintmax_t{300} << 30);
    const bool cache = victim.parent_path() == work() / "cache";
    EXPECT_EQ(shell(cache ? program() + " oracle grid study.toml --cache cache >out 2>err" : resume), 0) << text("err");
    EXPECT_THAT(text("err"), testing::HasSubstr(victim.filename().string()));
    EXPECT_LT(fs::file_size(victim), 2 * before + 1000);
  }
  // A forged header names the right size.
  const fs::path part = work() / "reference" / "parts" / kPart;
  const std::uintmax_t size = std::uintmax_t{300} << 30;
  const std::string digest(64, '0');
  std::string header;
  for (int i = 0; i < 3; ++i)
    header = "pandora part 1 sha256 " + digest + " " + std::to_string(size - header.size()) + "\n";
  std::ofstream(part) << header;
  fs::resize_file(part, size);
  EXPECT_EQ(shell(resume), 0);
  EXPECT_THAT(text("err"), testing::HasSubstr(kPart));
}

TEST_F(HostileFiles, NobodyWaitsForAPipe) {
  run_reference();
  for (const std::string& name : {std::string("study.toml"), std::string("manifest.json"),
                                  std::string("parts/") + kPart, std::string("summary.csv")}) {
    const fs::path file = work() / "reference" / name;
    const std::string bytes = test::read_file(file);
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    for (const char* command :
         {"run study.toml --quiet --resume --out reference", "show reference", "merge reference --out m --force"}) {
      const int code = shell(program() + " " + command + " >out 2>err");
      const bool unread = name == "summary.csv" && !std::string(command).starts_with("run");
      EXPECT_THAT(code, unread ? testing::AnyOf(0, 0) : testing::AnyOf(2, 3)) << name << " " << command;
      EXPECT_THAT(text("err"), testing::HasSubstr(unread ? "" : name));
    }
    EXPECT_TRUE(fs::is_fifo(file));
    fs::remove(file);
    std::ofstream(file, std::ios::binary) << bytes;
  }
  ASSERT_EQ(::mkfifo((work() / "pipe.toml").c_str(), 0600), 0);
  expect_refusal({"run", "pipe.toml", "--out", "p"}, 2, {"pipe.toml", "pipe"});
}

TEST_F(Leftovers, OfTheProgramAreRemoved) {
  run_reference();
  const std::string digits = ".77.0123456789abcdef";
  // A file of a process that was killed while it tested whether it can write.
  fs::create_directory(work() / "v");
  std::ofstream(work() / "v" / (".probe" + digits)) << "";
  expect_reference("v", {"--resume"});
  // Files of a process that was killed before any file was complete.
  fs::create_directories(work() / "u" / "parts");
  std::ofstream(work() / "u" / "parts" / (kPart + std::string(".tmp") + digits)) << "half";
  std::ofstream(work() / "u" / ("manifest.json.tmp" + digits)) << "half";
  expect_reference("u", {"--resume"});
  // Files of a process that was killed later.
  for (const std::string& name : {std::string("results.h5"), std::string("summary.csv"), std::string("parts/") + kPart})
    std::ofstream(work() / "v" / (name + ".tmp" + digits)) << "half";
  std::ofstream(work() / "v" / (".probe" + digits)) << "";
  expect_reference("v", {"--resume"});
  // Files that are not the program's stay.
  std::ofstream(work() / "v" / "notes.txt.tmp.1") << "mine";
  EXPECT_EQ(run(words("v", {"--resume"})).exit_code, 0);
  EXPECT_EQ(text("v/notes.txt.tmp.1"), "mine");
}

TEST_F(EndedMerge, IsRepeated) {
  run_reference();
  ASSERT_EQ(run(words("a", {"--shard", "0/2"})).exit_code, 0);
  ASSERT_EQ(run(words("b", {"--shard", "1/2"})).exit_code, 0);
  const Words merge = {"merge", "a", "b", "--quiet", "--out", "m"};
  int interrupted = 0;
  for (int i = 0; i < 30; ++i) {
    fs::remove_all(work() / "m");
    const int signal = i % 3 == 0 ? SIGKILL : i % 3 == 1 ? SIGTERM : SIGINT;
    const pid_t child = start(merge);
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * i));
    ::kill(child, signal);
    const ProgramResult first = wait_for(child);
    if (first.exit_code == 130) {
      ++interrupted;
      EXPECT_EQ(first.error_lines(), 1) << first.err;
    }
    // The signal may come between the last file and the program's end. Then everything is there already.
    const bool whole = fs::exists(work() / "m" / "manifest.json") && manifest("m")["state"] == "complete";
    if (first.exit_code != 0 && !whole) {
      const ProgramResult again = run(merge);
      ASSERT_EQ(again.exit_code, 0) << again.err;
    }
    expect_same(work() / "m", work() / "reference");
    EXPECT_EQ(manifest("m")["state"], "complete");
    EXPECT_GE(manifest("m")["sessions"].size(), 3u);
    EXPECT_LE(manifest("m")["sessions"].size(), 4u);
  }
  EXPECT_EQ(run(merge).exit_code, 2);  // it is complete, so a second time is refused
  RecordProperty("interrupted", interrupted);
}

TEST_F(HostileFiles, ALimitOnFilesIsAFullDisk) {
  EXPECT_EQ(shell("sh -c \"ulimit -f 1; exec " + program() + " run study.toml --quiet --out v\" >/dev/null 2>err"), 6);
  EXPECT_THAT(text("err"), testing::HasSubstr("File too large"));
  run_reference();
  expect_reference("v", {"--resume"});
}

}  // namespace
}  // namespace pandora
