// Runs that were interrupted in any way can be resumed, to the bytes of one undisturbed process, or are refused with a
// reason.
#include <random>

#include "host/ground/files/sealed_file.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::kStudy;
using test::Words;
using testing::HasSubstr;
using RunStudyResume = test::ManyRunsTest;

// The kill comes a little after a random step of the run, so that moments are spread over the run on any machine. A run
// that ends before the signal does not count.
TEST_F(RunStudyResume, AfterKillAtFiftyRandomMoments) {
  run_reference(test::kQuick);
  std::mt19937 random(17);
  int caught = 0, resumed_parts = 0, told = 0;
  for (int i = 0; caught < 50; ++i) {
    ASSERT_LT(i, 1000) << "runs end before they are killed";
    const std::string folder = "killed" + std::to_string(i);
    const int steps = static_cast<int>(random() % 11);  // the 12 steps are a manifest, 8 parts and 3 files
    const int later = static_cast<int>(random() % (steps == 0 ? 60000 : 10000));
    const pid_t child = start(words(folder, test::kQuick));
    wait_for_steps(child, folder, steps);
    std::this_thread::sleep_for(std::chrono::microseconds(later));
    ::kill(child, SIGKILL);
    if (wait_for(child).exit_code != -1) continue;
    ++caught;
    resumed_parts += std::max(steps_done(folder) - 1, 0);  // the first is the manifest, and parts come before files
    if (fs::exists(work() / folder / "manifest.json"))
      if (const nlohmann::json was = manifest(folder); was["state"] == "running") {
        ++told;
        EXPECT_TRUE(was["sessions"][0]["ended"].is_null());  // the killed process could not write it
        EXPECT_TRUE(was["sessions"][0]["parts_computed"].is_null());
      }
    const test::ProgramResult result = run(words(folder, test::kQuick, {"--resume"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");  // a killed process leaves unfinished files, but no damaged ones
    expect_same(work() / folder, work() / "reference");
    EXPECT_EQ(manifest(folder)["state"], "complete");
    fs::remove_all(work() / folder);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(resumed_parts, 0);
  EXPECT_GT(told, 0);
}

TEST_F(RunStudyResume, AfterSignalsThatAskToEnd) {
  write("study.toml", kStudy + "[vary]\nperiods = [150, 1000]\n");
  const Words part_of_it = {"--environment", "uniform", "--replications", "2"};  // 8 parts in both regimes
  run_reference(part_of_it);
  std::mt19937 random(3);
  int interrupted = 0;
  for (int i = 0; interrupted < 10; ++i) {
    ASSERT_LT(i, 500) << "runs end before the signal";
    const std::string folder = "ended" + std::to_string(i);
    const int signal = i % 2 == 0 ? SIGTERM : SIGINT;
    const pid_t child = start(words(folder, part_of_it));
    wait_for_steps(child, folder, 1 + interrupted % 5);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 15));
    ::kill(child, signal);
    const test::ProgramResult ended = wait_for(child);
    if (ended.exit_code == 0) continue;
    ASSERT_EQ(ended.exit_code, 130) << ended.err;
    ++interrupted;
    EXPECT_EQ(ended.error_lines(), 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("--resume"));
    EXPECT_EQ(manifest(folder)["state"], "interrupted");
    expect_reference(folder, part_of_it, {"--resume"});
    EXPECT_EQ(manifest(folder)["sessions"].size(), 2u);
  }
}

// Before there are any results, a signal ends the run at once.
TEST_F(RunStudyResume, AfterASignalAtItsStart) {
  run_reference(test::kQuick);
  const pid_t child = start(words("out", test::kQuick));
  ::kill(child, SIGTERM);
  const int code = wait_for(child).exit_code;
  EXPECT_TRUE(code == -1 || code == 130 || code == 0) << code;
  expect_reference("out", test::kQuick, {"--resume"});
}

TEST_F(RunStudyResume, OnAFolderThatHoldsNothingItStarts) {
  run_reference();
  expect_reference("new", {"--resume"});
  fs::create_directories(work() / "empty");
  expect_reference("empty", {"--resume"});
  fs::create_directories(work() / "foreign");
  std::ofstream(work() / "foreign" / "thesis.tex") << "mine";
  expect_refusal(words("foreign", {"--resume"}), 2, {"--out foreign", "not empty"});
  EXPECT_EQ(test::read_file(work() / "foreign" / "thesis.tex"), "mine");
}

TEST_F(RunStudyResume, OfACompleteFolderComputesNothing) {
  run_reference();
  const auto before = fs::last_write_time(work() / "reference" / "parts" / "000-uniform-A-00000.part");
  ASSERT_EQ(run(words("reference", {"--resume"})).exit_code, 0);
  EXPECT_EQ(fs::last_write_time(work() / "reference" / "parts" / "000-uniform-A-00000.part"), before);
  EXPECT_EQ(manifest("reference")["sessions"].size(), 2u);
  EXPECT_EQ(manifest("reference")["sessions"][1]["parts_computed"], 0);
  expect_refusal(words("reference"), 2, {"--out reference", "--resume", "--force"});
}

TEST_F(RunStudyResume, IsRefusedWhereTheStudyDiffers) {
  run_reference();
  const auto before = files(work() / "reference");
  const std::vector<std::pair<Words, std::string>> changes = {
      {{"--seed", "6"}, "study.seed is 5 there and 6 here"},
      {{"--replications", "5"}, "study.replications is 4 there and 5 here"},
      {{"--periods", "151"}, "study.periods"},
      {{"--t0", "0,8"}, "study.T0 is [0, 7] there and [0, 8] here"},
      {{"--policy", "dow"}, "study.policies"},
      {{"--environment", "uniform"}, "study.environments"},
      {{"--regime", "A"}, "study.regimes"},
      {{"--refit", "tracking"}, "study.estimation.refit"},
      {{"--eta-index", "2"}, "study.estimation.eta_index"},
      {{"--samples", "1001"}, "study.oracle.samples"},
      {{"--grid", "5x4x6"}, "study.oracle.grid"},
      {{"--set", "hyperparameters.c_rho=[0.2]"}, "study.hyperparameters.c_rho"},
      {{"--set", "environment.student_t5.u=0.3"}, "study.environment.student_t5.u"},
      {{"--set", "dimensions.boxes=2"}, "study.dimensions.boxes"},
      {{"--precision", "double"}, "numerics.fingerprint"},
      {{"--block", "16"}, "study.engine.block is 32 there and 16 here"},
  };
  for (const auto& [change, difference] : changes)
    expect_refusal(words("reference", {"--resume"}, change), 5, {"reference", difference, "--force"});
  EXPECT_EQ(files(work() / "reference"), before);
  // Options that change no number do not count as differences.
  EXPECT_EQ(run(words("reference", {"--resume", "--chunk", "2"})).exit_code, 0);
}

// A title changes no number, and results.h5 may be left out if it does not fit into memory.
TEST_F(RunStudyResume, TakesAnotherTitleAndLeavesTheHdf5FileOut) {
  run_reference();
  const auto before = files(work() / "reference");
  const auto resumed = [&](const Words& command) {
    const test::ProgramResult result = run(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(manifest("reference")["sessions"].back()["damaged"], nlohmann::json::array());
    EXPECT_EQ(manifest("reference")["sessions"].back()["parts_computed"], 0);
    auto now = files(work() / "reference");
    for (const char* name : {"study.toml", "checksums.sha256", "results.h5"}) now[name] = before.at(name);
    EXPECT_EQ(now, before);
  };
  resumed(words("reference", {"--resume", "--set", "title=another"}));
  EXPECT_THAT(text("reference/study.toml"), HasSubstr("title = \"another\""));
  // The resolved study in the folder also resumes the run.
  resumed({"run", "reference/study.toml", "--quiet", "--out", "reference", "--resume", "--set", "output.hdf5=false"});
  EXPECT_FALSE(fs::exists(work() / "reference" / "results.h5"));
  EXPECT_THAT(text("reference/checksums.sha256"), Not(HasSubstr("results.h5")));
  resumed(words("reference", {"--resume"}));
  EXPECT_EQ(files(work() / "reference"), before);
  EXPECT_EQ(manifest("reference")["state"], "complete");
  // A user's own study is not the resolved one and must not be lost.
  fs::create_directory(work() / "mine");
  write("mine/study.toml", kStudy);
  expect_refusal({"run", "mine/study.toml", "--out", "mine", "--force"}, 2, {"--out mine", "would replace"});
}

// The study was run by another build or on another machine, as its manifest says.
TEST_F(RunStudyResume, IsRefusedWhereBuildOrArithmeticDiffer) {
  run_reference();
  const fs::path file = work() / "reference" / "manifest.json";
  const std::string original = test::read_file(file);
  for (const char* name : {"build.version", "build.sources", "build.compiler", "build.flags", "build.instructions",
                           "numerics.backend", "numerics.devices", "numerics.fingerprint"}) {
    nlohmann::json changed = nlohmann::json::parse(original);
    ASSERT_TRUE(changed["identity"].contains(name)) << name;
    changed["identity"][name] = "other";
    changed.erase("sha256");
    changed["sha256"] = sha256(changed.dump(2));
    std::ofstream(file) << changed.dump(2) << "\n";
    expect_refusal(words("reference", {"--resume"}), 5, {std::string(name) + " is other there"});
  }
}

// Without a readable manifest, every part still says to which study it belongs.
TEST_F(RunStudyResume, IsRefusedByThePartsAlone) {
  run_reference();
  fs::remove(work() / "reference" / "manifest.json");
  const test::ProgramResult result = run(words("reference", {"--resume", "--seed", "6"}));
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, AllOf(HasSubstr("study.seed is 5 there and 6 here"), HasSubstr(".part")));
}

TEST_F(RunStudyResume, ForceStartsAfresh) {
  run_reference();
  ASSERT_EQ(run(words("again")).exit_code, 0);
  std::ofstream(work() / "again" / "notes.txt") << "mine";
  ASSERT_EQ(run(words("again", {"--force", "--seed", "6"})).exit_code, 0);
  EXPECT_EQ(test::read_file(work() / "again" / "notes.txt"), "mine");
  ASSERT_EQ(run(words("again", {"--force"})).exit_code, 0);
  fs::remove(work() / "again" / "notes.txt");
  expect_same(work() / "again", work() / "reference");
}

TEST_F(RunStudyResume, TwoProcessesCannotShareAFolder) {
  const Words study = {"--periods", "200000", "--replications", "1"};
  const pid_t child = start(words("shared", study));
  while (!fs::exists(work() / "shared" / "manifest.json")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  beside_ = "second";
  expect_refusal(words("shared", study, {"--resume"}), 2, {"another process"});
  ::kill(child, SIGKILL);
  wait_for(child);
}

}  // namespace
}  // namespace pandora
