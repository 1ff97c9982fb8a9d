#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/studies/results/regret_tables.hpp"
#include "host/studies/results/table_notes.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

SummaryRow row_of(const std::string& policy, double mean, double half_width, int replications = 50) {
  SummaryRow row;
  row.regime = "A";
  row.environment = "uniform";
  row.policy = policy;
  row.reward = "known";
  row.regret =
      student_estimate(mean, half_width / 2.00957524, replications - 1.0);  // 50 replications give this half-width
  row.replications = replications;
  row.best = true;
  return row;
}

TEST(BenchmarkNote, IsOfRegretsThatAreNegativeBeyondTheirInterval) {
  const auto note = [](std::vector<SummaryRow> rows) { return benchmark_note(rows); };
  EXPECT_EQ(note({row_of("dow", 3.0, 1.0), row_of("online_plugin", -0.9, 1.0)}), "");
  const std::string told =
      note({row_of("dow", -31.0, 1.0), row_of("online_plugin", -2.0, 1.0), row_of("linucb", 5.0, 1.0)});
  EXPECT_THAT(told, HasSubstr("2 of 3 regrets are negative beyond the 95% interval"));
  EXPECT_THAT(told, HasSubstr("least: dow in uniform/A, -31.00±1.00"));
  EXPECT_THAT(told, HasSubstr("the benchmark is not optimal"));
}

TEST(BenchmarkNote, AsksForMoreWhereReplicationsAreFew) {
  const auto note = [](int replications) {
    return benchmark_note(std::vector<SummaryRow>{row_of("dow", -2.0, 1.0, replications)});
  };
  EXPECT_EQ(note(1), "");
  EXPECT_EQ(note(2), "");  // Student's factor is 12.7
  EXPECT_NE(note(8), "");
}

TEST(BudgetNote, CountsRowsThatSpendMoreBeyondTheirInterval) {
  std::vector<SummaryRow> rows = {row_of("dow", 3.0, 1.0), row_of("liu", 3.0, 1.0), row_of("query_all", 3.0, 1.0)};
  rows[0].queries = {1.21, 0.02};
  rows[1].queries = {1.4, 0.1};
  rows[2].queries = {3.0, 0.0};
  for (SummaryRow& row : rows) row.cost = {1000.0 * row.queries.mean / 10.0, 1000.0 * row.queries.half_width_95 / 10.0};
  const auto note = [&rows](const Pacing& budget) {
    return budget_note(rows, std::vector<Pacing>(rows.size(), budget));
  };
  EXPECT_EQ(note({}), "");
  EXPECT_EQ(note({Pacing::Of::queries, 1.2}),
            "Budget of 1.2 boxes per period: 1 of 2 rows spends more, beyond the 95% interval (most: liu in uniform/A, "
            "1.4000±0.1000).");
  EXPECT_THAT(
      note({Pacing::Of::costs, 0.15}),
      HasSubstr("Budget of 0.15 of costs per period: 0 of 2 rows spend more, beyond the 95% interval (most: liu "
                "in uniform/A, 0.1400±0.0100)"));
}

// Each setting has its own budget. 1.21 boxes are more than 1.2 and less than 3. Without a budget, nothing is too much.
TEST(BudgetNote, IsOfEachRowsOwnBudget) {
  std::vector<SummaryRow> rows(4, row_of("dow", 3.0, 1.0));
  for (SummaryRow& row : rows) row.queries = {1.21, 0.001};
  rows[2].queries = {1.6, 0.01};
  rows[3].queries = {5.0, 0.01};
  const std::vector<Pacing> budgets = {
      {Pacing::Of::queries, 3.0}, {Pacing::Of::queries, 1.2}, {Pacing::Of::queries, 1.5}, {}};
  EXPECT_EQ(budget_note(rows, budgets),
            "Budgets of 1.2, 1.5, 3 boxes per period: 2 of 3 rows spend more than their own, beyond the 95% interval "
            "(most beyond it: dow in uniform/A, 1.6000±0.0100 of 1.5).");
  EXPECT_EQ(budget_note(rows, std::vector<Pacing>(4)), "");
}

TEST(BenchmarkNote, IsNotOfYardsticks) {
  EXPECT_EQ(benchmark_note(std::vector<SummaryRow>{row_of("hindsight", -31.0, 1.0), row_of("best_single", -3.0, 1.0)}),
            "");
}

TEST(BenchmarkNote, StandsBelowTheTablesOfAStudy) {
  Study study;
  study.environments = {paper_environments()[0]};
  study.regimes = {Regime::A};
  study.T0 = {0};
  Summary summary;
  summary.rows = {row_of("dow", -31.0, 1.0)};
  summary.oracle = {{"A", "uniform", 0.23, {500.0, 1.0}, {1.5, 0.1}, {}}};
  for (const TableLayout layout : {TableLayout::compact, TableLayout::paper}) {
    const std::vector<std::string> notes = study_tables({{{{}, study}, summary}}, layout)[0].notes;
    EXPECT_EQ(std::count_if(notes.begin(), notes.end(),
                            [](const std::string& note) { return note.find("not optimal") != std::string::npos; }),
              1);
  }
}

}  // namespace
}  // namespace pandora
