// A budget of cost that no policy can keep brings a warning before the study runs.
#include "host/studies/results/stored_results.hpp"
#include "host/studies/run/forecast.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {

using test::Words;
using testing::HasSubstr;
using testing::Not;

class BudgetWarning : public test::RunStudyTest {
 protected:
  void SetUp() override {
    RunStudyTest::SetUp();
    write("study.toml", test::small_study_text(4, 300, R"("uniform")", 2000) +
                            "[output]\norder = false\n[vary]\nbudget.cost = [0, 0.001, 0.9]\n");
  }
};

TEST_F(BudgetWarning, IsOfWhatTheBenchmarkSpendsToo) {
  for (const bool plans : {true, false}) {
    const test::ProgramResult result = run(words("out", {plans ? "--plan" : "--regime=A,B"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("budget.cost: no policy can keep to 0.001 in uniform/A (at least 0."),
                                  HasSubstr("0.001 in uniform/B (at least 0."), Not(HasSubstr("0.9")),
                                  HasSubstr("a box must be opened in every period")));
  }
  // The estimate is the benchmark's spending under such a budget, which is its cost in summary.csv.
  const StudyConfig config = read_study_file((work() / "study.toml").string());
  const std::vector<PlannedSetting> settings = make_plans(config);
  StoredResults results((work() / "out").string(), {});
  const std::vector<SettingSummary> all = results.summaries();
  for (const SummaryRow& row : all[1].summary.rows) {
    if (row.policy != "oracle") continue;
    const double spent = row.cost.mean / 1000.0;
    const std::string text = unkept_budgets(settings), cell = "uniform/" + row.regime + " (at least ";
    const std::size_t at = text.find(cell);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_NEAR(std::stod(text.substr(at + cell.size())) / spent, 1.0, 0.1) << spent;
  }
}

TEST_F(BudgetWarning, IsNotOfBudgetsThatCanBeKeptNorOfQueries) {
  EXPECT_EQ(run(words("out", {"--plan", "--set", "budget.cost=0.9"})).err, "");
  EXPECT_EQ(run(words("out", {"--plan", "--set", "budget.cost=0", "--set", "budget.queries=1"})).err, "");
}

}  // namespace
}  // namespace pandora
