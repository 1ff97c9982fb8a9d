// A study of scenarios from its file to a folder, and commands that read the folder.
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ScenariosRun : public test::ManyRunsTest {
 protected:
  void SetUp() override {
    ManyRunsTest::SetUp();
    write("study.toml", test::kStudy + R"([scenario.base]
[scenario.late]
feedback.delay = 20
[scenario.swapped]
environment.uniform.drift = "swap:30"
[scenario.short]
periods = 40
)");
  }

  test::Words run_words(const std::string& folder, const test::Words& more = {}) const {
    return words(folder, {"--environment", "uniform", "--regime", "A"}, more);
  }

  // The rows of one scenario in a CSV file, without the column of the scenario.
  std::vector<std::string> rows(const std::string& file, const std::string& scenario) const {
    std::vector<std::string> out;
    const std::string lead = scenario.empty() ? "" : scenario + ",";
    for (const std::string& line : split(text(file), '\n'))
      if (line.starts_with(lead)) out.push_back(line.substr(lead.size()));
    return out;
  }
};

TEST_F(ScenariosRun, HasTheNumbersThatEachHasAlone) {
  const test::ProgramResult result = run(run_words("out"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("scenario"));
  EXPECT_THAT(text("out/summary.csv"), testing::StartsWith("scenario,regime,environment,"));
  EXPECT_THAT(text("out/study.toml"), HasSubstr("\n[scenario.base]\n\n[scenario.late]\nfeedback.delay = \"20\"\n"));
  const std::map<std::string, test::Words> alone = {{"base", {}},
                                                    {"late", {"--set", "feedback.delay=20"}},
                                                    {"swapped", {"--set", "environment.uniform.drift=swap:30"}},
                                                    {"short", {"--periods", "40"}}};
  for (const auto& [name, options] : alone) {
    write("study.toml", test::kStudy);
    ASSERT_EQ(run(run_words(name, options)).exit_code, 0) << name;
    std::vector<std::string> wanted = rows(name + "/summary.csv", "");
    wanted.erase(wanted.begin());
    EXPECT_EQ(rows("out/summary.csv", name), wanted) << name;
  }
  EXPECT_NE(rows("out/summary.csv", "base"), rows("out/summary.csv", "late"));
}

TEST_F(ScenariosRun, GrowsResumesAndIsPutTogetherFromShards) {
  expect_same_however_run({"--environment", "uniform", "--regime", "A"});
  fs::remove_all(work() / "grown" / "parts");
  ASSERT_EQ(run(run_words("grown", {"--resume"})).exit_code, 0);
  expect_same(work() / "grown", work() / "reference");
  EXPECT_EQ(run(run_words("grown", {"--resume", "--set", "scenario.late.feedback.delay=21"})).exit_code, 5);
  const test::ProgramResult again = run({"run", "reference/study.toml", "--quiet", "--out", "again"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  expect_same(work() / "again", work() / "reference");
}

TEST_F(ScenariosRun, IsComparedReplayedAndExplainedByName) {
  ASSERT_EQ(run(run_words("out")).exit_code, 0);
  const test::ProgramResult kept =
      run({"compare", "out", "--keep", "online_plugin", "--against", "dow", "--margin", "5", "--t0", "0"});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  for (const char* name : {"scenario=base", "scenario=late", "scenario=swapped", "scenario=short"})
    EXPECT_THAT(kept.out, HasSubstr(name));
  const std::string lane = "uniform/A/1/0/online_plugin/known";
  const test::ProgramResult replayed = run({"replay", "out", "--lane", lane, "--setting", "scenario=late"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
  const test::ProgramResult told =
      run({"explain", "out", "--lane", lane, "--setting", "scenario=swapped", "--period", "35"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(run({"explain", "out", "--lane", lane, "--setting", "scenario=swaped", "--period", "1"}).err,
              HasSubstr("no such setting; the nearest is scenario=swapped"));
  expect_refusal({"tune", "study.toml", "--policy", "dow", "--budget", "20"}, 2, {"such as --set scenario=base"});
}

}  // namespace
}  // namespace pandora
