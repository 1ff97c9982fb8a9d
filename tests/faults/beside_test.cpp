// Readers that run beside a writer, at every moment of either; and limits on open files, processes and threads.
#include <sys/wait.h>

#include <set>

#include "kernels/base/sanitisers.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using test::ProgramResult;
using test::Words;
using testing::HasSubstr;
using testing::Not;

#if defined(PANDORA_SANITISED)
constexpr bool kMayPreload = false;  // a sanitiser's runtime must be the first library
#else
constexpr bool kMayPreload = true;
#endif

constexpr const char* kTwoPolicies = R"(seed = 5
replications = 2
periods = 8
T0 = [0]
environments = ["uniform"]
regimes = ["A"]
policies = ["query_all", "random_order"]
[dimensions]
context = 2
reward_features = 2
output = 2
radius_draws = 500
[estimation]
refit = "geometric:10"
[oracle]
samples = 1000
grid = [3, 3, 3]
bins = 10
[output]
order = false
)";

class Beside : public test::ManyRunsTest {
 protected:
  void SetUp() override {
    if (!kMayPreload) GTEST_SKIP() << "nothing can be preloaded under a sanitiser";
    RunStudyTest::SetUp();
    write("study.toml", kTwoPolicies);
    ::setenv("PANDORA_PYTHON", "/nowhere", 1);
  }
  void TearDown() override {
    if (!kMayPreload) return;
    ::unsetenv("PANDORA_PYTHON");
    RunStudyTest::TearDown();
  }

  static Words run_words(const std::string& out, const Words& more = {}) {
    return joined({"run", "study.toml", "--quiet", "--backend", "cpu", "--threads", "1", "--out", out}, more);
  }

  // Copies the folder `from` to "v".
  void copy(const char* from) {
    fs::remove_all(work() / "v");
    fs::copy(work() / from, work() / "v", fs::copy_options::recursive);
  }

  pid_t start_with(const Words& command, const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::setenv("LD_PRELOAD", PANDORA_FAULTS, 1);
    const pid_t child = start(command);
    ::unsetenv("LD_PRELOAD");
    for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
    return child;
  }

  // Starts the command so that it stops, or is killed, before its n-th call about the folder "v". With n = 0 it counts
  // these calls in a file.
  pid_t start_to(const char* kind, const Words& command, int n) {
    std::map<std::string, std::string> variables = {
        {"FAULTS_FOLDER", (work() / "v").string()}, {"FAULTS_KIND", kind}, {"FAULTS_AT", std::to_string(n)}};
    if (n == 0) variables["FAULTS_COUNT"] = (base_ / "count").string();
    return start_with(command, variables);
  }

  int calls_of(const Words& command) {
    fs::remove(base_ / "count");
    EXPECT_EQ(wait_for(start_to("stop", command, 0)).exit_code, 0);
    const std::string lines = test::read_file(base_ / "count");
    return static_cast<int>(std::count(lines.begin(), lines.end(), '\n'));
  }

  // Waits until the process has stopped or ended. Returns whether it has stopped.
  static bool stops(pid_t child) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WSTOPPED | WNOWAIT) == 0 &&
           info.si_code == CLD_STOPPED;
  }

  // Stops `moving` before every `stride`-th of its calls, runs `meanwhile` to its end, and lets `moving` go on. Then
  // calls body(result of `moving`, result of `meanwhile`).
  template <class Body>
  void at_every_call(const Words& moving, const Words& meanwhile, int stride, Body&& body) {
    copy("small");
    const int calls = calls_of(moving);
    ASSERT_GT(calls, 5);
    for (int n = 1; n <= calls && !HasFailure(); n += stride) {
      SCOPED_TRACE(moving[0] + " stopped before call " + std::to_string(n));
      copy("small");
      const pid_t child = start_to("stop", moving, n);
      EXPECT_TRUE(stops(child));
      beside_ = "2";
      const ProgramResult done = run(meanwhile);
      beside_ = "";
      ::kill(child, SIGCONT);
      body(wait_for(child), done);
    }
  }

  void make_small_and_large() {
    ASSERT_EQ(run(run_words("small", {"--replications", "1", "--policy", "query_all"})).exit_code, 0);
    ASSERT_EQ(run(run_words("large")).exit_code, 0);
  }

  void grow(int reader_stride, int writer_stride) {
    const Words extend = run_words("v", {"--extend"}), show = {"show", "v"};
    make_small_and_large();
    std::set<std::string> tables;
    for (const char* folder : {"small", "large"}) tables.insert(run({"show", folder}).out);
    ASSERT_EQ(tables.size(), 2u);
    at_every_call(extend, show, writer_stride, [&](const ProgramResult& extended, const ProgramResult& shown) {
      EXPECT_EQ(extended.exit_code, 0) << extended.err;
      EXPECT_EQ(shown.exit_code, 0) << shown.err;
      EXPECT_EQ(shown.err, "");
      expect_same(work() / "v", work() / "large");
    });
    at_every_call(show, extend, reader_stride, [&](const ProgramResult& shown, const ProgramResult& extended) {
      EXPECT_EQ(extended.exit_code, 0) << extended.err;
      EXPECT_EQ(shown.exit_code, 0) << shown.err;
      EXPECT_EQ(shown.err, "");
      EXPECT_TRUE(tables.contains(shown.out)) << shown.out;
    });
  }
};

