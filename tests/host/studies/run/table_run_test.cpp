// Runs of the program on tables of outcomes: files, exit codes, and results whose tables are gone.
#include <fmt/format.h>

#include <random>

#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::Words;
using testing::HasSubstr;

class TableRun : public test::ManyRunsTest {
 protected:
  void SetUp() override {
    ManyRunsTest::SetUp();
    write("table.jsonl", table(90));
    write("study.toml", R"(
environments = ["mine"]
replications = 4
T0 = [0, 7]
policies = ["online_plugin", "dow", "frugalgpt", "best_single", "best_cascade", "hindsight"]
[hyperparameters]
c_rho = [0.1, 1]
c_theta = [0.1]
[environment.mine]
table = "table.jsonl"
context = ["text:3", "effort"]
price = 30
)");
  }

  static std::string table(int prompts) {
    std::mt19937 random(4);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    std::string out;
    for (int p = 0; p < prompts; ++p) {
      out += fmt::format("{{\"prompt\": \"question {} about {}\", \"effort\": {}, \"models\": {{", p,
                         p % 2 == 0 ? "sums" : "verse", p % 5);
      for (int a = 0; a < 3; ++a) {
        const double score = uniform(random), quality = std::min(1.0, uniform(random) * (0.6 + 0.2 * a));
        out += fmt::format("{}\"m{}\": {{\"quality\": {:.3f}, \"cost\": {:.6f}, \"score\": {:.3f}}}", a > 0 ? ", " : "",
                           a, quality, 0.0005 * (a + 1), score);
      }
      out += "}}\n";
    }
    return out;
  }
};

