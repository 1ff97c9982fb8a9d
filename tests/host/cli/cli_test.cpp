// The program as its users meet it: exit codes, one line per error, whole files or none.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "pandora/policy.hpp"
#include "tests/host/run_program.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;
using Words = std::vector<std::string>;

Words split(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The smallest run that writes every file.
Words tiny(const Words& more = {}) {
  Words words = split(
      "reproduce --environment uniform --regime A --periods 50 --samples 2000 --replications 2 --t0 0,5 "
      "--policy online_plugin,frugalgpt --set dimensions.radius_draws=2000 --quiet");
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The same run with another value of one option.
Words tiny_with(const std::string& option, const std::string& value) {
  Words words = tiny();
  const auto given = std::find(words.begin(), words.end(), option);
  if (given == words.end()) return tiny({option, value});
  *(given + 1) = value;
  return words;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

const std::vector<std::string> kFiles = {
    "boxes.csv",  "checksums.sha256", "choices.csv", "curves.csv", "depth.csv",  "failures.csv", "manifest.json",
    "oracle.csv", "oracle_order.csv", "parts",       "results.h5", "study.toml", "summary.csv"};

class Cli : public test::ProgramTest {
 protected:
  // One line on standard error that names every part; nothing on standard output.
  void expect_refusal(const Words& arguments, int exit_code, const std::vector<std::string>& parts) {
    const test::ProgramResult result = run(arguments);
    SCOPED_TRACE(testing::PrintToString(arguments));
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_THAT(result.err, testing::StartsWith("pandora: "));
    for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(result.out, "");
  }
};
using CliReproduce = Cli;
using CliRefusal = Cli;
using CliOracle = Cli;

TEST_F(CliReproduce, WritesEveryFileAndNothingElse) {
  const test::ProgramResult result = run(tiny({"--out", "results_here"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("Online plug-in, known"));
  EXPECT_EQ(names_in(work()), std::vector<std::string>{"results_here"});
  EXPECT_EQ(names_in(work() / "results_here"), kFiles);
  const std::string summary = test::read_file(work() / "results_here" / "summary.csv");
  // oracle 2, plug-in 2 x 2, FrugalGPT 1 (not at T_0 = 0)
  EXPECT_EQ(std::count(summary.begin(), summary.end(), '\n'), 1 + 2 + 4 + 1);
  EXPECT_THAT(summary, testing::StartsWith("regime,environment,T0,policy,reward,c_rho,c_theta,c_b,"));

  const auto manifest = nlohmann::json::parse(test::read_file(work() / "results_here" / "manifest.json"));
  EXPECT_EQ(manifest["study"]["periods"], 50);
  EXPECT_EQ(manifest["study"]["replications"], 2);
  EXPECT_EQ(manifest["study"]["oracle"]["samples"], 2000);
  EXPECT_EQ(manifest["study"]["T0"], nlohmann::json({0, 5}));
  EXPECT_EQ(manifest["study"]["estimation"]["refit"], "geometric:1.5");
  EXPECT_EQ(manifest["study"]["seed"], 1);
  EXPECT_EQ(manifest["study"]["environments"][0], "uniform");
  EXPECT_EQ(manifest["sessions"][0]["backend"], "cpu");
  EXPECT_THAT(manifest["sessions"][0]["command"].get<std::string>(), HasSubstr("reproduce --environment uniform"));
}

// All policies at seven boxes; nobody names FrugalGPT, and nobody is told of it.
TEST_F(CliReproduce, MoreBoxesThanFrugalGptSearchesWhole) {
  const test::ProgramResult result =
      run(split("reproduce --plan --set dimensions.boxes=7 --periods 50 --samples 1000 --regime A --t0 5"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(run(split("policies")).out, HasSubstr("at most 5 boxes for A = 6"));
  const test::ProgramResult named = run(tiny({"--set", "dimensions.boxes=7", "--out", "seven"}));
  ASSERT_EQ(named.exit_code, 0) << named.err;
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
  loud.pop_back();  // --quiet
  const test::ProgramResult result = run(loud);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(names_in(work() / "results"), std::vector<std::string>{"001"});
  EXPECT_EQ(names_in(work() / "results" / "001"), kFiles);
  const std::string first_line = result.out.substr(0, result.out.find('\n'));
  EXPECT_THAT(first_line, HasSubstr("backend cpu"));
  EXPECT_THAT(first_line, HasSubstr("results/001"));
  EXPECT_THAT(result.err, HasSubstr("100%"));  // progress
}

TEST_F(CliReproduce, WritesTheFilesOfTheTableThatIsAskedFor) {
  Words table3 = split("reproduce --table 3 --environment uniform --samples 2000 --replications 1 --quiet --out order");
  ASSERT_EQ(run(table3).exit_code, 0);
  EXPECT_EQ(names_in(work() / "order"),
            (std::vector<std::string>{"checksums.sha256", "manifest.json", "oracle_order.csv", "parts", "results.h5",
                                      "study.toml"}));
  ASSERT_EQ(run(tiny({"--table", "1", "--out", "regret"})).exit_code, 0);
  std::vector<std::string> files = kFiles;
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

TEST_F(CliRefusal, UnknownNames) {
  expect_refusal(tiny_with("--policy", "greedy"), 2, {"--policy greedy", "pandora policies"});
  expect_refusal(tiny_with("--policy", "DOW"), 2, {"--policy DOW", "nearest is dow"});
  expect_refusal(tiny({"--set", "foo=1"}), 2, {"--set foo=1", "pandora run --print-defaults"});
  expect_refusal(split("reproduce --environment cauchy"), 2, {"--environment cauchy", "uniform, gaussian, student_t5"});
  expect_refusal(split("reproduce --environment unifrom"), 2, {"--environment unifrom", "the nearest is uniform"});
  expect_refusal(split("reproduce --regime C"), 2, {"--regime C", "A, B"});
  expect_refusal(tiny_with("--table", "4"), 2, {"--table 4", "1, 2, 3 or all"});
  expect_refusal(tiny_with("--refit", "sometimes"), 2,
                 {"--refit sometimes", "every_period", "geometric:g", "tracking"});
  expect_refusal(tiny_with("--refit", "geometric:1"), 2, {"--refit geometric:1", "g > 1"});
  expect_refusal(tiny_with("--backend", "tpu"), 2, {"--backend tpu", "auto, cpu or cuda"});
  for (const char* grid : {"61x21", "61x21x1", "61x21x61x1", "ax2x2", "-3x21x61", "61x21x99999"})
    expect_refusal(tiny_with("--grid", grid), 2, {std::string("--grid ") + grid, "LxSxC"});
  EXPECT_TRUE(fs::is_empty(work()));
}

TEST_F(CliRefusal, CudaThatIsAskedForAndAbsent) {
  expect_refusal(tiny_with("--backend", "cuda"), 4, {"--backend cuda", "--backend cpu or auto"});
  EXPECT_TRUE(fs::is_empty(work()));
}

TEST_F(CliRefusal, CountsOutOfRange) {
  for (const char* option : {"--replications", "--periods", "--samples"})
    for (const char* value : {"0", "-3"})
      expect_refusal(tiny_with(option, value), 2, {std::string(option) + " " + value, "at least"});
  expect_refusal(tiny_with("--threads", "-1"), 2, {"--threads -1", "at least 0"});
  expect_refusal(tiny_with("--t0", "-5"), 2, {"--t0 -5", "at least 0"});
  expect_refusal(tiny_with("--t0", "5,5"), 2, {"--t0 5", "each once"});
  for (const char* option : {"--eta-index", "--eta-reward"})
    for (const char* value : {"0", "-1", "nan"})
      expect_refusal(tiny_with(option, value), 2, {std::string(option) + " " + value, "out of range"});
  expect_refusal(split("reproduce --environment uniform,uniform"), 2, {"--environment uniform", "each once"});
  expect_refusal(split("reproduce --regime B,B"), 2, {"--regime B", "each once"});
  EXPECT_TRUE(fs::is_empty(work()));
}

// A ridge that is not a number one can add must not become a defect of the program.
TEST_F(CliRefusal, InfiniteRidge) {
  expect_refusal(tiny_with("--eta-index", "inf"), 2, {"--eta-index inf"});
  expect_refusal(tiny_with("--eta-reward", "inf"), 2, {"--eta-reward inf"});
}

TEST_F(CliRefusal, WordsThatAreNotNumbers) {
  for (const char* option : {"--replications", "--periods", "--samples", "--threads", "--t0", "--eta-index"})
    for (const char* value : {"many", "5x", "1.5", "99999999999999999999999"})
      if (std::string(option) != "--eta-index" || (value[0] != '9' && value[0] != '1'))
        expect_refusal(tiny_with(option, value), 2, {option, value});
  for (const char* value : {"-1", "many", "5x", "99999999999999999999999"})
    expect_refusal(tiny_with("--seed", value), 2, {std::string("--seed ") + value, "integer"});
}

TEST_F(CliRefusal, UnknownCommand) {
  expect_refusal(split("paint"), 2, {"paint", "--help"});
  expect_refusal(split("reprodcue --periods 5"), 2, {"reprodcue", "nearest is reproduce", "`pandora --help`"});
  expect_refusal(split("oracle chek"), 2, {"oracle chek", "nearest is check", "`pandora oracle --help`"});
}

TEST_F(CliRefusal, UnknownWords) {
  expect_refusal(split("reproduce --polcy dow"), 2, {"--polcy", "nearest is --policy", "--help"});
  expect_refusal(split("oracle check --solve=5"), 2, {"--solve=5", "nearest is --solves", "--help"});
  expect_refusal(split("reproduce table1"), 2, {"table1", "--help"});
  expect_refusal({}, 2, {"subcommand", "--help"});
  expect_refusal(split("reproduce --periods"), 2, {"--periods", "--help"});
}

TEST_F(CliRefusal, TableOfAnotherRegime) {
  expect_refusal(split("reproduce --table 1 --regime B"), 2, {"--table 1", "--regime A"});
  expect_refusal(split("reproduce --table 2 --regime A,B"), 2, {"--table 2", "--regime B"});
}

TEST_F(CliRefusal, FoldersThatCannotTakeResults) {
  std::ofstream(work() / "file") << "mine";
  expect_refusal(tiny({"--out", "file"}), 2, {"--out file", "name a folder"});
  expect_refusal(tiny({"--out", "file", "--force"}), 2, {"--out file", "name a folder"});
  expect_refusal(tiny({"--out", "/proc/pandora"}), 2, {"--out /proc/pandora", "writable folder"});
  EXPECT_EQ(test::read_file(work() / "file"), "mine");
  if (::geteuid() == 0) return;  // root writes where permissions forbid it
  fs::create_directory(work() / "locked");
  fs::permissions(work() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  expect_refusal(tiny({"--out", "locked"}), 2, {"--out locked", "writable folder"});
}

// Half-written files must not appear under any name: each is absent or as in a run on a disk with room.
void expect_whole_files(const fs::path& folder, const fs::path& reference) {
  for (const std::string& name : names_in(folder)) {
    ASSERT_TRUE(fs::exists(reference / name)) << name;
    if (fs::is_directory(folder / name)) {
      expect_whole_files(folder / name, reference / name);
      continue;
    }
    if (name == "manifest.json") continue;  // has times
    EXPECT_EQ(test::read_file(folder / name), test::read_file(reference / name)) << name;
  }
}

// A limit on file sizes stops a write half way like a full disk. Standard output goes to a file too, but is
// smaller.
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

// What was finished stays (tests/host/run/resume_test.cpp resumes it), tables do not appear.
TEST_F(CliReproduce, InterruptGivesCode130AndNoTable) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string folder = signal == SIGINT ? "int" : "term";
    const pid_t child = start(
        split("reproduce --environment uniform --regime A --periods 1000 --samples 2000 --replications 500 --t0 0 "
              "--policy online_plugin --threads 1 --out " +
              folder));
    while (test::read_file(base_ / "out").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(child, signal);
    const test::ProgramResult result = wait_for(child);
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_THAT(result.err, HasSubstr("interrupted"));
    EXPECT_FALSE(fs::exists(work() / folder / "summary.csv"));
  }
}

// Every command that takes long must end at the first signal, not only `reproduce`.
TEST_F(CliOracle, InterruptEndsTheOtherCommandsToo) {
  const std::vector<Words> commands = {
      split("oracle order --environment uniform --samples 1000 --replications 400 --contexts 50 --threads 1"),
      split("calibrate --environment uniform --samples 1000 --replications 400 --contexts 5")};
  for (const Words& command : commands) {
    const pid_t child = start(command);
    ASSERT_TRUE(wait_until_it_catches(child, SIGINT)) << command[0] << test::read_file(base_ / "err");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // into the work, which takes many seconds
    ::kill(child, SIGINT);
    EXPECT_EQ(wait_for(child).exit_code, 130) << command[0];  // one that ran on would end with 0
  }
}

// The command line is recorded as it was, or at least does not cost a run its results.
TEST_F(CliReproduce, FolderNamesNeedNotBeUtf8) {
  const test::ProgramResult result = run(tiny({"--out", "caf\xe9"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(names_in(work() / "caf\xe9"), kFiles);
}

TEST_F(CliOracle, IndexPrintsSigmaAndItsError) {
  const test::ProgramResult result =
      run(split("oracle index --environment gaussian --ell 0.3 --scale 1.5 --cost 0.05 --samples 20000"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  double sigma = 0.0, standard_error = 0.0;
  ASSERT_EQ(std::sscanf(result.out.c_str(), "sigma %lf\nmonte_carlo_se %lf", &sigma, &standard_error), 2) << result.out;
  // E[(G(0.3 + 1.5 w) - sigma)^+] for a standard normal w, by a fine sum
  double excess = 0.0;
  for (double w = -8.0; w <= 8.0; w += 1e-3)
    excess += 1e-3 * std::exp(-0.5 * w * w) / std::sqrt(2.0 * M_PI) *
              std::max(1.0 / (1.0 + std::exp(-0.3 - 1.5 * w)) - sigma, 0.0);
  EXPECT_NEAR(excess, 0.05, 0.004);  // five standard errors, and the truncation of one per cent
  EXPECT_GT(standard_error, 0.0);
  EXPECT_LT(standard_error, 0.01);
}

TEST_F(CliOracle, IndexRefusesBadNumbers) {
  const auto with = [](const std::string& option, const std::string& value) {
    Words words = split("oracle index --environment uniform --samples 2000");
    for (const char* given : {"--ell", "--scale", "--cost"}) {
      words.push_back(given);
      words.push_back(given == option ? value : "0.5");
    }
    return words;
  };
  expect_refusal(with("--cost", "0"), 2, {"--cost 0", "above 0"});
  expect_refusal(with("--scale", "-1"), 2, {"--scale -1", "above 0"});
  expect_refusal(with("--ell", "inf"), 2, {"--ell inf", "finite"});
  expect_refusal(split("oracle index --environment uniform"), 2, {"--ell", "required"});
  expect_refusal(split("oracle"), 2, {"subcommand"});
}

// An environment of a study's own, in less than a hundred coordinates.
constexpr const char* kOwnStudy =
    "environments = [\"own\"]\nreplications = 2\n[dimensions]\ncontext = 5\noutput = 10\nradius_draws = "
    "2000\n[oracle]\norder_contexts = "
    "20\n"
    "samples = 1000\n[environment.own]\nlaw = \"gaussian\"\nscale = 2\ntruncation_radius = inf\nu = 0.2\nstream = 9\n";

TEST_F(CliOracle, IndexTakesAStudyWithEnvironmentsOfItsOwn) {
  std::ofstream(work() / "own.toml") << kOwnStudy;
  const Words index = split("oracle index own.toml --ell 0.3 --scale 1.5 --cost 0.05");
  const auto with = [&](const std::string& more) {
    Words words = index;
    for (const std::string& word : split(more)) words.push_back(word);
    const test::ProgramResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string out = with("");  // its one environment need not be named
  EXPECT_THAT(out, testing::StartsWith("sigma "));
  EXPECT_EQ(with("--environment own"), out);
  EXPECT_NE(with("--set environment.own.scale=1"), out);
  EXPECT_NE(with("--seed 2"), out);
  EXPECT_NE(with("--set oracle.samples=2e3"), out);
  std::ofstream(work() / "varied.toml") << kOwnStudy << "[vary]\nenvironment.own.scale = [1, 2]\n";
  const test::ProgramResult varied = run(split("oracle index varied.toml --ell 0.3 --scale 1.5 --cost 0.05"));
  EXPECT_THAT(varied.out, AllOf(HasSubstr("==== environment.own.scale=1 ===="), HasSubstr("scale=2 ====\n" + out)));
  expect_refusal(split("oracle index --ell 0.3 --scale 1.5 --cost 0.05"), 2,
                 {"--environment", "one of uniform, gaussian, student_t5"});
  expect_refusal(split("oracle index own.toml --environment onw --ell 0.3 --scale 1.5 --cost 0.05"), 2,
                 {"--environment onw", "nearest is own"});
}

TEST_F(CliOracle, OrderAndCheckPrintTheirTables) {
  const test::ProgramResult order =
      run(split("oracle order --environment uniform --replications 2 --contexts 50 --samples 1000 --grid 5x5x5"));
  ASSERT_EQ(order.exit_code, 0) << order.err;
  EXPECT_THAT(order.out, HasSubstr("uniform, regime A"));
  EXPECT_THAT(order.out, HasSubstr("uniform, regime B"));
  const test::ProgramResult check =
      run(split("oracle check --environment uniform --replications 1 --contexts 50 --samples 1000 --grid "
                "5x5x5 --solves 5"));
  ASSERT_EQ(check.exit_code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("grid max"));
  EXPECT_EQ(std::count(check.out.begin(), check.out.end(), '\n'), 4);
}

TEST_F(CliOracle, CountsOutOfRangeAreNamedWithTheirValue) {
  expect_refusal(split("oracle order --replications 0"), 2, {"--replications 0", "at least 1"});
  expect_refusal(split("oracle check --solves -2"), 2, {"--solves -2", "at least 1"});
  expect_refusal(split("calibrate --contexts 0"), 2, {"--contexts 0", "at least 1"});
}

TEST_F(Cli, CalibratePrintsOneLinePerEnvironment) {
  const test::ProgramResult result =
      run(split("calibrate --environment uniform --replications 2 --contexts 20 --samples 1000"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2) << result.out;
  EXPECT_THAT(result.out, HasSubstr("uniform"));
  EXPECT_THAT(result.out, HasSubstr("0.23"));
  const std::string one =
      run(split("calibrate --environment uniform --replications 1 --contexts 20 --samples 1000")).out;
  EXPECT_THAT(one, HasSubstr("± ---"));  // one replication has no interval
}

TEST_F(Cli, CalibrateTakesAStudyWithEnvironmentsOfItsOwn) {
  std::ofstream(work() / "own.toml") << kOwnStudy;
  const auto with = [&](const std::string& more) {
    const test::ProgramResult result = run(split("calibrate own.toml --contexts 20 " + more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string two = with("--replications 2");
  EXPECT_THAT(two, AllOf(HasSubstr("\nown "), HasSubstr("study's u"), HasSubstr("0.20\n")));
  EXPECT_EQ(with("--set replications=2"), two);
  EXPECT_NE(with("--replications 2 --set dimensions.boxes=2"), two);
  // A study's replications are meant for its sweep.
  EXPECT_NE(with("--regime A"), with("--regime A --replications 2"));
  EXPECT_EQ(with("--replications 2 --environment own,uniform --set environment.uniform.u=0.5").find(two.substr(0, 40)),
            0u);
}

TEST_F(Cli, CalibrateRefusesWhatCannotBeReached) {
  const Words tiny_search =
      split("calibrate --environment uniform --replications 1 --contexts 10 --samples 1000 --boxes");
  Words nine = tiny_search, none = tiny_search;
  nine.push_back("9");
  none.push_back("0");
  const test::ProgramResult result = run(nine);  // the table's head may already be printed
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error_lines(), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--boxes 9"));
  expect_refusal(none, 2, {"--boxes 0", "above 0"});
}

TEST_F(Cli, ListsPoliciesVersionAndHelp) {
  const test::ProgramResult policies = run(split("policies"));
  EXPECT_EQ(policies.exit_code, 0);
  EXPECT_EQ(std::count(policies.out.begin(), policies.out.end(), '\n'), std::ssize(all_policies()));
  for (const char* name : {"oracle", "dow", "frugalgpt", "query_all"}) EXPECT_THAT(policies.out, HasSubstr(name));
  const test::ProgramResult version = run(split("--version"));
  EXPECT_EQ(version.exit_code, 0);
  for (const char* part : {"pandora", "revision", "compiler", "flags", "cuda"})
    EXPECT_THAT(version.out, HasSubstr(part));
  for (const Words& words : {Words{"--help"}, Words{"reproduce", "--help"}, Words{"oracle", "index", "--help"}}) {
    const test::ProgramResult help = run(words);
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_THAT(help.out, HasSubstr("Usage"));
  }
  for (const char* code : {"0 done", "1 lanes failed", "2 usage", "3 bad data", "4 device", "5 results of another",
                           "6 results could not", "130 interrupted"})
    EXPECT_THAT(run(split("--help")).out, HasSubstr(code));
}

}  // namespace
}  // namespace pandora
