// Notes below the tables of unusual studies.
#include "host/studies/results/table_notes.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "host/studies/results/regret_tables.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SummaryRow row_of(const std::string& policy, double utility, int replications = 20) {
  SummaryRow row;
  row.regime = "A";
  row.environment = "uniform";
  row.policy = policy;
  row.reward = "known";
  row.regret = {3.0, 1.0};
  row.quality = {500.0 + utility, 5.0};
  row.cost = {500.0, 5.0};
  row.replications = replications;
  row.best = true;
  return row;
}

// The half-width is that of 50 replications.
SummaryRow with_regret(const std::string& policy, double mean, double half_width, int replications = 50) {
  SummaryRow row = row_of(policy, 20.0, replications);
  row.regret = student_estimate(mean, half_width / 2.00957524, replications - 1.0);
  return row;
}

SettingSummary setting_of(const std::vector<SummaryRow>& rows) {
  SettingSummary out;
  out.setting.study.environments = {paper_environments()[0]};
  out.setting.study.T0 = {0, 50};
  out.setting.study.periods = 1000;
  out.summary.rows = rows;
  return out;
}

std::vector<std::string> notes_of(const std::vector<SettingSummary>& settings) {
  std::vector<std::string> notes;
  add_notes_on_rows(settings, notes);
  return notes;
}

TEST(TableNotes, SayNothingOfAnUsualStudy) {
  EXPECT_THAT(notes_of({setting_of({row_of("dow", 20.0), row_of("query_all", 30.0)})}), IsEmpty());
  EXPECT_THAT(notes_of({setting_of({row_of("dow", -9.0)})}), IsEmpty());  // half-widths are 10 together
}

TEST(TableNotes, TellNegativeUtilitiesAndThoseOfYardsticksApart) {
  EXPECT_THAT(
      notes_of({setting_of({row_of("dow", -12.0), row_of("liu", 5.0), row_of("query_all", -80.0)})}),
      ElementsAre(AllOf(HasSubstr("The mean utility of 1 of 2 rows (least: dow in uniform/A, -12 x 1000) and of "
                                  "yardsticks (query_all) is negative"),
                        HasSubstr("a box must be opened in every period"))));
  EXPECT_THAT(notes_of({setting_of({row_of("dow", 12.0), row_of("query_all", -80.0)})}),
              ElementsAre(HasSubstr("The mean utility of yardsticks (query_all) is negative")));
}

TEST(TableNotes, TellCalibrationsLongerThanTheHorizon) {
  SettingSummary some = setting_of({row_of("dow", 20.0)}), fewer = some;
  some.setting.study.T0 = fewer.setting.study.T0 = {0, 50, 100};
  fewer.setting.study.periods = 60;
  EXPECT_THAT(notes_of({some, fewer}), ElementsAre(HasSubstr("T0 = 100 is longer than a horizon of 60 periods")));
  fewer.setting.study.periods = 100;
  EXPECT_THAT(notes_of({some, fewer}), IsEmpty());
}

TEST(TableNotes, TellOfOneBox) {
  SettingSummary one = setting_of({row_of("dow", 20.0)}), more = one;
  one.setting.study.dimensions.boxes = 1;
  EXPECT_THAT(notes_of({one}), ElementsAre(HasSubstr("There is one box: every policy opens it in every period")));
  EXPECT_THAT(notes_of({more, one}), ElementsAre(HasSubstr("Where there is one box, every policy opens it")));
}

TEST(TableNotes, TellOfOneReplication) {
  EXPECT_THAT(notes_of({setting_of({row_of("dow", 20.0, 1), row_of("liu", -80.0, 1)})}),
              ElementsAre(HasSubstr("There is one replication, which has no half-width")));
  EXPECT_THAT(notes_of({setting_of({row_of("dow", 20.0, 1), row_of("liu", 20.0, 2)})}),
              ElementsAre(HasSubstr("1 of 2 rows are of one replication")));
}

