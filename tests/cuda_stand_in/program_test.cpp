// Whole programs on the device path, through the stand-in. They must write the same as the CPU path, and the same as a
// process that nothing disturbs. A failure must end with the promised exit code.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/host/studies/run/hdf5_dataset.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::Words;
using testing::HasSubstr;

class StandIn : public test::RunStudyTest {
 protected:
  void SetUp() override {
    RunStudyTest::SetUp();
    write("study.toml", study_of(3));
    set("STAND_IN_BLOCK", "32");
  }
  void TearDown() override {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
    RunStudyTest::TearDown();
  }

  static std::string study_of(int replications) {
    return test::small_study_text(replications, 100, R"("student_t5")", 16384);
  }

  // Makes a setting of the stand-in until the test ends. The program inherits it.
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  void unset(const std::string& name) { ::unsetenv(name.c_str()); }

  Words words(const std::string& folder, const Words& more = {}) const {
    Words all = {"run", "study.toml", "--quiet", "--backend", "cuda", "--out", folder};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void expect_done(const Words& arguments) {
    const test::ProgramResult result = run(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
  }

  // The paper's 24 cells, with a small sample and grid.
  void expect_paper_of_the_cpu(const std::string& replications, const std::string& periods) {
    const Words paper = {"reproduce", "--replications", replications, "--periods",  periods, "--samples",
                         "4000",      "--grid",         "9x5x9",      "--contexts", "50",    "--quiet"};
    for (const char* backend : {"cpu", "cuda"}) expect_done(joined(paper, {"--backend", backend, "--out", backend}));
    expect_same_tables("cuda", "cpu");
  }

  void expect_same_results(const std::string& folder, const std::string& reference) {
    EXPECT_GE(files(work() / reference).size(), 4u);
    expect_same(work() / folder, work() / reference);
  }
  // Compares the CSV files only, because all other files have the backend's name.
  void expect_same_tables(const std::string& folder, const std::string& reference) {
    const auto tables = [&](const std::string& name) {
      auto out = files(work() / name);
      std::erase_if(out, [](const auto& file) { return !file.first.ends_with(".csv"); });
      return out;
    };
    EXPECT_GE(tables(reference).size(), 4u);
    EXPECT_EQ(tables(folder), tables(reference));
  }

 private:
  std::vector<std::string> names_;
};

// A device's lanes make the decisions of the CPU's lanes, in cohorts (three boxes) and from stage to stage (nine).
TEST_F(StandIn, DecisionsAreThoseOfTheCpu) {
  for (const int boxes : {3, 9}) {
    const Words kept = {
        "--set",  "output.decisions=true", "--set", fmt::format("dimensions.boxes={}", boxes), "--replications", "2",
        "--force"};
    expect_done(words("device", kept));
    expect_done(joined({"run", "study.toml", "--quiet", "--backend", "cpu", "--out", "host"}, kept));
    for (const auto& entry : fs::directory_iterator(work() / "host/decisions"))
      for (const char* name : {"/order", "/reward", "/cost"}) {
        std::vector<hsize_t> shape, of_host;
        const fs::path own = work() / "device/decisions" / entry.path().filename();
        EXPECT_EQ(test::dataset(own, name, shape), test::dataset(entry.path(), name, of_host)) << own << name;
        EXPECT_EQ(shape, of_host);
      }
  }
}

// Wider actions are played from stage to stage, and so are lanes with tied slopes.
TEST_F(StandIn, WiderActionsAreThoseOfTheCpu) {
  const Words wider = {"--set",          "output.decisions=true",
                       "--set",          "actions.openings=2",
                       "--set",          "actions.outside=0.45",
                       "--set",          "actions.uninspected=true",
                       "--policy",       "dow,shrunk_weitzman,linucb_router,random_order",
                       "--replications", "2"};
  expect_done(words("device", wider));
  expect_done(joined({"run", "study.toml", "--quiet", "--backend", "cpu", "--out", "host"}, wider));
  expect_same_tables("device", "host");
  for (const auto& entry : fs::directory_iterator(work() / "host/decisions")) {
    std::vector<hsize_t> shape;
    const fs::path own = work() / "device/decisions" / entry.path().filename();
    EXPECT_EQ(test::dataset(own, "/order", shape), test::dataset(entry.path(), "/order", shape)) << own;
  }
  const Words ties = {"--set", "model.ties=[[1,3],[2]]", "--policy", "dow,tied_weitzman", "--replications", "2"};
  expect_done(words("tied", ties));
  expect_done(joined({"run", "study.toml", "--quiet", "--backend", "cpu", "--out", "tied-host"}, ties));
  expect_same_tables("tied", "tied-host");
}

// Lanes on a table of outcomes run on the device, while the table's prompts are prepared on the CPU.
TEST_F(StandIn, ATableOfOutcomesGivesWhatTheCpuGives) {
  expect_done({"trace", "export", "study.toml", "--regime", "B", "--out", "table.jsonl"});
  write("table.toml", R"(environments = ["exported"]
replications = 2
periods = 100
T0 = [0, 7]
policies = ["online_plugin", "dow", "shrunk_weitzman", "linucb_online", "hindsight"]
[hyperparameters]
c_rho = [0.1]
c_theta = [0.1]
c_b = [0.1]
[environment.exported]
table = "table.jsonl"
part = "part"
context = ["raw:x"]
evaluator = "column:phi"
price = 1
)");
  expect_done({"run", "table.toml", "--quiet", "--backend", "cuda", "--out", "device"});
  expect_done({"run", "table.toml", "--quiet", "--backend", "cpu", "--out", "cpu"});
  expect_same_tables("device", "cpu");
  // With several openings the further openings are further answers to a prompt.
  expect_done({"trace", "export", "study.toml", "--regime", "B", "--set", "actions.openings=2", "--out", "table.jsonl",
               "--force"});
  const Words again = {"--set",    "environment.exported.repeats=true",
                       "--set",    "actions.openings=2",
                       "--set",    "actions.outside=0.45",
                       "--policy", "dow,linucb_online,random_order,best_of_n,hindsight"};
  expect_done(joined({"run", "table.toml", "--quiet", "--backend", "cuda", "--out", "device-again"}, again));
  expect_done(joined({"run", "table.toml", "--quiet", "--backend", "cpu", "--out", "cpu-again"}, again));
  expect_same_tables("device-again", "cpu-again");
}

TEST_F(StandIn, FiniteLawsGiveWhatTheCpuGives) {
  write("laws.toml",
        "[[box]]\ncost = 0.1\nvalues = [0.0, 1.0]\nprobabilities = [0.3, 0.7]\n"
        "[[box]]\ncost = 0.05\nvalues = [0.2, 0.8]\nprobabilities = [0.5, 0.5]\n");
  write("game.toml", R"(environments = ["game"]
replications = 2
periods = 100
T0 = [0, 7]
policies = ["dow", "shrunk_weitzman", "commit_or_search"]
hyperparameters.c_rho = [0.1]
hyperparameters.c_theta = [0.1]
actions = { openings = 2, uninspected = true, outside = 0.6 }
[environment.game]
laws = "laws.toml"
)");
  expect_done({"run", "game.toml", "--quiet", "--backend", "cuda", "--out", "device"});
  expect_done({"run", "game.toml", "--quiet", "--backend", "cpu", "--out", "cpu"});
  expect_same_tables("device", "cpu");
}

TEST_F(StandIn, ThePaperInShortGivesTheTablesOfTheCpu) {
  expect_paper_of_the_cpu("1", "64");
}

class StandInSlow : public StandIn {};

TEST_F(StandInSlow, ThePapersCellsGiveTheTablesOfTheCpu) {
  expect_paper_of_the_cpu("2", "500");
}

TEST_F(StandIn, DevicesAndOrderChangeNoByte) {
  expect_done(words("one", {"--devices", "0", "--threads", "1"}));
  EXPECT_EQ(manifest("one")["sessions"][0]["backend"], "cuda");
  set("STAND_IN_ORDER", "random");
  set("STAND_IN_SEED", "5");
  expect_done(words("two", {"--threads", "4"}));
  expect_same_results("two", "one");
  set("STAND_IN_ORDER", "eager");
  expect_done(words("second", {"--devices", "1"}));
  expect_same_results("second", "one");
}

// First there is memory for the lanes of some replications but not of all, then for those of none.
TEST_F(StandIn, HalvedChunksChangeNoByte) {
  const Words many = {"--devices",      "0",   "--threads", "1",
                      "--regime",       "A",   "--periods", "16",
                      "--replications", "12",  "--set",     "hyperparameters.c_rho=[0.1, 0.2, 0.5, 1]",
                      "--policy",       "dow", "--set",     "dimensions.context=50"};
  expect_done(words("whole", many));
  set("STAND_IN_TALK", "1");
  set("STAND_IN_MEMORY_MIB", "24");
  const test::ProgramResult halved = run(words("halved", many));
  EXPECT_EQ(halved.exit_code, 0);
  EXPECT_THAT(halved.err, testing::Not(HasSubstr(" 0 allocations refused")));
  expect_same_results("halved", "whole");
  unset("STAND_IN_TALK");
  set("STAND_IN_MEMORY_MIB", "10");  // enough to prepare a replication, but not to run its lanes
  Words large = many;
  large.back() = "dimensions.context=150";
  const test::ProgramResult none = run(words("none", large));
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.err, HasSubstr("device 0: one replication needs "));
}

TEST_F(StandIn, ResumeShardsAndMergeGiveTheBytesOfOneProcess) {
  expect_done(words("reference"));
  for (const char* i : {"0", "1"}) expect_done(words(std::string("shard") + i, {"--shard", std::string(i) + "/2"}));
  expect_done({"merge", "shard0", "shard1", "--quiet", "--out", "merged"});
  expect_same_results("merged", "reference");
  // A shard is an unfinished run, so the rest of the work can be done in its folder.
  fs::copy(work() / "shard0", work() / "resumed", fs::copy_options::recursive);
  expect_done(words("resumed", {"--resume"}));
  expect_same_results("resumed", "reference");
  EXPECT_EQ(manifest("resumed")["sessions"][1]["parts_computed"], 3);
  expect_done(words("resumed", {"--resume"}));
  EXPECT_EQ(manifest("resumed")["sessions"][2]["parts_computed"], 0);
  // The CPU cannot go on with a device's work: both its backend and its fingerprint differ.
  Words other = words("resumed", {"--resume"});
  other[4] = "cpu";
  const test::ProgramResult refused = run(other);
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_THAT(refused.err, HasSubstr("numerics.backend is cuda there and cpu here"));
  Words cpu = words("cpu");
  cpu[4] = "cpu";
  expect_done(cpu);
  EXPECT_NE(manifest("cpu")["identity"]["numerics.fingerprint"],
            manifest("reference")["identity"]["numerics.fingerprint"]);
}

// The running chunk is finished and kept, because throwing it away would waste more time.
TEST_F(StandIn, ASignalLetsTheRunningChunkFinish) {
  write("study.toml", study_of(2) + "[vary]\nestimation.refit = [\"geometric:1.5\", \"tracking\"]\n");
  expect_done(words("reference"));
  int interrupted = 0;
  for (const int moment : {0, 1}) {
    const std::string folder = "ended" + std::to_string(moment);
    const pid_t child = start(words(folder, {"--devices", "0"}));
    const auto parts = [&] {
      std::error_code error;
      return std::distance(fs::directory_iterator(work() / folder / "parts", error), fs::directory_iterator{});
    };
    for (int i = 0; i < 6000 && !(fs::exists(work() / folder / "manifest.json") && parts() >= moment); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(child, moment % 2 == 0 ? SIGTERM : SIGINT);
    const test::ProgramResult ended = wait_for(child);
    ASSERT_TRUE(ended.exit_code == 130 || ended.exit_code == 0) << ended.exit_code << ended.err;
    if (ended.exit_code == 130) {
      ++interrupted;
      EXPECT_EQ(manifest(folder)["state"], "interrupted");
      EXPECT_THAT(ended.err, HasSubstr("--resume"));
    }
    expect_done(words(folder, {"--resume"}));
    expect_same_results(folder, "reference");
  }
  EXPECT_GT(interrupted, 0);
}

TEST_F(StandIn, AKilledRunIsResumed) {
  expect_done(words("reference"));
  const pid_t child = start(words("killed", {"--devices", "0"}));
  for (int i = 0; i < 6000 && !fs::exists(work() / "killed" / "manifest.json"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(child, SIGKILL);
  EXPECT_EQ(wait_for(child).exit_code, -1);
  expect_done(words("killed", {"--resume"}));
  expect_same_results("killed", "reference");
}

TEST_F(StandIn, ALaneThatFailsEndsAlone) {
  expect_done(words("sound", {"--set", "hyperparameters.c_rho=[0.1]"}));
  const test::ProgramResult result = run(words("out", {"--set", "hyperparameters.c_rho=[0.1, 1e300]"}));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("c_rho=1e+300 failed in period 1: a number is not finite\n"));
  const std::string summary = test::read_file(work() / "out" / "summary.csv");
  std::istringstream rows(test::read_file(work() / "sound" / "summary.csv"));
  for (std::string line; std::getline(rows, line);) EXPECT_THAT(summary, HasSubstr(line + "\n"));
}

// Any failing call of CUDA ends the run with code 4 and a line with the reason. Nothing hangs, and nothing is lost.
TEST_F(StandIn, WhatGoesWrongOnADeviceEndsWithCode4) {
  const Words little = {"--set", "replications=1", "--set", "periods=40", "--threads", "1"};
  for (const char* fail :
       {"memory:1+", "memory:4", "launch:1", "launch:60", "fault:70", "lost:200", "lost:2", "stream:1", "stream:3",
        "cublas:1", "product:3", "copy:50", "count:1", "driver:1", "context:1+"}) {
    set("STAND_IN_FAIL", fail);
    Words all = little;
    if (std::string(fail) == "cublas:1" || std::string(fail) == "product:3")  // only large matrices go to cuBLAS
      all.insert(all.end(), {"--set", "dimensions.context=180"});
    const test::ProgramResult result = run(words("failing", all));
    SCOPED_TRACE(fail);
    EXPECT_EQ(result.exit_code, 4) << result.err;
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_THAT(result.err, testing::ContainsRegex("CUDA|cuBLAS|device|driver"));
    fs::remove_all(work() / "failing");
  }
  unset("STAND_IN_FAIL");
  set("STAND_IN_DEVICES", "0");
  EXPECT_EQ(run(words("failing", little)).exit_code, 4);
  Words automatic = words("cpu", little);
  automatic[4] = "auto";
  expect_done(automatic);
}

// Each rank of a machine takes one device and touches no other. The devices are exclusive, so a second rank would fail.
TEST_F(StandIn, RanksShareExclusiveDevices) {
  expect_done(words("reference"));
  set("STAND_IN_EXCLUSIVE", base_.string());
  const auto mpirun = [&](const std::string& arguments) {
    return WEXITSTATUS(std::system(("cd '" + work().string() +
                                    "' && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 300 mpirun "
                                    "--oversubscribe " +
                                    arguments + " >mpi.out 2>mpi.err")
                                       .c_str()));
  };
  const std::string study =
      std::string(PANDORA_PROGRAM) + " run study.toml --quiet --threads 1 --backend cuda --out ranks";
  ASSERT_EQ(mpirun("-n 2 " + study), 0) << test::read_file(work() / "mpi.err");
  expect_same_results("ranks", "reference");
  EXPECT_EQ(manifest("ranks")["sessions"][0]["processes"].size(), 2u);
  // A third process finds both taken.
  ASSERT_EQ(mpirun("-n 3 " + study + "3"), 4);
  EXPECT_THAT(test::read_file(work() / "mpi.err"), HasSubstr("busy or unavailable"));
}

}  // namespace
}  // namespace pandora
