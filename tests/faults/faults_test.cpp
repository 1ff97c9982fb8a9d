// A fault of the file system may come at any call. Nothing may be lost without a message, and the next run must end
// with the same bytes as a run without a fault. tests/faults/faults.cpp makes the faults.
#include <stdlib.h>

#include <chrono>
#include <functional>
#include <thread>

#include "host/ground/files/temporary_file.hpp"
#include "kernels/base/sanitisers.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using test::ProgramResult;
using test::Words;
using Files = std::map<std::string, std::string>;

#if defined(PANDORA_SANITISED)
constexpr bool kPreloads = false;  // a sanitiser's runtime must be the first library
#else
constexpr bool kPreloads = true;
#endif

// With few solves the fingerprint of the arithmetic is quick, and so is every start. One regime suffices, because two
// regimes write the same kinds of files.
const std::string kStudyOfOneRegime =
    test::kTinyStudy + "periods = 8\nregimes = [\"A\"]\nestimation.refit = \"geometric:10\"\noutput.order = false\n";

// A command that must survive faults, and the command that repeats it.
struct Scenario {
  Words command, again;
  std::function<void()> before = [] {};  // makes the folder "v" before the command
  bool shared = false;                   // other processes may write there, so temporary files stay for a while
  bool repeats_complete = true;          // whether it may be repeated when it is complete
  std::string spares = {};               // a folder whose files the run can lack, with a message
  std::string rank = {};                 // not empty: two ranks run the command, and this rank meets the fault
};

class Faults : public test::ManyRunsTest {
 protected:
  void SetUp() override {
    if (!kPreloads) GTEST_SKIP() << "nothing can be preloaded under a sanitiser";
    RunStudyTest::SetUp();
    write("study.toml", kStudyOfOneRegime);
    ::setenv("PANDORA_PYTHON", "/nowhere", 1);  // another program makes the pictures
  }
  void TearDown() override {
    if (!kPreloads) return;
    ::unsetenv("PANDORA_PYTHON");
    RunStudyTest::TearDown();
  }

  Words run_words(const std::string& out, const Words& more = {}) const {
    return joined({"run", "study.toml", "--quiet", "--backend", "cpu", "--threads", "1", "--out", out}, more);
  }

  void must(const Words& command) {
    const ProgramResult result = run(command);
    ASSERT_EQ(result.exit_code, 0) << testing::PrintToString(command) << result.err;
  }

  void copy(const char* from) {
    fs::remove_all(work() / "v");
    fs::copy(work() / from, work() / "v", fs::copy_options::recursive);
  }

  ProgramResult run_with_fault(const Scenario& scenario, const std::string& kind, long at) {
    std::map<std::string, std::string> names = {{"LD_PRELOAD", PANDORA_FAULTS},
                                                {"FAULTS_FOLDER", work().string()},
                                                {"FAULTS_KIND", kind},
                                                {"FAULTS_AT", std::to_string(at)}};
    if (!scenario.rank.empty()) names["FAULTS_RANK"] = scenario.rank;
    for (const auto& [name, value] : names) ::setenv(name.c_str(), value.c_str(), 1);
    if (at == 0) ::setenv("FAULTS_COUNT", (base_ / "count").c_str(), 1);
    const ProgramResult result = scenario.rank.empty() ? run(scenario.command) : run_ranks(scenario.command);
    for (const auto& [name, value] : names) ::unsetenv(name.c_str());
    ::unsetenv("FAULTS_COUNT");
    return result;
  }

  ProgramResult run_ranks(const Words& command) {
    return wait_for(
        start(joined({"--allow-run-as-root", "--oversubscribe", "-n", "2", PANDORA_PROGRAM}, command), 0, "mpirun"));
  }

  // Repeats the command. Surviving ranks hold the folder until they notice that a rank has died.
  ProgramResult repeat(const Scenario& scenario) {
    ProgramResult result = run(scenario.again);
    for (int i = 0; i < 300 && !scenario.rank.empty() && result.exit_code == 2; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      result = run(scenario.again);
    }
    return result;
  }

  // The files of "v", without those that the scenario may lack. In shared folders also without temporary files, which a
  // later process removes.
  Files found(const Scenario& scenario) const {
    if (!fs::exists(work() / "v")) return {};
    Files out = files(work() / "v");
    if (scenario.shared)
      std::erase_if(out, [](const auto& f) { return target_of_temporary(fs::path(f.first).filename().string()); });
    std::erase_if(out, [&](const auto& f) { return !scenario.spares.empty() && f.first.starts_with(scenario.spares); });
    return out;
  }

  void begin(const Scenario& scenario) {
    fs::remove_all(work() / "v");
    scenario.before();
  }

  // Tries every kind of fault at every call, and of all these cases every `stride`-th.
  void stand(const Scenario& scenario, int stride) {
    begin(scenario);
    fs::remove(base_ / "count");
    ASSERT_EQ(run_with_fault(scenario, "kill", 0).exit_code, 0) << test::read_file(base_ / "err");
    const Files wanted = found(scenario);
    std::istringstream lines(test::read_file(base_ / "count"));
    std::vector<std::string> calls;
    for (std::string line; std::getline(lines, line);) calls.push_back(line);
    ASSERT_GT(calls.size(), 10u);
    int tried = 0;
    for (std::size_t n = 0; n < calls.size(); ++n) {
      std::vector<std::string> kinds = {"kill", "EIO"};
      if (calls[n] == "write") kinds = {"kill", "EIO", "ENOSPC", "half-kill", "half-ENOSPC", "short"};
      for (const std::string& kind : kinds)
        if (tried++ % stride == 0) {
          SCOPED_TRACE(kind + " at call " + std::to_string(n + 1) + ", " + calls[n]);
          stand(scenario, wanted, kind, static_cast<long>(n) + 1);
          if (HasFailure()) return;
        }
    }
    RecordProperty("calls", static_cast<int>(calls.size()));
  }

