// The n-th allocation of a run fails (tests/starved). Then the run ends with exit code 4 and one line, or as if nothing
// had happened, and nothing is lost. Only HDF5 may end the program in its own way, by a signal or with code 255. Even
// then nothing is lost.
#include <gmock/gmock.h>

#include <map>

#include "kernels/base/sanitisers.hpp"
#include "tests/host/run_program.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;

using test::ProgramResult;
using test::read_file;

class WantOfMemory : public test::ProgramTest {
 protected:
  fs::path parent() const override { return in_memory(); }

  void SetUp() override {
    ProgramTest::SetUp();
#if defined(PANDORA_SANITISED)
    GTEST_SKIP() << "sanitisers bring allocators of their own";
#endif
    std::ofstream(work() / "s.toml")
        << "periods = 12\nreplications = 1\nregimes = [\"A\", \"B\"]\nT0 = [0, 4]\n"
           "environments = [\"uniform\"]\npolicies = [\"dow\", \"frugalgpt\"]\n"
           "[hyperparameters]\nc_rho = [0.1]\n"
           "[dimensions]\ncontext = 3\nreward_features = 2\nradius_draws = 500\n[oracle]\nsamples = 1000\n"
           "grid = [3, 3, 3]\nbins = 20\norder_contexts = 10\n[output]\nhdf5 = false\n";
    make_whole();
    ASSERT_GT(expected_.size(), 8u);
  }

  void make_whole() {
    ASSERT_EQ(run(words("whole", 1, false)).exit_code, 0) << read_file(base_ / "err");
    expected_ = files_of("whole");
  }

  std::vector<std::string> words(const std::string& folder, int threads, bool resume) const {
    std::vector<std::string> out = {
        "run", "s.toml", "--quiet", "--backend", "cpu", "--threads", std::to_string(threads), "--out", folder};
    if (resume) out.push_back("--resume");
    if (hdf5_) out.insert(out.end(), {"--set", "output.hdf5=true"});
    return out;
  }

  // All files that belong to the results, and not to a single run.
  std::map<std::string, std::string> files_of(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(work() / folder))
      if (entry.is_regular_file() && entry.path().filename() != "manifest.json")
        files[entry.path().lexically_relative(work() / folder).string()] = read_file(entry.path());
    return files;
  }

  ProgramResult run_starved(const std::vector<std::string>& command, std::uint64_t at, std::uint64_t in_a_row) {
    ::setenv("PANDORA_FAIL_AT", std::to_string(at).c_str(), 1);
    ::setenv("PANDORA_FAIL_FOR", std::to_string(in_a_row).c_str(), 1);
    const std::string program = (fs::path(PANDORA_PROGRAM).parent_path() / "tests" / "pandora_starved").string();
    const ProgramResult result = wait_for(start(command, 0, program.c_str()));
    for (const char* name : {"PANDORA_FAIL_AT", "PANDORA_FAIL_FOR"}) ::unsetenv(name);
    return result;
  }

  std::uint64_t allocations() {
    const std::uint64_t count = allocations(words("counted", 1, false));
    fs::remove_all(work() / "counted");
    return count;
  }

  std::uint64_t allocations(const std::vector<std::string>& command) {
    const std::string file = (base_ / "count").string();
    ::setenv("PANDORA_COUNT_TO", file.c_str(), 1);
    const ProgramResult result = run_starved(command, 0, 1);
    ::unsetenv("PANDORA_COUNT_TO");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return std::stoull(read_file(file));
  }

  // Expects the exit code 0, or 4 with one line that says why. In HDF5 any exit code is allowed.
  static void expect_told(const ProgramResult& starved, bool hdf5) {
    EXPECT_TRUE(starved.exit_code == 0 || starved.exit_code == 4 || hdf5) << starved.exit_code << " " << starved.err;
    if (starved.exit_code != 4) return;
    EXPECT_TRUE(starved.error_lines() == 1 || hdf5) << starved.err;  // HDF5 may print lines of its own
    EXPECT_THAT(starved.err, testing::HasSubstr("memory"));
  }

  // Runs a command on the folder "v", each time a new copy of `from`. It ends as if nothing had happened, or with 4.
  void spread_over(const std::vector<std::string>& command, const char* from, int count, bool hdf5 = false) {
    const auto copy = [&] {
      fs::remove_all(work() / "v");
      fs::copy(work() / from, work() / "v", fs::copy_options::recursive);
    };
    copy();
    const std::uint64_t all = allocations(command);
    const std::map<std::string, std::string> wanted = files_of("v");
    for (int k = 0; k < count && !HasFailure(); ++k) {
      const std::uint64_t at = 1 + all * static_cast<std::uint64_t>(k) / static_cast<std::uint64_t>(count);
      SCOPED_TRACE(testing::PrintToString(command) + " allocation " + std::to_string(at));
      copy();
      const ProgramResult starved = run_starved(command, at, 1);
      expect_told(starved, hdf5);
      if (starved.exit_code == 0) {
        EXPECT_TRUE(files_of("v") == wanted);
      }
    }
  }

  // Commands that go on with a folder read all of it first, and HDF5 makes the grid.
  void spread_over_all(int count) {
    fs::copy(work() / "whole", work() / "half", fs::copy_options::recursive);
    fs::remove(work() / "half" / "parts" / "000-uniform-A-00000.part");
    std::vector<std::string> extend = words("v", 1, false);
    extend.insert(extend.end(), {"--extend", "--replications", "2"});
    spread_over(words("v", 1, true), "half", count);
    spread_over(extend, "whole", count);
    spread_over({"oracle", "grid", "s.toml", "--threads", "1", "--out", "v/grid.h5"}, "whole", count, true);
    spread_over({"show", "v"}, "whole", count);
  }

  void expect_nothing_lost(int threads, std::uint64_t at, std::uint64_t in_a_row) {
    SCOPED_TRACE("allocation " + std::to_string(at) + ", " + std::to_string(in_a_row) + " in a row, " +
                 std::to_string(threads) + " threads");
    const ProgramResult starved = run_starved(words("starved", threads, false), at, in_a_row);
    expect_told(starved, hdf5_);
    if (starved.exit_code != 0) {
      const ProgramResult again = run(words("starved", 1, true));
      EXPECT_EQ(again.exit_code, 0) << again.err;
      EXPECT_EQ(again.err, "");
    }
    EXPECT_EQ(files_of("starved"), expected_);
    fs::remove_all(work() / "starved");
  }

  void spread(int count, int threads, std::uint64_t in_a_row, std::uint64_t before = 0) {
    const std::uint64_t all = allocations() - before;
    ASSERT_GT(all, 1000u);
    for (int k = 0; k < count && !HasFailure(); ++k)
      expect_nothing_lost(threads, before + 1 + all * static_cast<std::uint64_t>(k) / static_cast<std::uint64_t>(count),
                          in_a_row);
  }

  // A run's allocations for results.h5 come after all its other allocations.
  void spread_over_hdf5(int count, std::uint64_t in_a_row) {
    const std::uint64_t before = allocations();
    hdf5_ = true;
    fs::remove_all(work() / "whole");
    make_whole();
    spread(count, 1, in_a_row, before);
  }

  bool hdf5_ = false;
  std::map<std::string, std::string> expected_;
};

