// Notes below the tables of unusual studies.
#include "host/studies/results/table_notes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pandora
