// Sweeps that can be trusted: interrupted in any way and resumed, spread over shards and ranks, on damaged files and
// full disks, the bytes are those of one undisturbed process.
#include <gmock/gmock.h>
#include <hdf5.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "host/files/sealed_file.hpp"
#include "tests/host/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;
using Words = std::vector<std::string>;

using test::kStudy;
using RunStudy = test::RunStudyTest;
using RunStudyResume = RunStudy;
using RunStudyDamage = RunStudy;
using RunStudyShards = RunStudy;

TEST_F(RunStudy, WritesEverythingItPromises) {
  run_reference();
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files(work() / "reference"))
    if (!name.starts_with("parts/")) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"boxes.csv", "checksums.sha256", "choices.csv", "curves.csv", "depth.csv",
                                             "failures.csv", "oracle.csv", "oracle_order.csv", "results.h5",
                                             "study.toml", "summary.csv"}));
  EXPECT_TRUE(fs::exists(work() / "reference" / "parts" / "000-student_t5-B-00003.part"));
  EXPECT_EQ(std::distance(fs::directory_iterator(work() / "reference" / "parts"), fs::directory_iterator{}), 16);
  const nlohmann::json m = manifest("reference");
  EXPECT_EQ(m["state"], "complete");
  EXPECT_EQ(m["parts"], 16);
  EXPECT_EQ(m["study"]["periods"], 150);
  EXPECT_EQ(m["study"]["dimensions"]["context"], 12);
  EXPECT_EQ(m["sessions"].size(), 1u);
  EXPECT_EQ(m["sessions"][0]["engine"], "blocked, single precision, blocks of 32");
  EXPECT_EQ(m["sessions"][0]["processes"].size(), 1u);
  EXPECT_EQ(m["sessions"][0]["parts_computed"], 16);
  for (const char* key : {"command", "host", "backend", "threads", "started", "ended", "wall_seconds"})
    EXPECT_TRUE(m["sessions"][0].contains(key)) << key;
  for (const char* key : {"version", "revision", "compiler", "flags"}) EXPECT_TRUE(m["program"].contains(key)) << key;
  for (const char* key : {"study.seed", "build.sources", "numerics.fingerprint", "numerics.backend"})
    EXPECT_TRUE(m["identity"].contains(key)) << key;
  // sha256sum -c understands the checksums
  std::istringstream lines(test::read_file(work() / "reference" / "checksums.sha256"));
  int count = 0;
  for (std::string digest, name; lines >> digest >> name; ++count)
    EXPECT_EQ(digest, sha256(test::read_file(work() / "reference" / name))) << name;
  EXPECT_EQ(count, 10);
}

// The resolved study is a study: run again it gives the same.
TEST_F(RunStudy, TheStudyInTheResultsGivesTheSameResults) {
  ASSERT_EQ(run(words("one", {"--periods", "90", "--set", "estimation.refit=tracking"})).exit_code, 0);
  Words again = words("two");
  again[1] = "one/study.toml";
  ASSERT_EQ(run(again).exit_code, 0);
  expect_same(work() / "two", work() / "one");
}