TEST_F(WantOfMemory, AnywhereInARunLosesNothing) {
  spread(16, 1, 1);
  spread(6, 2, 3);
}

TEST_F(WantOfMemory, InHdf5LosesNothing) {
  spread_over_hdf5(12, 1);
}

// With more and more address space, the loader fails (127), then the start of HDF5, then the replications, then
// nothing.
TEST_F(WantOfMemory, UnderALimitOfAddressesIsToldAsSuch) {
  int told = 0;
  for (int mebibytes = 40; mebibytes <= 160; mebibytes += 5) {
    SCOPED_TRACE(mebibytes);
    const int status =
        std::system(("cd '" + work().string() + "' && ulimit -v " + std::to_string(1024 * mebibytes) + " && exec " +
                     PANDORA_PROGRAM + " run s.toml --quiet --backend cpu --threads 1 --out " +
                     "v --force --set output.hdf5=true >/dev/null 2>limited.err")
                        .c_str());
    const int code = WEXITSTATUS(status);
    const std::string error = read_file(work() / "limited.err");
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_TRUE(code == 0 || code == 4 || code == 127) << code << " " << error;
    if (code != 4) continue;
    ++told;
    EXPECT_THAT(error, testing::HasSubstr("memory"));
    EXPECT_THAT(error, testing::Not(testing::HasSubstr("defect")));
  }
  EXPECT_GT(told, 0);
}

TEST_F(WantOfMemory, AnywhereInOtherCommandsIsToldAsSuch) {
  spread_over_all(7);
}

TEST_F(WantOfMemory, SlowAnywhereInOtherCommandsIsToldAsSuch) {
  spread_over_all(700);
}

TEST_F(WantOfMemory, SlowAnywhereInARunLosesNothing) {
  spread(1500, 1, 1);
  spread(300, 3, 1);
  spread(300, 1, 20);
}

TEST_F(WantOfMemory, SlowInHdf5LosesNothing) {
  spread_over_hdf5(1000, 1);
}

}  // namespace
}  // namespace pandora
