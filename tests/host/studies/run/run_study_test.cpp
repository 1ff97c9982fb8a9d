// A study from its file to a folder of results: written files, refusals, and lanes that fail.
#include <set>

#include "host/ground/base/printable.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "tests/host/studies/run/hdf5_dataset.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::dataset;
using test::kStudy;
using test::Words;
using testing::HasSubstr;
using RunStudy = test::RunStudyTest;

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
  EXPECT_EQ(m["study_toml"], text("reference/study.toml"));
  EXPECT_EQ(m["sessions"].size(), 1u);
  EXPECT_EQ(m["sessions"][0]["engine"], "blocked, single precision, blocks of 32");
  EXPECT_EQ(m["sessions"][0]["processes"].size(), 1u);
  EXPECT_EQ(m["sessions"][0]["parts_computed"], 16);
  for (const char* key : {"command", "host", "backend", "threads", "started", "ended", "wall_seconds"})
    EXPECT_TRUE(m["sessions"][0].contains(key)) << key;
  for (const char* key : {"version", "revision", "compiler", "flags"}) EXPECT_TRUE(m["program"].contains(key)) << key;
  for (const char* key : {"study.seed", "build.sources", "numerics.fingerprint", "numerics.backend"})
    EXPECT_TRUE(m["identity"].contains(key)) << key;
  // `sha256sum -c` understands the checksums.
  std::istringstream lines(text("reference/checksums.sha256"));
  int count = 0;
  for (std::string digest, name; lines >> digest >> name; ++count)
    EXPECT_EQ(digest, sha256(text("reference/" + name))) << name;
  EXPECT_EQ(count, 10);
}

// The resolved study is a study, and running it gives the same results.
TEST_F(RunStudy, TheStudyInTheResultsGivesTheSameResults) {
  ASSERT_EQ(run(words("one", {"--periods", "90", "--set", "estimation.refit=tracking"})).exit_code, 0);
  Words again = words("two");
  again[1] = "one/study.toml";
  ASSERT_EQ(run(again).exit_code, 0);
  expect_same(work() / "two", work() / "one");
}