// Doubles of a dataset, with its shape.
std::vector<double> dataset(const fs::path& file, const std::string& name, std::vector<hsize_t>& shape) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(f, name.c_str(), H5P_DEFAULT),
              space = H5Dget_space(d);
  EXPECT_GE(d, 0) << name;
  shape.resize(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_GE(H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << name;
  for (const char* about : {"description", "units", "dimensions"}) EXPECT_GT(H5Aexists(d, about), 0) << name << about;
  H5Sclose(space);
  H5Dclose(d);
  H5Fclose(f);
  return values;
}

// The tables follow from results.h5, as docs/files.md says.
TEST_F(RunStudy, ResultsOfEveryReplicationGiveTheTables) {
  run_reference();
  const fs::path file = work() / "reference" / "results.h5";
  std::vector<hsize_t> shape;
  const std::vector<double> utility = dataset(file, "/uniform_A/utility", shape);
  ASSERT_EQ(shape.size(), 2u);
  const std::size_t lanes = shape[0], R = shape[1];
  EXPECT_EQ(R, 4u);
  // Row 2 of the file: T_0 = 0, online_plugin, known: lane 1.
  std::istringstream lines(test::read_file(work() / "reference" / "summary.csv"));
  std::string line;
  for (int i = 0; i < 3; ++i) std::getline(lines, line);
  ASSERT_THAT(line, testing::StartsWith("A,uniform,0,online_plugin,known,,,,4,0,150,"));
  double regret = 0.0;
  for (std::size_t r = 0; r < R; ++r) regret += (utility[r] - utility[R + r]) / 150.0 / static_cast<double>(R);
  EXPECT_NEAR(1000.0 * regret,
              std::stod(line.substr(std::string("A,uniform,0,online_plugin,known,,,,4,0,150,").size())), 1e-6);
  const std::vector<double> curve = dataset(file, "/uniform_A/curve", shape);
  ASSERT_EQ(shape.size(), 3u);
  for (std::size_t k = 0; k < lanes * R; ++k) EXPECT_EQ(curve[(k + 1) * shape[2] - 1], utility[k]);
  std::vector<hsize_t> depth_shape;
  const std::vector<double> depth = dataset(file, "/student_t5_B/depth", depth_shape);
  EXPECT_EQ(depth_shape, (std::vector<hsize_t>{lanes, R, 4}));
  for (std::size_t k = 0; k < lanes * R; ++k) EXPECT_EQ(depth[4 * k + 1] + depth[4 * k + 2] + depth[4 * k + 3], 150.0);
  EXPECT_EQ(dataset(file, "/uniform_B/instances/D", shape).size(), R * 3 * 10);
  EXPECT_EQ(shape, (std::vector<hsize_t>{R, 3, 10}));
  for (const char* name : {"lanes/T0", "queries_of_box", "failure", "order", "checkpoints", "instances/theta"})
    EXPECT_FALSE(dataset(file, std::string("/uniform_A/") + name, shape).empty()) << name;
  ASSERT_EQ(run(words("without", {"--set", "output.hdf5=false"})).exit_code, 0);
  EXPECT_FALSE(fs::exists(work() / "without" / "results.h5"));
}

TEST_F(RunStudy, SettingsVaryInOneFolder) {
  write("study.toml",
        std::string(kStudy) + "[vary]\nperiods = [40, 80]\nestimation.refit = [\"tracking\", \"every:9\"]\n");
  const test::ProgramResult result = run(words("out", {"--environment", "uniform"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n80       every:9           7 "));
  const std::string summary = test::read_file(work() / "out" / "summary.csv");
  EXPECT_THAT(summary, testing::StartsWith("periods,estimation.refit,regime,"));
  for (const char* row : {"\n40,tracking,A,", "\n40,every:9,B,", "\n80,tracking,A,", "\n80,every:9,B,"})
    EXPECT_THAT(summary, HasSubstr(row));
  // A setting alone has the same numbers.
  write("study.toml", kStudy);
  ASSERT_EQ(run(words("alone", {"--environment", "uniform", "--periods", "80", "--refit", "every:9"})).exit_code, 0);
  std::istringstream lines(test::read_file(work() / "alone" / "summary.csv"));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) EXPECT_THAT(summary, HasSubstr("\n80,every:9," + line + "\n"));
}

TEST_F(RunStudy, PlanSaysHowTheWorkIsSplitAndWritesNothing) {
  const test::ProgramResult result = run(words("out", {"--plan", "--shard", "1/3"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"memory", "estimated time", "parts             16", "3 processes do up to 6 each"})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_FALSE(fs::exists(work() / "out"));
}

TEST_F(RunStudy, PrintsDefaultsThatItAccepts) {
  const test::ProgramResult result = run({"run", "--print-defaults"});
  ASSERT_EQ(result.exit_code, 0);
  write("defaults.toml", result.out);
  EXPECT_EQ(run({"run", "defaults.toml", "--plan", "--periods", "50", "--samples", "1000"}).exit_code, 0);
}

TEST_F(RunStudy, RefusesBadStudiesAndOptions) {
  expect_refusal({"run"}, 2, {"name a study's file"});
  expect_refusal({"run", "nowhere.toml"}, 2, {"nowhere.toml: cannot be read"});
  write("bad.toml", "seed = 1\nreplicatoins = 3\n");
  expect_refusal({"run", "bad.toml"}, 2, {"bad.toml:2", "replicatoins", "nearest is replications"});
  expect_refusal(words("x", {"--set", "periods"}), 2, {"--set periods", "key=value"});
  expect_refusal(words("x", {"--set", "period=3"}), 2, {"--set period=3", "nearest is periods"});
  expect_refusal(words("x", {"--resume", "--force"}), 2, {"--resume, --extend and --force"});
  expect_refusal({"run", "study.toml", "--resume"}, 2, {"--resume", "--out"});
  for (const char* shard : {"2/2", "-1/2", "0/0", "1", "a/b", "0/2x", "0/"})
    expect_refusal(words("x", {"--shard", shard}), 2, {std::string("--shard ") + shard, "i/n"});
  EXPECT_FALSE(fs::exists(work() / "x"));
}

TEST_F(RunStudy, EmptyWordsAreNoAbsentOptions) {
  expect_refusal(words("x", {"--shard", ""}), 2, {"--shard"});
  expect_refusal(words("x", {"--seed", ""}), 2, {"--seed"});
  expect_refusal(words("x", {"--grid", ""}), 2, {"--grid"});
  expect_refusal(words("x", {"--oracle-cache", ""}), 2, {"--oracle-cache"});
  expect_refusal({"run", "study.toml", "--out", ""}, 2, {"--out"});
  expect_refusal({"reproduce", "--table", ""}, 2, {"--table"});
  EXPECT_FALSE(fs::exists(work() / "x"));
}

// The user's own files must survive, whatever their names.
TEST_F(RunStudy, DoesNotTakeOthersFilesForItsOwn) {
  fs::create_directory(work() / "u");
  std::ofstream(work() / "u" / "study.toml") << "# mine\n" << kStudy;
  for (const char* how : {"--resume", "--force"}) {
    const test::ProgramResult result = run({"run", "u/study.toml", "--out", "u", how, "--quiet"});
    EXPECT_EQ(result.exit_code, 2) << how;
    EXPECT_THAT(test::read_file(work() / "u" / "study.toml"), testing::StartsWith("# mine"));
  }
  fs::create_directory(work() / "v");
  std::ofstream(work() / "v" / "manifest.json") << "{\"mine\": 1}";
  std::ofstream(work() / "v" / "results.h5") << "mine";
  expect_refusal(words("v", {"--resume"}), 2, {"--out v", "no results of this program"});
  EXPECT_EQ(test::read_file(work() / "v" / "results.h5"), "mine");
  fs::create_directories(work() / "elsewhere");
  std::ofstream(work() / "elsewhere" / "my.part") << "mine";
  fs::create_directory(work() / "w");
  fs::create_directory_symlink(work() / "elsewhere", work() / "w" / "parts");
  expect_refusal(words("w", {"--force"}), 2, {"--out w", "link"});
  EXPECT_EQ(test::read_file(work() / "elsewhere" / "my.part"), "mine");
}

// What can be refused is refused before old results are removed.
TEST_F(RunStudy, ARefusedForceKeepsTheOldResults) {
  run_reference();
  const auto before = files(work() / "reference");
  expect_refusal(words("reference", {"--force", "--oracle-cache", "study.toml"}), 2, {"study.toml"});
  expect_refusal(words("reference", {"--force", "--devices", "7"}), 4, {});
  EXPECT_EQ(files(work() / "reference"), before);
}

TEST_F(RunStudy, ClosedOrFullStreamsAreNoDefects) {
  const auto shell = [&](const std::string& redirection, const std::string& arguments) {
    const int status = std::system(
        ("cd '" + work().string() + "' && " + PANDORA_PROGRAM + " " + arguments + " " + redirection).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(shell(">/dev/null 2>&-", "run nowhere.toml"), 2);
  EXPECT_EQ(shell(">/dev/null 2>&-", "run study.toml --out closed"), 0);
  EXPECT_EQ(shell(">/dev/full 2>/dev/null", "run --print-defaults"), 6);
}

TEST_F(RunStudy, OracleCacheChangesNoByte) {
  run_reference();
  ASSERT_EQ(run(words("cold", {"--oracle-cache", "cache"})).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(work() / "cache"), fs::directory_iterator{}), 16);
  ASSERT_EQ(run(words("warm", {"--oracle-cache", "cache"})).exit_code, 0);
  expect_same(work() / "cold", work() / "reference");
  expect_same(work() / "warm", work() / "reference");
}

// ---- interruptions --------------------------------------------------------------------------------------------------

TEST_F(RunStudyResume, AfterKillAtFiftyRandomMoments) {
  const auto start_time = std::chrono::steady_clock::now();
  run_reference();
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time).count();
  std::mt19937 random(17);
  int caught = 0, resumed_parts = 0, told = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string folder = "killed" + std::to_string(i);
    const pid_t child = start(words(folder));
    std::this_thread::sleep_for(std::chrono::duration<double>(whole * std::uniform_real_distribution<>(0, 1)(random)));
    ::kill(child, SIGKILL);
    caught += wait_for(child).exit_code == -1 ? 1 : 0;
    if (fs::exists(work() / folder / "parts"))
      for (const auto& entry : fs::directory_iterator(work() / folder / "parts"))
        resumed_parts += entry.path().extension() == ".part" ? 1 : 0;
    if (const fs::path path = work() / folder / "manifest.json"; fs::exists(path))
      if (const nlohmann::json was = nlohmann::json::parse(test::read_file(path)); was["state"] == "running") {
        ++told;
        EXPECT_TRUE(was["sessions"][0]["ended"].is_null());  // it does not know what it did not live to see
        EXPECT_TRUE(was["sessions"][0]["parts_computed"].is_null());
      }
    const test::ProgramResult result = run(words(folder, {"--resume"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");  // what a killed process leaves is unfinished, never damaged
    expect_same(work() / folder, work() / "reference");
    EXPECT_EQ(manifest(folder)["state"], "complete");
    fs::remove_all(work() / folder);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(caught, 10);  // of 50; how many are depends on the load of the machine
  EXPECT_GT(resumed_parts, 0);
  EXPECT_GT(told, 0);
}

TEST_F(RunStudyResume, AfterSignalsThatAskToEnd) {
  write("study.toml", std::string(kStudy) + "[vary]\nperiods = [150, 1000]\n");
  ASSERT_EQ(run(words("reference")).exit_code, 0);
  std::mt19937 random(3);
  int interrupted = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string folder = "ended" + std::to_string(i);
    const pid_t child = start(words(folder));
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 15 * i + static_cast<int>(random() % 15)));
    ::kill(child, i % 2 == 0 ? SIGTERM : SIGINT);
    const test::ProgramResult ended = wait_for(child);
    ASSERT_TRUE(ended.exit_code == 130 || ended.exit_code == 0 || ended.exit_code == -1)
        << ended.exit_code << ended.err;
    if (ended.exit_code == 130) {
      ++interrupted;
      EXPECT_EQ(ended.error_lines(), 1) << ended.err;
      EXPECT_THAT(ended.err, HasSubstr("--resume"));
      EXPECT_EQ(manifest(folder)["state"], "interrupted");
    }
    const test::ProgramResult result = run(words(folder, {"--resume"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expect_same(work() / folder, work() / "reference");
    if (ended.exit_code == 130) {
      EXPECT_EQ(manifest(folder)["sessions"].size(), 2u);
    }
  }
  EXPECT_GT(interrupted, 3);
}

TEST_F(RunStudyResume, OnAFolderThatHoldsNothingItStarts) {
  run_reference();
  ASSERT_EQ(run(words("new", {"--resume"})).exit_code, 0);
  expect_same(work() / "new", work() / "reference");
  fs::create_directories(work() / "empty");
  ASSERT_EQ(run(words("empty", {"--resume"})).exit_code, 0);
  expect_same(work() / "empty", work() / "reference");
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
  for (const auto& [change, text] : changes) {
    Words arguments = words("reference", {"--resume"});
    arguments.insert(arguments.end(), change.begin(), change.end());
    expect_refusal(arguments, 5, {"reference", text, "--force"});
  }
  EXPECT_EQ(files(work() / "reference"), before);
  // What changes no number is no difference.
  EXPECT_EQ(run(words("reference", {"--resume", "--chunk", "2"})).exit_code, 0);
}

// A title is nobody's number, and results.h5 may turn out not to fit in memory.
TEST_F(RunStudyResume, TakesAnotherTitleAndLeavesTheHdf5FileOut) {
  run_reference();
  const auto before = files(work() / "reference");
  const auto resumed = [&](Words command, const Words& more) {
    command.insert(command.end(), more.begin(), more.end());
    const test::ProgramResult result = run(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(manifest("reference")["sessions"].back()["damaged"], nlohmann::json::array());
    EXPECT_EQ(manifest("reference")["sessions"].back()["parts_computed"], 0);
    auto now = files(work() / "reference");
    for (const char* name : {"study.toml", "checksums.sha256", "results.h5"}) now[name] = before.at(name);
    EXPECT_EQ(now, before);
  };
  resumed(words("reference"), {"--resume", "--set", "title=another"});
  EXPECT_THAT(test::read_file(work() / "reference" / "study.toml"), HasSubstr("title = \"another\""));
  // also by the resolved study in the folder
  resumed({"run", "reference/study.toml", "--quiet", "--out", "reference"}, {"--resume", "--set", "output.hdf5=false"});
  EXPECT_FALSE(fs::exists(work() / "reference" / "results.h5"));
  EXPECT_THAT(test::read_file(work() / "reference" / "checksums.sha256"), testing::Not(HasSubstr("results.h5")));
  resumed(words("reference"), {"--resume"});
  EXPECT_EQ(files(work() / "reference"), before);
  EXPECT_EQ(manifest("reference")["state"], "complete");
  // a study of one's own is no resolved one, and must not be lost
  fs::create_directory(work() / "mine");
  write("mine/study.toml", kStudy);
  expect_refusal({"run", "mine/study.toml", "--out", "mine", "--force"}, 2, {"--out mine", "would replace"});
}

// The same study by another build or on another machine: its manifest says so.
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

// Without a readable manifest every part still says what it belongs to.
TEST_F(RunStudyResume, IsRefusedByThePartsAlone) {
  run_reference();
  fs::remove(work() / "reference" / "manifest.json");
  const test::ProgramResult result = run(words("reference", {"--resume", "--seed", "6"}));
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("study.seed is 5 there and 6 here"));
  EXPECT_THAT(result.err, HasSubstr(".part"));
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
  const pid_t child = start(words("shared", {"--periods", "200000", "--replications", "1"}));
  while (!fs::exists(work() / "shared" / "manifest.json")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const pid_t second = ::fork();
  if (second == 0) {
    if (::chdir(work().c_str()) == 0) {
      const int file = ::open((base_ / "second").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
      ::dup2(file, STDERR_FILENO);
      ::dup2(file, STDOUT_FILENO);
      ::execl(PANDORA_PROGRAM, "pandora", "run", "study.toml", "--out", "shared", "--resume", "--periods", "200000",
              "--replications", "1", nullptr);
    }
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(second, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  EXPECT_THAT(test::read_file(base_ / "second"), HasSubstr("another process"));
  ::kill(child, SIGKILL);
  wait_for(child);
}

// ---- damage ---------------------------------------------------------------------------------------------------------

TEST_F(RunStudyDamage, IsFoundNamedAndMendedInEveryKindOfFile) {
  run_reference();
  const auto wanted = files(work() / "reference");
  const fs::path folder = work() / "reference";
  const std::vector<std::string> names = {"parts/000-uniform-A-00001.part",
                                          "parts/000-student_t5-B-00003.part",
                                          "manifest.json",
                                          "study.toml",
                                          "summary.csv",
                                          "oracle.csv",
                                          "oracle_order.csv",
                                          "curves.csv",
                                          "boxes.csv",
                                          "choices.csv",
                                          "depth.csv",
                                          "failures.csv",
                                          "results.h5",
                                          "checksums.sha256"};
  for (const std::string& name : names) {
    const std::string bytes = test::read_file(folder / name);
    ASSERT_GT(bytes.size(), 20u) << name;
    std::string flipped = bytes;
    flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
    for (const std::string& damaged : {bytes.substr(0, bytes.size() - 1), bytes.substr(0, bytes.size() / 3),
                                       std::string(), flipped, bytes + "\n0"}) {
      std::ofstream(folder / name, std::ios::binary) << damaged;
      const test::ProgramResult result = run(words("reference", {"--resume"}));
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

// ---- failures as results --------------------------------------------------------------------------------------------

TEST_F(RunStudy, ALaneThatFailsIsAResult) {
  const Words broken = {"--set", "hyperparameters.c_rho=[0.1, 1e300]"};
  const test::ProgramResult result = run(words("out", broken));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.error_lines(), 6) << result.err;  // the first five as they happen, and the verdict
  EXPECT_THAT(result.err, HasSubstr("c_rho=1e+300 failed in period 1: a number is not finite\n"));
  EXPECT_THAT(result.err, HasSubstr("out/failures.csv"));
  EXPECT_THAT(result.out, HasSubstr("Failed lanes are left out"));
  EXPECT_EQ(manifest("out")["state"], "complete");
  std::istringstream lines(test::read_file(work() / "out" / "failures.csv"));
  std::string header, line;
  std::getline(lines, header);
  EXPECT_EQ(header, "regime,environment,replication,T0,policy,reward,c_rho,c_theta,c_b,seed,period,failure,command");
  int count = 0;
  while (std::getline(lines, line)) {
    ++count;
    EXPECT_THAT(line, HasSubstr("known,1e+300,"));
    EXPECT_THAT(line, HasSubstr(",5,1,a number is not finite," PANDORA_PROGRAM " replay study.toml --lane '"));
  }
  EXPECT_EQ(count, 4 * 4 * 2 * 2);  // groups, replications, T_0, reward known and unknown
  // The others are what they are without it.
  ASSERT_EQ(run(words("sound", {"--set", "hyperparameters.c_rho=[0.1]"})).exit_code, 0);
  const std::string summary = test::read_file(work() / "out" / "summary.csv");
  std::istringstream rows(test::read_file(work() / "sound" / "summary.csv"));
  while (std::getline(rows, line)) EXPECT_THAT(summary, HasSubstr(line + "\n"));
  EXPECT_THAT(summary, HasSubstr("known,1e+300,,,0,4,150,,,,"));
  // The command replays just that lane.
  const test::ProgramResult replay =
      run({"replay", "out/study.toml", "--lane", "uniform/A/2/7/dow/known/c_rho=1e+300"});
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("in period 1, a number is not finite"));
  const test::ProgramResult sound = run({"replay", "out/study.toml", "--lane", "uniform/A/2/7/dow/known/c_rho=0.1"});
  EXPECT_THAT(sound.out, HasSubstr("150 of 150"));
  EXPECT_THAT(sound.out, testing::Not(HasSubstr("failed")));
  expect_refusal({"replay", "out/study.toml", "--lane", "uniform/A/9/7/dow/known/c_rho=0.1"}, 2,
                 {"--lane uniform/A/9", "no such lane"});
  // Shards tell, too, and so does what they are merged to.
  for (const char* index : {"0", "1"}) {
    Words shard = words(std::string("shard") + index, {"--shard", std::string(index) + "/2"});
    shard.insert(shard.end(), broken.begin(), broken.end());
    EXPECT_EQ(run(shard).exit_code, 1);
  }
  EXPECT_EQ(run({"merge", "shard0", "shard1", "--out", "merged", "--quiet"}).exit_code, 1);
  expect_same(work() / "merged", work() / "out");
  // results.h5 has the failures: lanes by replications.
  const hid_t file = H5Fopen((work() / "out" / "results.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  for (const char* name : {"/uniform_A/failure", "/uniform_A/failed_period", "/uniform_A/periods"}) {
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    std::vector<int> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    const int of_failed = std::string(name).ends_with("periods") ? 0 : 1;
    const int of_sound = std::string(name).ends_with("periods") ? 150 : 0;
    EXPECT_EQ(std::count(values.begin(), values.end(), of_failed), 4 * 2 * 2) << name;
    EXPECT_EQ(static_cast<std::size_t>(std::count(values.begin(), values.end(), of_sound)), values.size() - 16) << name;
    H5Sclose(space);
    H5Dclose(set);
  }
  H5Fclose(file);
  // Resuming keeps the verdict.
  Words resumed = words("out", {"--resume"});
  resumed.insert(resumed.end(), broken.begin(), broken.end());
  EXPECT_EQ(run(resumed).exit_code, 1);
}

// The command in failures.csv is one that a shell runs, also where keys vary.
TEST_F(RunStudy, TheCommandOfAFailureReplaysIt) {
  write("study.toml", std::string(kStudy) + "[vary]\nperiods = [40, 80]\nestimation.refit = [\"tracking\"]\n");
  ASSERT_EQ(run(words("out", {"--set", "hyperparameters.c_rho=[1e300]", "--environment", "uniform"})).exit_code, 1);
  const std::string failures = test::read_file(work() / "out" / "failures.csv"), program = PANDORA_PROGRAM " replay";
  std::vector<std::string> commands;
  for (std::size_t at = 0; (at = failures.find(program, at)) != std::string::npos; ++at)
    commands.push_back(failures.substr(at, failures.find('\n', at) - at));
  ASSERT_EQ(commands.size(), 2u * 2 * 4 * 2 * 2);  // settings, regimes, replications, T_0, reward known and unknown
  std::set<std::string> different(commands.begin(), commands.end());
  EXPECT_EQ(different.size(), commands.size());
  for (const std::string& command : {commands.front(), commands.back()}) {
    std::string words = command;
    if (words.back() == '"') words.pop_back();  // the field's own quotes
    EXPECT_THAT(words, HasSubstr("--setting"));
    EXPECT_EQ(std::system(("cd '" + (work() / "out").string() + "' && " + words + " >../replay.out 2>&1").c_str()), 0);
    EXPECT_THAT(test::read_file(work() / "replay.out"), HasSubstr("in period 1, a number is not finite")) << words;
  }
}

// Commands that look at no signal end at the first one.
TEST_F(RunStudy, ReplayAndPlanEndAtASignal) {
  for (const Words& command : {Words{"replay", "study.toml", "--lane", "uniform/A/0/0/dow/unknown/c_rho=1;c_theta=0.1"},
                               Words{"run", "study.toml", "--plan", "--samples", "20000000"}}) {
    write("study.toml",
          std::string(kStudy).replace(std::string(kStudy).find("periods = 150"), 13, "periods = 3000000"));
    const pid_t child = start(command);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(child, SIGTERM);
    EXPECT_EQ(wait_for(child).exit_code, -1) << command[0];  // ended by it
  }
}

// ---- many processes -------------------------------------------------------------------------------------------------

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
  ASSERT_EQ(run(words("a", {"--shard", "0/2"})).exit_code, 0);
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
  std::ofstream(work() / "a" / "study.toml", std::ios::app) << "bins = 51\n";  // no longer what was run
  EXPECT_NE(run({"merge", "a", "--out", "all"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(work() / "all"));
}

// The script for Slurm, with srun and the scheduler's variables stood in for.
TEST_F(RunStudyShards, TheBatchScriptRunsTheShardsOfAnArray) {
  run_reference();
  fs::create_directory(work() / "bin");
  std::ofstream(work() / "bin" / "srun") << "#!/bin/sh\nexec \"$@\"\n";
  fs::permissions(work() / "bin" / "srun", fs::perms::owner_all);
  for (const int task : {0, 1}) {
    const std::string command =
        "cd '" + work().string() + "' && PATH=$PWD/bin:$PATH SLURM_ARRAY_TASK_ID=" + std::to_string(task) +
        " SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=2 SLURM_CPUS_PER_TASK=1 PANDORA=" + PANDORA_PROGRAM + " bash " +
        PANDORA_SOURCE + "/scripts/pandora.sbatch study.toml shards >script.out 2>&1";
    for (int again = 0; again < 2; ++again)  // submitted again it goes on
      ASSERT_EQ(std::system(command.c_str()), 0) << test::read_file(work() / "script.out");
  }
  ASSERT_EQ(run({"merge", "shards/0", "shards/1", "--quiet", "--out", "all"}).exit_code, 0);
  expect_same(work() / "all", work() / "reference");
}

// What stood in the way of the last files costs neither the parts nor what is known of their making.
TEST_F(RunStudyShards, FilesThatCannotBeWrittenLeaveAnHonestManifest) {
  run_reference();
  ASSERT_EQ(run(words("a", {"--shard", "0/2"})).exit_code, 0);
  ASSERT_EQ(run(words("b", {"--shard", "1/2"})).exit_code, 0);
  fs::create_directories(work() / "out" / "results.h5" / "in the way");
  fs::create_directories(work() / "merged" / "results.h5" / "in the way");
  EXPECT_EQ(run(words("out", {"--resume"})).exit_code, 2);  // not a folder of the program's
  EXPECT_EQ(run(words("out", {"--force"})).exit_code, 2);
  EXPECT_EQ(manifest("out")["state"], "interrupted");
  EXPECT_EQ(manifest("out")["parts_there"], 16);
  EXPECT_EQ(manifest("out")["sessions"][0]["parts_computed"], 16);
  EXPECT_EQ(run({"merge", "a", "b", "--out", "merged", "--force"}).exit_code, 2);
  EXPECT_EQ(manifest("merged")["sessions"].size(), 3u);
  for (const char* folder : {"out", "merged"}) {
    fs::remove_all(work() / folder / "results.h5");
    ASSERT_EQ(run(words(folder, {"--resume"})).exit_code, 0);
    expect_same(work() / folder, work() / "reference");
  }
  EXPECT_EQ(manifest("merged")["sessions"].size(), 4u);
}

// A study that lost a line would put wrong names and values beside the numbers.
TEST_F(RunStudyShards, MergeRefusesAStudyThatWasAltered) {
  write("study.toml", std::string(kStudy) + "[environment.uniform]\nu = 0.5\n");
  ASSERT_EQ(run(words("a")).exit_code, 0);
  const std::string text = test::read_file(work() / "a" / "study.toml");
  std::string less = text;
  less.erase(less.find("[environment.uniform]\nu = 0.5\n"), std::string("[environment.uniform]\nu = 0.5\n").size());
  std::ofstream(work() / "a" / "study.toml") << less;
  expect_refusal({"merge", "a", "--out", "all"}, 3, {"a/study.toml", "study.environment.uniform.u is 0.5 there"});
  EXPECT_FALSE(fs::exists(work() / "all"));
}

TEST_F(RunStudyShards, RanksGiveTheBytesOfOneProcess) {
  run_reference();
  // What sanitisers find in Open MPI itself is not ours.
  const std::string launch =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "
      "TSAN_OPTIONS=ignore_noninstrumented_modules=1 mpirun --oversubscribe ";
  const std::string study = std::string(PANDORA_PROGRAM) + " run study.toml --quiet --threads 1 --out ";
  const auto shell = [&](const std::string& command) {
    return WEXITSTATUS(std::system(("cd '" + work().string() + "' && " + command).c_str()));
  };
  // Its exit code; standard error goes to mpi.err.
  const auto mpirun = [&](const std::string& arguments) {
    return shell("timeout 120 env " + launch + arguments + " >mpi.out 2>mpi.err");
  };
  const auto err = [&] { return test::read_file(work() / "mpi.err"); };
  for (const int ranks : {1, 2, 3}) {
    const std::string folder = "ranks" + std::to_string(ranks);
    ASSERT_EQ(mpirun("-n " + std::to_string(ranks) + " " + study + folder), 0) << err();
    expect_same(work() / folder, work() / "reference");
    const nlohmann::json session = manifest(folder)["sessions"][0];
    EXPECT_EQ(session["ranks"], ranks);
    EXPECT_EQ(session["parts_computed"], 16);
    ASSERT_EQ(session["processes"].size(), static_cast<std::size_t>(ranks));
    for (const nlohmann::json& process : session["processes"]) EXPECT_GE(process["parts_computed"], 16 / ranks);
  }
  // Failed lanes of any rank are the run's.
  EXPECT_EQ(mpirun("-n 2 " + study + "failed --set hyperparameters.c_rho=[1e300]"), 1);
  // Killed in the middle of its parts and resumed: the same bytes.
  ASSERT_EQ(run(words("long", {"--periods", "2000"})).exit_code, 0);
  int caught = 0;
  for (const int parts : {0, 1, 5}) {
    const std::string name = "killed" + std::to_string(parts);
    const fs::path folder = work() / name;
    const std::string command = "-n 2 " + study + name + " --periods 2000 --resume";
    ASSERT_EQ(shell("{ " + launch + command + " >mpi.out 2>&1 & echo $! >pid; }"), 0);  // $! is the launcher
    const auto made = [&] {
      std::error_code error;
      return std::distance(fs::directory_iterator(folder / "parts", error), fs::directory_iterator{});
    };
    for (int i = 0; i < 6000 && !(fs::exists(folder / "manifest.json") && made() > parts); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(std::stoi(test::read_file(work() / "pid")), SIGKILL);
    caught += manifest(name)["sessions"][0]["ended"].is_null() ? 1 : 0;
    int code = 2;
    for (int i = 0; i < 300 && code == 2; ++i) {  // until the ranks have noticed and let go of the folder
      code = mpirun(command);
      if (code == 2) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ASSERT_EQ(code, 0) << err();
    expect_same(folder, work() / "long");
  }
  EXPECT_GT(caught, 0);
  // Ranks that cannot agree all end, and one of them says why.
  const std::string one = "-n 1 " + study + "apart ";
  EXPECT_EQ(mpirun(one + ": -n 1 " + PANDORA_PROGRAM + " run nowhere.toml --quiet --out apart"), 2);
  EXPECT_THAT(err(), HasSubstr("nowhere.toml: cannot be read"));
  EXPECT_FALSE(fs::exists(work() / "apart"));
  EXPECT_EQ(mpirun(one + ": " + one + "--periods 50"), 5);
  EXPECT_THAT(err(), HasSubstr("study.periods"));
  EXPECT_FALSE(fs::exists(work() / "apart"));
  // A folder that cannot be used ends all ranks with the error of one.
  EXPECT_EQ(mpirun("-n 2 " + study + "ranks2"), 2);
  EXPECT_THAT(err(), HasSubstr("ranks2: is not empty"));
}

}  // namespace
}  // namespace pandora
