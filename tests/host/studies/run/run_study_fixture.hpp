// A small study and its folders of results.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "host/ground/base/printable.hpp"
#include "tests/host/run_program.hpp"

namespace pandora::test {

/// A study of three policies at two T_0. `environments` is written as in TOML, without the brackets.
inline std::string small_study_text(int replications, int periods, const std::string& environments, int radius_draws) {
  return "title = \"small\"\nseed = 5\nreplications = " + std::to_string(replications) +
         "\nperiods = " + std::to_string(periods) + "\nT0 = [0, 7]\nenvironments = [" + environments + R"(]
policies = ["online_plugin", "dow", "frugalgpt"]
[dimensions]
context = 12
reward_features = 3
output = 10
radius_draws = )" +
         std::to_string(radius_draws) + R"(
[environment.student_t5]
truncation_radius = 6
[hyperparameters]
c_rho = [0.1, 1]
c_theta = [0.1]
[oracle]
samples = 1000
grid = [5, 4, 5]
bins = 50
order_contexts = 20
)";
}
inline const std::string kStudy = small_study_text(4, 150, R"("uniform", "student_t5")", 2000);

/// The smallest study that simulates a policy. Tests add its periods and other keys.
inline const std::string kTinyStudy = R"(seed = 5
replications = 2
T0 = [0]
environments = ["uniform"]
policies = ["query_all"]
dimensions.context = 2
dimensions.reward_features = 2
dimensions.output = 2
dimensions.radius_draws = 500
oracle.samples = 1000
oracle.grid = [3, 3, 3]
oracle.bins = 10
)";

/// The options that set these values.
inline Words set(const Words& values) {
  Words out;
  for (const std::string& value : values) out.insert(out.end(), {"--set", value});
  return out;
}

/// Options that make a run quick. They also leave few solves to the fingerprint of the arithmetic, which every start
/// computes.
inline const Words kFewSolves = {"--refit", "geometric:10", "--periods", "40"};
inline const Words kQuick =
    joined(kFewSolves, {"--regime", "A"},  // 8 parts
           set({"dimensions.context=2", "dimensions.output=2", "dimensions.reward_features=2"}));

/// The rows of a CSV file without quotes, by the names of its columns.
inline std::vector<std::map<std::string, std::string>> rows_of(const std::string& csv) {
  const std::vector<std::string> lines = split(csv, '\n'), names = split(lines.at(0), ',');
  std::vector<std::map<std::string, std::string>> out(lines.size() - 1);
  for (std::size_t row = 0; row < out.size(); ++row) {
    const std::vector<std::string> cells = split(lines[row + 1] + ',', ',');  // a last empty one counts
    for (std::size_t k = 0; k < names.size(); ++k) out[row][names[k]] = cells.at(k);
  }
  return out;
}

/// Runs of a small study, compared file by file.
class RunStudyTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("study.toml", kStudy);
  }

  void write(const std::string& name, const std::string& text) { std::ofstream(work() / name) << text; }

  Words words(const std::string& folder, const Words& more = {}, const Words& others = {}) const {
    return joined({"run", "study.toml", "--quiet", "--threads", "2", "--out", folder}, more, others);
  }

  // All files by their paths in the folder, except the manifest, which has times.
  std::map<std::string, std::string> files(const std::filesystem::path& folder) const {
    std::map<std::string, std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().filename() != "manifest.json")
        out[std::filesystem::relative(entry.path(), folder).string()] = read_file(entry.path());
    return out;
  }

  void expect_same(const std::filesystem::path& folder, const std::filesystem::path& reference) {
    const auto found = files(folder), wanted = files(reference);
    for (const auto& [name, bytes] : wanted) {
      ASSERT_TRUE(found.count(name)) << folder << " lacks " << name;
      EXPECT_TRUE(found.at(name) == bytes) << name << " differs in " << folder;
    }
    for (const auto& [name, bytes] : found) EXPECT_TRUE(wanted.count(name)) << folder << " has " << name;
  }

  nlohmann::json manifest(const std::string& folder) const {
    return nlohmann::json::parse(read_file(work() / folder / "manifest.json"));
  }

  // The number of a run's visible steps so far: its manifest, its parts, and its last files.
  int steps_done(const std::string& folder) const {
    namespace fs = std::filesystem;
    int steps = 0;
    for (const char* name : {"manifest.json", "summary.csv", "results.h5", "checksums.sha256"})
      steps += fs::exists(work() / folder / name) ? 1 : 0;
    std::error_code error;
    for (fs::directory_iterator part(work() / folder / "parts", error); !error && part != fs::directory_iterator{};
         part.increment(error))
      steps += part->path().extension() == ".part" ? 1 : 0;
    return steps;
  }

  // Waits until a run has made so many steps or has ended.
  void wait_for_steps(pid_t child, const std::string& folder, int steps) const {
    while (steps_done(folder) < steps && !has_ended(child)) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

  // A file in the program's directory.
  std::string text(const std::string& name) const { return read_file(work() / name); }

  // Makes the undisturbed run with which other runs are compared.
  void run_reference(const Words& more = {}) {
    ASSERT_EQ(run(words("reference", more)).exit_code, 0) << read_file(base_ / "err");
  }

  // Runs the study into a folder and expects the reference's bytes.
  void expect_reference(const std::string& folder, const Words& more = {}, const Words& others = {}) {
    const ProgramResult result = run(words(folder, more, others));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expect_same(work() / folder, work() / "reference");
  }

  // Expects the same bytes from a study however it is run: whole, in two shards, extended from a part of it, and
  // resumed after one part is lost.
  void expect_same_however_run(const Words& study, const Words& part_of_it = {"--replications", "2"}) {
    run_reference(study);
    for (const char* shard : {"0/2", "1/2"})
      ASSERT_EQ(run(words(std::string("shard") + shard[0], study, {"--shard", shard})).exit_code, 0);
    ASSERT_EQ(run({"merge", "--quiet", "--out", "merged", "shard0", "shard1"}).exit_code, 0);
    expect_same(work() / "merged", work() / "reference");
    ASSERT_EQ(run(words("grown", study, part_of_it)).exit_code, 0);
    expect_reference("grown", study, {"--extend"});
    std::filesystem::remove(std::filesystem::directory_iterator(work() / "grown/parts")->path());
    expect_reference("grown", study, {"--resume"});
  }
};

/// Tests with many runs.
class ManyRunsTest : public RunStudyTest {
 protected:
  std::filesystem::path parent() const override { return in_memory(); }
};

}  // namespace pandora::test