  void stand(const Scenario& scenario, const Files& wanted, const std::string& kind, long at) {
    begin(scenario);
    const ProgramResult first = run_with_fault(scenario, kind, at);
    if (kind.ends_with("kill"))
      EXPECT_TRUE(scenario.rank.empty() ? first.exit_code == -1 : first.exit_code != 0) << first.err;
    else
      EXPECT_THAT(first.exit_code, testing::AnyOf(0, 2, 3, 6)) << first.err;
    if (first.exit_code == 0) {
      EXPECT_EQ(found(scenario) == wanted, true) << "it ended with 0 all the same: " << first.err;
    }
    if (!scenario.repeats_complete && found(scenario) == wanted && manifest("v")["state"] == "complete") return;
    const ProgramResult second = repeat(scenario);
    EXPECT_EQ(second.exit_code, 0) << second.err << "after: " << first.err;
    const Files there = found(scenario);
    for (const auto& [name, bytes] : wanted) {
      ASSERT_TRUE(there.count(name)) << name << " is missing";
      EXPECT_TRUE(there.at(name) == bytes) << name << " differs";
    }
    for (const auto& [name, bytes] : there) EXPECT_TRUE(wanted.count(name)) << name << " is too much";
  }

  Scenario fresh() const { return {run_words("v"), run_words("v", {"--resume"})}; }

  Scenario of_rank(const char* rank) const {
    Scenario out = fresh();
    out.rank = rank;
    return out;
  }

  Scenario resumed() {
    must(run_words("half"));
    fs::remove(work() / "half" / "parts" / "000-uniform-A-00001.part");
    for (const char* name : {"summary.csv", "results.h5", "checksums.sha256"}) fs::remove(work() / "half" / name);
    std::ofstream(work() / "half" / "curves.csv", std::ios::app) << "damaged";
    return {run_words("v", {"--resume"}), run_words("v", {"--resume"}), [this] { copy("half"); }};
  }

  Scenario replaced() {
    must(run_words("old", {"--seed", "6"}));
    return {run_words("v", {"--force"}), run_words("v", {"--force"}), [this] { copy("old"); }};
  }

  Scenario extended() {
    must(run_words("one", {"--replications", "1"}));
    return {run_words("v", {"--extend"}), run_words("v", {"--extend"}), [this] { copy("one"); }};
  }

  Scenario merged() {
    must(run_words("a", {"--shard", "0/2"}));
    must(run_words("b", {"--shard", "1/2"}));
    const Words merge = {"merge", "a", "b", "--quiet", "--out", "v"};
    Scenario out{merge, merge};
    out.repeats_complete = false;
    return out;
  }

  Scenario grid() {
    const Words command = {"oracle", "grid",    "study.toml", "--regime", "B",      "--threads",
                           "1",      "--cache", "v/cache",    "--out",    "v/g.h5", "--force"};
    return {command, command, [this] { fs::create_directory(work() / "v"); }, true};
  }

  Scenario cached() {
    return {run_words("v/r", {"--oracle-cache", "v/cache"}),
            run_words("v/r", {"--resume", "--oracle-cache", "v/cache"}),
            [this] { fs::create_directory(work() / "v"); },
            true,
            true,
            "cache/"};
  }

  Scenario reported() {
    must(run_words("done"));
    return {{"report", "v"}, {"report", "v"}, [this] { copy("done"); }, true};
  }
};

// By default a few cases run, and all under the label slow. Strides are coprime to the number of kinds at a call.
TEST_F(Faults, OfARun) {
  stand(fresh(), 5);
}
TEST_F(Faults, OfResuming) {
  stand(resumed(), 7);
}
TEST_F(Faults, OfReplacing) {
  stand(replaced(), 13);
}
TEST_F(Faults, OfExtending) {
  stand(extended(), 11);
}
TEST_F(Faults, OfMerging) {
  stand(merged(), 7);
}
TEST_F(Faults, OfOracleGrid) {
  stand(grid(), 5);
}
TEST_F(Faults, OfARunWithACache) {
  stand(cached(), 11);
}
TEST_F(Faults, OfReporting) {
  stand(reported(), 7);
}

TEST_F(Faults, OfARank) {
  stand(of_rank("0"), 89);
  stand(of_rank("1"), 11);
}

TEST_F(Faults, SlowOfARank) {
  stand(of_rank("0"), 1);
  stand(of_rank("1"), 1);
}
TEST_F(Faults, SlowOfARun) {
  stand(fresh(), 1);
}
TEST_F(Faults, SlowOfResuming) {
  stand(resumed(), 1);
}
TEST_F(Faults, SlowOfReplacing) {
  stand(replaced(), 1);
}
TEST_F(Faults, SlowOfExtending) {
  stand(extended(), 1);
}
TEST_F(Faults, SlowOfMerging) {
  stand(merged(), 1);
}
TEST_F(Faults, SlowOfOracleGrid) {
  stand(grid(), 1);
}
TEST_F(Faults, SlowOfARunWithACache) {
  stand(cached(), 1);
}
TEST_F(Faults, SlowOfReporting) {
  stand(reported(), 1);
}

}  // namespace
}  // namespace pandora