// If indices are drawn or the environment is code, u has no effect on costs.
TEST(TableNotes, StandBelowAHeadingThatShowsUWhereItCounts) {
  const auto heading = [](double u, bool linear, TableLayout layout) {
    SettingSummary one = setting_of({row_of("dow", 20.0)});
    one.setting.study.regimes = {Regime::A};
    one.summary.oracle = {{"A", "mine", u, {500.0, 1.0}, {1.5, 0.1}, {}, linear}};
    return study_tables({one}, layout)[0].rows[0].heading;
  };
  EXPECT_THAT(heading(0.23, false, TableLayout::compact), HasSubstr("mine (u = 0.23): oracle utility"));
  EXPECT_THAT(heading(std::nan(""), true, TableLayout::compact), HasSubstr("mine (linear indices): oracle utility"));
  EXPECT_THAT(heading(std::nan(""), false, TableLayout::compact), HasSubstr("mine: oracle utility"));
  EXPECT_THAT(heading(std::nan(""), false, TableLayout::paper), HasSubstr("(i) mine: oracle utility"));
}

TEST(TableNotes, StandBelowAHeadingWithoutTheUOfAnEnvironmentThatIsCode) {
  Environment drawn = paper_environments()[0];
  drawn.name = "drawn_by_code";
  drawn.id = 77;
  register_environment(
      drawn, [](const ReplicationRequest&) { return Replication{}; }, "its code");
  Study study;
  study.regimes = {Regime::A};
  study.T0 = {0};
  study.replications = 1;
  study.policies = {"query_all"};
  study.order = false;
  const auto u = [&study](const Environment& environment) {
    study.environments = {environment};
    const Plan plan = make_plan(study);
    UnitResult result;
    result.resize(plan.lanes.size());
    for (LaneTally& tally : result.lanes) tally.start(study.periods);
    return summarise(study, plan, {result}).oracle[0].u;
  };
  EXPECT_TRUE(std::isnan(u(drawn)));
  EXPECT_EQ(u(paper_environments()[0]), 0.23);
}

std::string note_of(const std::vector<SummaryRow>& rows) {
  return benchmark_note(rows);
}

TEST(BenchmarkNote, IsOfRegretsThatAreNegativeBeyondTheirInterval) {
  EXPECT_EQ(note_of({with_regret("dow", 3.0, 1.0), with_regret("online_plugin", -0.9, 1.0)}), "");
  const std::string told = note_of(
      {with_regret("dow", -31.0, 1.0), with_regret("online_plugin", -2.0, 1.0), with_regret("linucb", 5.0, 1.0)});
  EXPECT_THAT(told, HasSubstr("2 of 3 regrets are negative beyond the 95% interval"));
  EXPECT_THAT(told, HasSubstr("least: dow in uniform/A, -31.00±1.00"));
  EXPECT_THAT(told, HasSubstr("the benchmark is not optimal"));
}

TEST(BenchmarkNote, AsksForMoreWhereReplicationsAreFew) {
  EXPECT_EQ(note_of({with_regret("dow", -2.0, 1.0, 1)}), "");
  EXPECT_EQ(note_of({with_regret("dow", -2.0, 1.0, 2)}), "");  // Student's factor is 12.7
  EXPECT_NE(note_of({with_regret("dow", -2.0, 1.0, 8)}), "");
}

TEST(BudgetNote, CountsRowsThatSpendMoreBeyondTheirInterval) {
  std::vector<SummaryRow> rows = {row_of("dow", 20.0), row_of("liu", 20.0), row_of("query_all", 20.0)};
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
  std::vector<SummaryRow> rows(4, row_of("dow", 20.0));
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
  EXPECT_EQ(note_of({with_regret("hindsight", -31.0, 1.0), with_regret("best_single", -3.0, 1.0)}), "");
}

TEST(BenchmarkNote, StandsBelowTheTablesOfAStudy) {
  SettingSummary one = setting_of({with_regret("dow", -31.0, 1.0)});
  one.setting.study.regimes = {Regime::A};
  one.summary.oracle = {{"A", "uniform", 0.23, {500.0, 1.0}, {1.5, 0.1}, {}}};
  for (const TableLayout layout : {TableLayout::compact, TableLayout::paper})
    EXPECT_THAT(study_tables({one}, layout)[0].notes, testing::Contains(HasSubstr("not optimal")).Times(1));
}

}  // namespace
}  // namespace pandora