// Whenever an extension is killed, the folder stays readable, and the earlier tables stay until the new ones are there.
TEST_F(Beside, AnExtensionThatIsKilledLeavesAReadableFolder) {
  const Words extend = run_words("v", {"--extend"});
  make_small_and_large();
  copy("small");
  const int calls = calls_of(extend);
  for (int n = 1; n <= calls && !HasFailure(); n += 11) {
    SCOPED_TRACE(n);
    copy("small");
    EXPECT_EQ(wait_for(start_to("kill", extend, n)).exit_code, -1);
    const ProgramResult shown = run({"show", "v"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_EQ(shown.err, "");
    for (const char* name : {"summary.csv", "study.toml"}) EXPECT_TRUE(fs::exists(work() / "v" / name)) << name;
    const ProgramResult again = run(extend);
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.err, "");  // the earlier tables do not count as damage
    expect_same(work() / "v", work() / "large");
  }
}

TEST_F(Beside, AReaderOfAFolderThatGrowsSeesOneOfItsStates) {
  grow(3, 13);
}

TEST_F(Beside, SlowAReaderOfAFolderThatGrowsSeesOneOfItsStates) {
  grow(1, 1);
}

// The message names the limit. It does not ask to remove a file, and does not speak of memory.
TEST_F(Beside, ALimitOnOpenFilesIsToldAsOne) {
  ASSERT_EQ(run(run_words("whole")).exit_code, 0);
  ASSERT_EQ(run(run_words("half")).exit_code, 0);
  fs::remove(work() / "half" / "parts" / "000-uniform-A-00001.part");
  const std::vector<Words> commands = {run_words("v", {"--resume"}),
                                       run_words("v", {"--force"}),
                                       {"show", "v"},
                                       {"report", "v"},
                                       {"oracle", "grid", "study.toml", "--out", "v/g.h5", "--threads", "1"}};
  for (const Words& command : commands) {
    int refused = 0, done = 0;
    for (const rlim_t most : {4, 5, 6, 7, 20}) {
      SCOPED_TRACE(testing::PrintToString(command) + " with descriptors below " + std::to_string(most));
      copy("half");
      most_descriptors_ = most;
      const ProgramResult result = run(command);
      most_descriptors_ = 0;
      ++(result.exit_code == 0 ? done : refused);
      if (result.exit_code == 0) continue;
      EXPECT_THAT(result.exit_code, testing::AnyOf(4, 6));
      EXPECT_EQ(result.error_lines(), 1) << result.err;
      EXPECT_THAT(result.err, HasSubstr("ulimit -n"));
      EXPECT_THAT(result.err, testing::AllOf(Not(HasSubstr("remove")), Not(HasSubstr("memory"))));
      if (command[0] == "run") {
        EXPECT_EQ(run(run_words("v", {"--resume"})).exit_code, 0);
        expect_same(work() / "v", work() / "whole");
      }
    }
    EXPECT_TRUE(refused > 0 || command[0] == "show" || command[0] == "oracle")
        << command[0];  // these two need one file at a time
    EXPECT_GT(done, 0) << command[0];
  }
}

// The system starts a limited number of threads and processes.
TEST_F(Beside, ALimitOnProcessesIsToldAsOne) {
  ASSERT_EQ(run(run_words("v")).exit_code, 0);
  const auto limited = [&](const Words& command, int most) {
    return wait_for(start_with(command, {{"FAULTS_PROCESSES", std::to_string(most)}}));
  };
  // A report starts none by itself.
  const ProgramResult report = limited({"report", "v"}, 0);
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.err, Not(HasSubstr("--threads")));
  for (int most = 0; most < 3; ++most) {
    SCOPED_TRACE(most);
    Words two = run_words("r", {"--force"});
    std::replace(two.begin(), two.end(), std::string("1"), std::string("2"));
    for (const Words& command : {run_words("r", {"--force"}), two}) {
      const ProgramResult result = limited(command, most);
      if (result.exit_code == 0) continue;
      EXPECT_EQ(result.exit_code, 4);
      EXPECT_EQ(result.error_lines(), 1) << result.err;
      EXPECT_THAT(result.err, HasSubstr("ulimit -u"));
      const bool told = result.err.find("--threads") != std::string::npos;
      if (command != two) {
        EXPECT_FALSE(told) << result.err;
      } else if (most < 2) {  // with more, a library may have started one
        EXPECT_TRUE(told) << result.err;
      }
    }
  }
}

// A file such as /proc/kmsg answers EAGAIN. The message must not take this for a limit on processes.
TEST_F(Beside, AReadThatWouldWaitIsOfAFileThatIsNone) {
  fs::create_directory(work() / "v");
  std::string table = "prompt_id,x,a,a|cost,b,b|cost\n";
  for (int row = 0; row < 60; ++row) table += "p" + std::to_string(row) + "," + std::to_string(row % 9) + ",1,1,1,1\n";
  write("v/table.csv", table);
  write("t.toml",
        "environments = [\"t\"]\nT0 = [5]\n[environment.t]\ntable = \"v/table.csv\"\ncontext = [\"x\"]\nprice = 5\n");
  const Words check = {"trace", "features", "t.toml", "--out", "features.json", "--force"};
  int refused = 0;
  for (int n = 1; n <= calls_of(check); ++n) {
    const ProgramResult result = wait_for(start_to("EAGAIN", check, n));
    if (result.exit_code == 0) continue;  // it was another call, such as the one that closes the file
    EXPECT_EQ(result.exit_code, 3) << n;
    EXPECT_THAT(result.err,
                HasSubstr("v/table.csv: cannot be read (it waits for another program to write, as a pipe does)\n"))
        << n;
    ++refused;
  }
  EXPECT_GE(refused, 2);  // to open the file, and to read from it
}

}  // namespace
}  // namespace pandora