TEST_F(TableRun, SummaryHasUtilityQualityDollarsCallsAndGap) {
  const test::ProgramResult result = run({"run", "study.toml", "--out", "out", "--threads", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("utility = quality - 30 x dollars per prompt"));
  EXPECT_THAT(text("out/summary.csv"),
              HasSubstr(",utility,utility_half_width_95,utility_standard_error,quality,quality_half_width_95,"
                        "quality_standard_error,cost_usd_per_1000,cost_usd_per_1000_half_width_95,"
                        "cost_usd_per_1000_standard_error,calls,calls_half_width_95,calls_standard_error,gap,"
                        "gap_half_width_95,gap_standard_error,told"));
}

// Every model's answers have an order of their own. Means are the same, and intervals are over replications. Results go
// through the folder like all others.
TEST_F(TableRun, IndependentModelsHaveIntervalsOverReplications) {
  const Words control = {"--set", "environment.mine.context=[]", "--set", "environment.mine.resample=independent"};
  ASSERT_EQ(run(words("out", control)).exit_code, 0);
  const test::ProgramResult shown = run({"show", "out"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("± 95% over replications"), HasSubstr("a period is no prompt"),
                               Not(HasSubstr("over prompts"))));
  const test::ProgramResult compared = run({"compare", "out", "--policy", "dow,online_plugin"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, Not(HasSubstr("over prompts")));
  const test::ProgramResult explained = run({"explain", "out", "--policy", "dow", "--t0", "7", "--period", "5"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("period 5: request with"));
  ASSERT_EQ(run(words("grown", control, {"--replications", "2"})).exit_code, 0);
  ASSERT_EQ(run(words("grown", control, {"--extend"})).exit_code, 0);
  EXPECT_EQ(text("grown/summary.csv"), text("out/summary.csv"));
}

TEST_F(TableRun, ResultsAreReadWithoutTheTable) {
  ASSERT_EQ(run(words("out")).exit_code, 0);
  const test::ProgramResult before = run({"show", "out"});
  fs::rename(work() / "table.jsonl", work() / "elsewhere.jsonl");
  const test::ProgramResult after = run({"show", "out"});
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_EQ(after.out, before.out);
  EXPECT_EQ(run({"compare", "out", "--policy", "dow,online_plugin"}).exit_code, 0);
  EXPECT_EQ(run({"show", "out", "--overview"}).exit_code, 0);
}

TEST_F(TableRun, ResumedExtendedAndMergedGiveTheSameBytes) {
  expect_same_however_run({}, {"--replications", "2", "--t0", "7", "--policy", "dow"});
}

TEST_F(TableRun, AnotherTableIsAnotherStudy) {
  ASSERT_EQ(run(words("out")).exit_code, 0);
  write("table.jsonl", table(91));
  expect_refusal(words("out", {"--resume"}), 5, {"environment.mine.digest"});
}

TEST_F(TableRun, BadTablesEndWithThreeAndNothingIsWritten) {
  for (const auto& [lines, what] : std::map<std::string, std::string>{
           {"", "empty"},
           {"{\"prompt\": \"a\", \"models\": {\"m0\": {\"quality\": 2, \"cost\": 1}}}\n", "quality"},
           {"{\"prompt\": \"a\", \"models\": {\"m0\": {\"quality\": 1, \"cost\": -1}}}\n", "cost"},
           {"a,b,c\n1,2,3\n", "table.jsonl"}}) {
    write("table.jsonl", lines);
    expect_refusal(words("out"), 3, {what});
    EXPECT_FALSE(fs::exists(work() / "out"));
  }
}

TEST_F(TableRun, IsPlanned) {
  const test::ProgramResult whole = run(words("out", {"--plan"}));
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("units             4 replications"));
  ASSERT_EQ(run(words("out")).exit_code, 0);
  const test::ProgramResult more = run(words("out", {"--extend", "--replications", "6", "--plan"}));
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_THAT(more.out, HasSubstr("units             2 replications"));
}

TEST_F(TableRun, ALaneIsExplainedAndAReportMade) {
  ASSERT_EQ(run(words("out")).exit_code, 0);
  const test::ProgramResult lane = run({"explain", "out", "--policy", "dow", "--t0", "7", "--period", "5"});
  EXPECT_EQ(lane.exit_code, 0) << lane.err;
  EXPECT_THAT(lane.out, HasSubstr("lane mine/B/0/7/dow/"));
  const test::ProgramResult result = run({"report", "out"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string page = text("out/report/report.html");
  EXPECT_THAT(page, HasSubstr("dollars per prompt"));
  EXPECT_THAT(page, HasSubstr("the gap is the utility of the benchmark"));
  EXPECT_THAT(page, HasSubstr("has it as ± over prompts"));
  EXPECT_THAT(page, Not(HasSubstr("the oracle&#39;s utility minus")));
}

// A study has a table and an environment of the paper. Every command finds both.
TEST_F(TableRun, StandsBesideThePapersEnvironments) {
  const Words both = {"--environment", "uniform,mine", "--periods", "60",  "--set", "dimensions.radius_draws=500",
                      "--set",         "regimes=A",    "--policy",  "dow", "--set", "oracle.samples=1000"};
  const test::ProgramResult result = run(words("both", both));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("uniform (u = 0.23)"));
  EXPECT_THAT(result.out, HasSubstr("mine: utility = quality"));
  EXPECT_THAT(run({"show", "both", "--environment", "mine"}).out, Not(HasSubstr("uniform")));
  EXPECT_THAT(run({"show", "both", "--overview"}).out, HasSubstr("\nmine\n"));
  EXPECT_THAT(run({"compare", "both", "--policy", "dow/known,dow/unknown"}).out, HasSubstr("± over prompts"));
  ASSERT_EQ(run({"report", "both"}).exit_code, 0);
  EXPECT_THAT(text("both/report/report.html"), HasSubstr("mine, regime B"));
  EXPECT_EQ(run({"explain", "both", "--policy", "dow", "--environment", "mine", "--period", "2"}).exit_code, 0);
}

TEST_F(TableRun, HasNoOracleOfThePapersModel) {
  for (const Words& command :
       {Words{"oracle", "order", "study.toml"}, Words{"oracle", "grid", "study.toml", "--out", "g.h5"},
        Words{"oracle", "check", "study.toml"}, Words{"calibrate", "study.toml"}}) {
    expect_refusal(command, 2, {"environment mine: is a table of outcomes"});
  }
}

}  // namespace
}  // namespace pandora