// The tables can be computed from results.h5, as docs/files.md says.
TEST_F(RunStudy, ResultsOfEveryReplicationGiveTheTables) {
  run_reference();
  const fs::path file = work() / "reference" / "results.h5";
  std::vector<hsize_t> shape;
  const std::vector<double> utility = dataset(file, "/uniform_A/utility", shape);
  ASSERT_EQ(shape.size(), 2u);
  const std::size_t lanes = shape[0], R = shape[1];
  EXPECT_EQ(R, 4u);
  auto lane = test::rows_of(text("reference/summary.csv")).at(1);
  EXPECT_EQ(lane["lane"], "0/online_plugin/known");
  double regret = 0.0;
  for (std::size_t r = 0; r < R; ++r) regret += (utility[r] - utility[R + r]) / 150.0 / static_cast<double>(R);
  EXPECT_NEAR(1000.0 * regret, std::stod(lane["regret_x1000"]), 1e-6);
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

// Boxes in results.h5 are those of choices.csv and count from 1. The former dataset that counted from 0 had another
// name.
TEST_F(RunStudy, ChoicesAreNumbersOfBoxesInEveryFile) {
  run_reference({"--replications", "2"});
  const fs::path file = work() / "reference" / "results.h5";
  std::vector<hsize_t> shape;
  const std::vector<double> length = dataset(file, "/uniform_A/choices/length", shape),
                            box = dataset(file, "/uniform_A/choices/box_number", shape);
  std::vector<double> found, wanted;
  for (std::size_t k = 0; k < box.size(); ++k) {  // lane x replication x position
    const bool is_one = static_cast<double>(k % 3) < length.at(k / 3);
    EXPECT_EQ(box[k] > 0.0, is_one);  // 0 stands for no box
    if (is_one) found.push_back(box[k]);
  }
  for (const auto& row : test::rows_of(text("reference/choices.csv")))
    if (row.at("regime") == "A" && row.at("environment") == "uniform") wanted.push_back(std::stod(row.at("box")));
  ASSERT_FALSE(wanted.empty());
  std::ranges::sort(found);
  std::ranges::sort(wanted);
  EXPECT_EQ(found, wanted);
  EXPECT_FALSE(test::has_dataset(file, "/uniform_A/choices/box"));
}

TEST_F(RunStudy, SettingsVaryInOneFolder) {
  write("study.toml", kStudy + "[vary]\nperiods = [40, 80]\nestimation.refit = [\"tracking\", \"every:9\"]\n");
  const test::ProgramResult result = run(words("out", {"--environment", "uniform"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n80       every:9           7 "));
  const std::string summary = text("out/summary.csv");
  EXPECT_THAT(summary, testing::StartsWith("periods,estimation.refit,regime,"));
  for (const char* row : {"\n40,tracking,A,", "\n40,every:9,B,", "\n80,tracking,A,", "\n80,every:9,B,"})
    EXPECT_THAT(summary, HasSubstr(row));
  // A single setting has the same numbers.
  write("study.toml", kStudy);
  ASSERT_EQ(run(words("alone", {"--environment", "uniform", "--periods", "80", "--refit", "every:9"})).exit_code, 0);
  std::vector<std::string> rows = split(text("alone/summary.csv"), '\n');
  rows.erase(rows.begin());  // the names
  for (const std::string& row : rows) EXPECT_THAT(summary, HasSubstr("\n80,every:9," + row + "\n"));
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
  for (const char* option : {"--shard", "--seed", "--grid", "--oracle-cache"})
    expect_refusal(words("x", {option, ""}), 2, {option});
  expect_refusal({"run", "study.toml", "--out", ""}, 2, {"--out"});
  expect_refusal({"reproduce", "--table", ""}, 2, {"--table"});
  EXPECT_FALSE(fs::exists(work() / "x"));
}

// A user's own files must survive, whatever their names.
TEST_F(RunStudy, DoesNotTakeOthersFilesForItsOwn) {
  fs::create_directory(work() / "u");
  std::ofstream(work() / "u" / "study.toml") << "# mine\n" << kStudy;
  for (const char* how : {"--resume", "--force"}) {
    EXPECT_EQ(run({"run", "u/study.toml", "--out", "u", how, "--quiet"}).exit_code, 2) << how;
    EXPECT_THAT(text("u/study.toml"), testing::StartsWith("# mine"));
  }
  fs::create_directory(work() / "v");
  std::ofstream(work() / "v" / "manifest.json") << "{\"mine\": 1}";
  std::ofstream(work() / "v" / "results.h5") << "mine";
  expect_refusal(words("v", {"--resume"}), 2, {"--out v", "no results of this program"});
  EXPECT_EQ(text("v/results.h5"), "mine");
  fs::create_directories(work() / "elsewhere");
  std::ofstream(work() / "elsewhere" / "my.part") << "mine";
  fs::create_directory(work() / "w");
  fs::create_directory_symlink(work() / "elsewhere", work() / "w" / "parts");
  expect_refusal(words("w", {"--force"}), 2, {"--out w", "link"});
  EXPECT_EQ(text("elsewhere/my.part"), "mine");
}

// Mistakes are refused before old results are removed.
TEST_F(RunStudy, ARefusedForceKeepsTheOldResults) {
  run_reference();
  const auto before = files(work() / "reference");
  expect_refusal(words("reference", {"--force", "--oracle-cache", "study.toml"}), 2, {"study.toml"});
  expect_refusal(words("reference", {"--force", "--devices", "7"}), 4, {});
  EXPECT_EQ(files(work() / "reference"), before);
}

TEST_F(RunStudy, OracleCacheChangesNoByte) {
  run_reference();
  ASSERT_EQ(run(words("cold", {"--oracle-cache", "cache"})).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(work() / "cache"), fs::directory_iterator{}), 16);
  ASSERT_EQ(run(words("warm", {"--oracle-cache", "cache"})).exit_code, 0);
  expect_same(work() / "cold", work() / "reference");
  expect_same(work() / "warm", work() / "reference");
}

// ---- failures as results --------------------------------------------------------------------------------------------

// Expects that so many pairs of lane and replication failed in their first period.
void expect_failures_in(const fs::path& hdf5, int failed) {
  for (const std::string name : {"/uniform_A/failure", "/uniform_A/failed_period", "/uniform_A/periods"}) {
    std::vector<hsize_t> shape;
    const std::vector<double> values = dataset(hdf5, name, shape);
    const bool periods = name.ends_with("periods");
    EXPECT_EQ(std::ranges::count(values, periods ? 0 : 1), failed) << name;
    EXPECT_EQ(std::ranges::count(values, periods ? 150 : 0), std::ssize(values) - failed) << name;
  }
}

TEST_F(RunStudy, ALaneThatFailsIsAResult) {
  const Words broken = {"--set", "hyperparameters.c_rho=[0.1, 1e300]"};
  const test::ProgramResult result = run(words("out", broken));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.error_lines(), 6) << result.err;  // the first five failures, and the verdict
  EXPECT_THAT(result.err, HasSubstr("c_rho=1e+300 failed in period 1: a number is not finite\n"));
  EXPECT_THAT(result.err, HasSubstr("out/failures.csv"));
  EXPECT_THAT(result.out, HasSubstr("Failed lanes are left out"));
  EXPECT_EQ(manifest("out")["state"], "complete");
  std::vector<std::string> lines = split(text("out/failures.csv"), '\n');
  EXPECT_EQ(lines[0], "regime,environment,replication,T0,policy,reward,c_rho,c_theta,c_b,seed,period,failure,command");
  EXPECT_EQ(lines.size(), 1u + 4 * 4 * 2 * 2);  // groups, replications, T_0, reward known and unknown
  for (std::size_t k = 1; k < lines.size(); ++k) {
    EXPECT_THAT(lines[k], HasSubstr("known,1e+300,"));
    EXPECT_THAT(lines[k], HasSubstr(",5,1,a number is not finite," PANDORA_PROGRAM " replay study.toml --lane '"));
  }
  // The other lanes are the same as without it.
  ASSERT_EQ(run(words("sound", {"--set", "hyperparameters.c_rho=[0.1]"})).exit_code, 0);
  const std::string summary = text("out/summary.csv");
  for (const std::string& line : split(text("sound/summary.csv"), '\n')) EXPECT_THAT(summary, HasSubstr(line + "\n"));
  EXPECT_THAT(summary, HasSubstr("known,1e+300,,,0,4,150,,,,"));
  // The command replays this lane.
  const test::ProgramResult replay =
      run({"replay", "out/study.toml", "--lane", "uniform/A/2/7/dow/known/c_rho=1e+300"});
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("in period 1, a number is not finite"));
  const test::ProgramResult sound = run({"replay", "out/study.toml", "--lane", "uniform/A/2/7/dow/known/c_rho=0.1"});
  EXPECT_THAT(sound.out, AllOf(HasSubstr("150 of 150"), Not(HasSubstr("failed"))));
  expect_refusal({"replay", "out/study.toml", "--lane", "uniform/A/9/7/dow/known/c_rho=0.1"}, 2,
                 {"--lane uniform/A/9", "no such lane"});
  // Shards report failures too, and so does the merged folder.
  for (const char* shard : {"0/2", "1/2"})
    EXPECT_EQ(run(words(std::string("shard") + shard[0], broken, {"--shard", shard})).exit_code, 1);
  EXPECT_EQ(run({"merge", "shard0", "shard1", "--out", "merged", "--quiet"}).exit_code, 1);
  expect_same(work() / "merged", work() / "out");
  expect_failures_in(work() / "out" / "results.h5", 4 * 2 * 2);
  // Resuming keeps the verdict.
  EXPECT_EQ(run(words("out", {"--resume"}, broken)).exit_code, 1);
}

// A shell can run the command in failures.csv, also if keys vary.
TEST_F(RunStudy, TheCommandOfAFailureReplaysIt) {
  write("study.toml", kStudy + "[vary]\nperiods = [40, 80]\nestimation.refit = [\"tracking\"]\n");
  ASSERT_EQ(run(words("out", {"--set", "hyperparameters.c_rho=[1e300]", "--environment", "uniform"})).exit_code, 1);
  const std::string failures = text("out/failures.csv"), program = PANDORA_PROGRAM " replay";
  std::vector<std::string> commands;
  for (std::size_t at = 0; (at = failures.find(program, at)) != std::string::npos; ++at)
    commands.push_back(failures.substr(at, failures.find('\n', at) - at));
  ASSERT_EQ(commands.size(), 2u * 2 * 4 * 2 * 2);  // settings, regimes, replications, T_0, reward known and unknown
  std::set<std::string> different(commands.begin(), commands.end());
  EXPECT_EQ(different.size(), commands.size());
  for (const std::string& command : {commands.front(), commands.back()}) {
    std::string words = command;
    if (words.back() == '"') words.pop_back();  // the quotes of the field
    EXPECT_THAT(words, HasSubstr("--setting"));
    EXPECT_EQ(std::system(("cd '" + (work() / "out").string() + "' && " + words + " >../replay.out 2>&1").c_str()), 0);
    EXPECT_THAT(text("replay.out"), HasSubstr("in period 1, a number is not finite")) << words;
  }
}

// Commands that do not handle signals end at the first one.
TEST_F(RunStudy, ReplayAndPlanEndAtASignal) {
  for (const Words& command : {Words{"replay", "study.toml", "--lane", "uniform/A/0/0/dow/unknown/c_rho=1;c_theta=0.1"},
                               Words{"run", "study.toml", "--plan", "--samples", "20000000"}}) {
    write("study.toml", std::string(kStudy).replace(kStudy.find("periods = 150"), 13, "periods = 3000000"));
    const pid_t child = start(command);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(child, SIGTERM);
    EXPECT_EQ(wait_for(child).exit_code, -1) << command[0];  // the signal ended it
  }
}

}  // namespace
}  // namespace pandora
