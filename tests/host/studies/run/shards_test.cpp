// Studies that are spread over shards and ranks give the bytes of one process.
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::kStudy;
using test::Words;
using testing::HasSubstr;

class RunStudyShards : public test::RunStudyTest {
 protected:
  // Writes a study for ranks that starts quickly.
  void write_study_of_ranks() {
    write("study.toml", std::string(kStudy).replace(kStudy.find(", \"student_t5\""), 14, "") +
                            "[estimation]\nrefit = \"geometric:10\"\n");
  }
  static std::string ranks_of(const std::string& folder) {
    return std::string(PANDORA_PROGRAM) + " run study.toml --quiet --threads 1 --out " + folder;
  }
  int shell(const std::string& command) const {
    return WEXITSTATUS(std::system(("cd '" + work().string() + "' && " + command).c_str()));
  }
  // Returns the exit code of mpirun. Standard error goes to mpi.err.
  int mpirun(const std::string& arguments) const {
    return shell(std::string("timeout 120 env ") + kLaunch + arguments + " >mpi.out 2>mpi.err");
  }
  std::string mpi_errors() const { return test::read_file(work() / "mpi.err"); }

  // Faults that sanitisers find in Open MPI itself are ignored.
  static constexpr const char* kLaunch =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "
      "TSAN_OPTIONS=ignore_noninstrumented_modules=1 mpirun --oversubscribe ";
};

TEST_F(RunStudyShards, MergeToTheBytesOfOneProcess) {
  run_reference();
  for (const int n : {1, 2, 5}) {
    Words merge = {"merge", "--quiet", "--out", "merged" + std::to_string(n)};
    for (int i = 0; i < n; ++i) {
      const std::string folder = "shard" + std::to_string(n) + std::to_string(i);
      const test::ProgramResult result = run(words(folder, {"--shard", std::to_string(i) + "/" + std::to_string(n)}));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_EQ(result.out.find("pandora merge") != std::string::npos, n > 1) << result.out;
      merge.push_back(folder);
    }
    const test::ProgramResult result = run(merge);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    expect_same(work() / ("merged" + std::to_string(n)), work() / "reference");
  }
  EXPECT_EQ(manifest("merged5")["sessions"].size(), 6u);
}

TEST_F(RunStudyShards, ALostShardCostsOnlyItsOwnWork) {
  run_reference();
  const test::ProgramResult first = run(words("a", {"--shard", "0/2", "--report"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.out.find("no report"), std::string::npos) << first.out;  // only a part of the results is there
  ASSERT_EQ(run(words("b", {"--shard", "1/2"})).exit_code, 0);
  const std::string lost = "parts/000-uniform-A-00001.part";
  ASSERT_TRUE(fs::remove(work() / "b" / lost));
  expect_refusal({"merge", "a", "b", "--out", "all"}, 3, {"1 of 16 parts", "000-uniform-A-00001.part", "--resume"});
  EXPECT_FALSE(fs::exists(work() / "all"));
  ASSERT_EQ(run(words("b", {"--shard", "1/2", "--resume"})).exit_code, 0);
  EXPECT_EQ(manifest("b")["sessions"][1]["parts_computed"], 1);
  ASSERT_EQ(run({"merge", "a", "b", "--out", "all", "--quiet"}).exit_code, 0);
  expect_same(work() / "all", work() / "reference");
}

TEST_F(RunStudyShards, MergeRefusesWhatDoesNotBelongTogether) {
  ASSERT_EQ(run(words("a", {"--shard", "0/2"})).exit_code, 0);
  ASSERT_EQ(run(words("b", {"--shard", "1/2", "--seed", "6"})).exit_code, 0);
  expect_refusal({"merge", "a", "b", "--out", "all"}, 5,
                 {"do not belong together", "study.seed is 6 there and 5 here"});
  expect_refusal({"merge", "a", "nowhere", "--out", "all"}, 3, {"nowhere: holds no results", "manifest.json"});
  const auto before = files(work() / "a");
  expect_refusal({"merge", "a", "--out", "a", "--force"}, 2, {"--out a", "folders to merge"});
  EXPECT_EQ(files(work() / "a"), before);
  std::ofstream(work() / "a" / "study.toml", std::ios::app) << "\n[output]\n";
  expect_refusal({"merge", "a", "--out", "all"}, 3, {"a/study.toml", "--resume"});
  fs::copy_file(work() / "study.toml", work() / "a" / "study.toml", fs::copy_options::overwrite_existing);
  std::ofstream(work() / "a" / "study.toml", std::ios::app) << "bins = 51\n";  // now it is another study
  EXPECT_NE(run({"merge", "a", "--out", "all"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(work() / "all"));
}

// The script for Slurm. The test stands in for srun and sets the scheduler's variables.
TEST_F(RunStudyShards, TheBatchScriptRunsTheShardsOfAnArray) {
  run_reference();
  fs::create_directory(work() / "bin");
  std::ofstream(work() / "bin" / "srun") << "#!/bin/sh\necho \"$1\" >srun.first\nshift\nexec \"$@\"\n";
  fs::permissions(work() / "bin" / "srun", fs::perms::owner_all);
  for (const int task : {0, 1}) {
    const std::string command =
        "cd '" + work().string() + "' && PATH=$PWD/bin:$PATH SLURM_ARRAY_TASK_ID=" + std::to_string(task) +
        " SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=2 SLURM_CPUS_PER_TASK=1 PANDORA=" + PANDORA_PROGRAM + " bash " +
        PANDORA_SOURCE + "/scripts/pandora.sbatch study.toml shards >script.out 2>&1";
    for (int again = 0; again < 2; ++again)  // if it is submitted again, it goes on
      ASSERT_EQ(std::system(command.c_str()), 0) << test::read_file(work() / "script.out");
  }
  EXPECT_EQ(test::read_file(work() / "srun.first"), "--cpus-per-task=1\n");  // Slurm itself does not pass it on
  ASSERT_EQ(run({"merge", "shards/0", "shards/1", "--quiet", "--out", "all"}).exit_code, 0);
  expect_same(work() / "all", work() / "reference");
}

// If the last files cannot be written, parts and the record of their making stay.
TEST_F(RunStudyShards, FilesThatCannotBeWrittenLeaveAnHonestManifest) {
  run_reference();
  ASSERT_EQ(run(words("a", {"--shard", "0/2"})).exit_code, 0);
  ASSERT_EQ(run(words("b", {"--shard", "1/2"})).exit_code, 0);
  fs::create_directories(work() / "out" / "results.h5" / "in the way");
  fs::create_directories(work() / "merged" / "results.h5" / "in the way");
  EXPECT_EQ(run(words("out", {"--resume"})).exit_code, 2);  // it is no folder of results
  EXPECT_EQ(run(words("out", {"--force"})).exit_code, 2);
  EXPECT_EQ(manifest("out")["state"], "interrupted");
  EXPECT_EQ(manifest("out")["parts_there"], 16);
  EXPECT_EQ(manifest("out")["sessions"][0]["parts_computed"], 16);
  EXPECT_EQ(run({"merge", "a", "b", "--out", "merged", "--force"}).exit_code, 2);
  EXPECT_EQ(manifest("merged")["sessions"].size(), 3u);
  for (const char* folder : {"out", "merged"}) {
    fs::remove_all(work() / folder / "results.h5");
    expect_reference(folder, {"--resume"});
  }
  EXPECT_EQ(manifest("merged")["sessions"].size(), 4u);
}

// With an altered study, numbers would get wrong names and values.
TEST_F(RunStudyShards, MergeRefusesAStudyThatWasAltered) {
  write("study.toml", kStudy + "[environment.uniform]\nu = 0.5\n");
  ASSERT_EQ(run(words("a")).exit_code, 0);
  const std::string text = test::read_file(work() / "a" / "study.toml");
  std::string less = text;
  less.erase(less.find("[environment.uniform]\nu = 0.5\n"), std::string("[environment.uniform]\nu = 0.5\n").size());
  std::ofstream(work() / "a" / "study.toml") << less;
  expect_refusal({"merge", "a", "--out", "all"}, 3, {"a/study.toml", "study.environment.uniform.u is 0.5 there"});
  EXPECT_FALSE(fs::exists(work() / "all"));
}

TEST_F(RunStudyShards, RanksGiveTheBytesOfOneProcess) {
  write_study_of_ranks();
  run_reference();
  for (const int ranks : {1, 2, 3}) {
    const std::string folder = "ranks" + std::to_string(ranks);
    ASSERT_EQ(mpirun("-n " + std::to_string(ranks) + " " + ranks_of(folder)), 0) << mpi_errors();
    expect_same(work() / folder, work() / "reference");
    const nlohmann::json session = manifest(folder)["sessions"][0];
    EXPECT_EQ(session["ranks"], ranks);
    EXPECT_EQ(session["parts_computed"], 8);
    ASSERT_EQ(session["processes"].size(), static_cast<std::size_t>(ranks));
    for (const nlohmann::json& process : session["processes"]) EXPECT_GE(process["parts_computed"], 8 / ranks);
  }
  // A failed lane in any rank counts for the run.
  EXPECT_EQ(mpirun("-n 2 " + ranks_of("failed") + " --regime A --set hyperparameters.c_rho=[1e300]"), 1);
}

// A driver, or a loop with --resume, makes such commands.
TEST_F(RunStudyShards, CommandsThatFollowEachOtherInARankRunWhereItIsAlone) {
  write_study_of_ranks();
  const auto both = [this](const std::string& ranks) {
    return mpirun("-n " + ranks + " sh -c '" + ranks_of("first" + ranks) + " && " + ranks_of("second" + ranks) + "'");
  };
  EXPECT_EQ(both("1"), 0) << mpi_errors();
  expect_same(work() / "first1", work() / "second1");
  EXPECT_EQ(both("2"), 4) << mpi_errors();
  EXPECT_TRUE(fs::exists(work() / "first2" / "summary.csv"));
  EXPECT_FALSE(fs::exists(work() / "second2"));
  const std::string told = mpi_errors(), line = "pandora: MPI can be started only once in a rank";
  EXPECT_THAT(told, HasSubstr(line + ", and an earlier command of this rank has started it; start each command"));
  EXPECT_EQ(told.find(line), told.rfind(line)) << told;
  EXPECT_THAT(told, Not(HasSubstr("orte_init")));
}

// The launcher gives ranks a terminal, and writes their output to a file.
TEST_F(RunStudyShards, RanksWriteNoCodesOfTerminals) {
  write_study_of_ranks();
  ASSERT_EQ(mpirun("-n 1 sh -c 'test -t 1 && exec " + ranks_of("bold") + " --regime A'"), 0) << mpi_errors();
  EXPECT_THAT(test::read_file(work() / "mpi.out"), AllOf(HasSubstr("Regime A"), Not(HasSubstr("\033"))));
}

TEST_F(RunStudyShards, RanksThatWereKilledAreResumedToTheSameBytes) {
  write_study_of_ranks();
  const std::string more = " --regime A --replications 8 --periods 2000";
  ASSERT_EQ(run(words("long", {"--regime", "A", "--replications", "8", "--periods", "2000"})).exit_code, 0);
  int caught = 0;
  for (const int parts : {0, 1, 4}) {
    const std::string name = "killed" + std::to_string(parts);
    const fs::path folder = work() / name;
    const std::string command = "-n 2 " + ranks_of(name) + more + " --resume";
    ASSERT_EQ(shell(std::string("{ ") + kLaunch + command + " >mpi.out 2>&1 & echo $! >pid; }"), 0);  // mpirun's pid
    const auto made = [&] {
      std::error_code error;
      return std::distance(fs::directory_iterator(folder / "parts", error), fs::directory_iterator{});
    };
    for (int i = 0; i < 6000 && !(fs::exists(folder / "manifest.json") && made() > parts); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(std::stoi(test::read_file(work() / "pid")), SIGKILL);
    caught += manifest(name)["sessions"][0]["ended"].is_null() ? 1 : 0;
    int code = 2;
    for (int i = 0; i < 300 && code == 2; ++i) {  // until the ranks have noticed and released the folder
      code = mpirun(command);
      if (code == 2) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ASSERT_EQ(code, 0) << mpi_errors();
    expect_same(folder, work() / "long");
  }
  EXPECT_GT(caught, 0);
}

// Ranks that cannot agree all end, and one of them says why.
TEST_F(RunStudyShards, RanksThatCannotAgreeAllEnd) {
  write_study_of_ranks();
  // Each rank runs a shell, because Open MPI 5.0.7 crashes on `-n 1 ... : -n 1 ...`.
  const auto apart = [this](const std::string& first, const std::string& second) {
    return mpirun("-n 2 sh -c 'case $OMPI_COMM_WORLD_RANK in 0) exec " + first + ";; *) exec " + second + ";; esac'");
  };
  const std::string one = ranks_of("apart");
  EXPECT_EQ(apart(one, PANDORA_PROGRAM " run nowhere.toml --quiet --out apart"), 2);
  EXPECT_THAT(mpi_errors(), HasSubstr("nowhere.toml: cannot be read"));
  EXPECT_FALSE(fs::exists(work() / "apart"));
  EXPECT_EQ(apart(one, one + " --periods 50"), 5);
  EXPECT_THAT(mpi_errors(), HasSubstr("study.periods"));
  EXPECT_FALSE(fs::exists(work() / "apart"));
  // If the folder cannot be used, all ranks end, with the error of one.
  fs::create_directory(work() / "full");
  write("full/notes.txt", "mine");
  EXPECT_EQ(mpirun("-n 2 " + ranks_of("full")), 2);
  EXPECT_THAT(mpi_errors(), HasSubstr("full: is not empty"));
}

}  // namespace
}  // namespace pandora
