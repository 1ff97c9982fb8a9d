#include "host/studies/results/regret_tables.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "host/studies/results/table_notes.hpp"
#include "tests/host/studies/results/made_up_summary.hpp"

namespace pandora {
namespace {

using test::lines_of;
using test::two_rows;
using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::Not;

Study small_study() {
  Study study;
  study.environments = {paper_environments()[0]};
  study.regimes = {Regime::A};
  study.T0 = {0, 50};
  study.policies = {"dow"};
  study.replications = 12;
  return study;
}

std::vector<Table> tables_of(const Study& study, const Summary& summary, TableLayout layout = TableLayout::compact) {
  return study_tables({{{{}, study}, summary}}, layout);
}

std::string text_of(const Study& study, const Summary& summary, std::size_t width = 200, bool bold = false) {
  std::string out;
  for (const Table& table : tables_of(study, summary)) out += table_text(table, width, bold) + "\n";
  return out;
}

TEST(RegretTables, ShowOursBesideThePublishedValueAndTheChosenHyperparameters) {
  const std::string text = text_of(small_study(), two_rows());
  EXPECT_THAT(text, HasSubstr("Table 1: regime A"));
  EXPECT_THAT(text, HasSubstr("± 95% (Student's t), (published ± 1.96 standard errors)"));
  EXPECT_THAT(text, HasSubstr("7.50±0.25 (7.66±0.30)"));
  EXPECT_THAT(text, HasSubstr("0 of 1 regrets"));
  EXPECT_THAT(text, Not(HasSubstr("judges the count")));
  EXPECT_THAT(text, HasSubstr("calibration periods come before the horizon"));
  EXPECT_THAT(text, HasSubstr("DOW, unknown (c_rho, c_theta)"));
  EXPECT_THAT(text, HasSubstr("0.1, 1"));
  EXPECT_THAT(text, Not(HasSubstr("LinUCB")));  // LinUCB was not asked for
  Summary far = two_rows();
  far.rows[0].regret = {9.0, 0.25, 0.125};
  far.rows[0].inside_joint_95 = false;
  const std::string marked = text_of(small_study(), far);
  EXPECT_THAT(marked, HasSubstr("9.00±0.25 (7.66±0.30)*"));
  EXPECT_THAT(marked, HasSubstr("1 of 1 regrets"));
  EXPECT_THAT(marked, HasSubstr("experiments/verdict judges the count"));
}

TEST(RegretTables, MarkNothingBelowTenReplications) {
  Study study = small_study();
  study.replications = 9;
  Summary far = two_rows();
  for (SummaryRow& row : far.rows) {
    row.replications = 9;
    row.inside_joint_95.reset();
  }
  far.rows[0].regret = {9.0, 0.25, 0.125};
  const std::string text = text_of(study, far);
  EXPECT_THAT(text, Not(HasSubstr("*")));
  EXPECT_THAT(text, HasSubstr("from 10 replications on"));
}

TEST(RegretTables, SayNothingOfPublishedValuesWhereThereAreNone) {
  Summary summary = two_rows();
  summary.rows[0].published.reset();
  summary.rows[0].inside_joint_95.reset();
  summary.oracle[0].published.reset();
  summary.order[0].published.reset();
  const std::string text = text_of(small_study(), summary);
  EXPECT_THAT(text, Not(HasSubstr("published")));
  EXPECT_THAT(text, Not(HasSubstr("Table")));
}

TEST(RegretTables, ARowWhoseLanesAllFailedShowsDashes) {
  Summary summary = two_rows();
  for (SummaryRow& row : summary.rows) {
    row.best = false;
    row.replications = 0;
    row.failed = 12;
    row.regret = estimate({});
  }
  const std::string text = text_of(small_study(), summary);
  EXPECT_THAT(text, HasSubstr("DOW, unknown"));
  EXPECT_THAT(text, HasSubstr("---"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, HasSubstr("24 over all rows"));
}

TEST(RegretTables, RefitsThatTheirGuardEndedAreCounted) {
  Summary summary = two_rows();
  EXPECT_THAT(text_of(small_study(), summary), Not(HasSubstr("Joint refits")));
  for (SummaryRow& row : summary.rows) row.unsolved_refits = 3.0;
  EXPECT_THAT(text_of(small_study(), summary), HasSubstr("estimation.joint_steps ended: 6 over all rows"));
}

Summary several_policies() {
  Summary summary = two_rows();
  summary.rows.pop_back();
  const auto add = [&](const char* policy, const char* reward, double regret) {
    SummaryRow row = summary.rows[0];
    row.policy = policy;
    row.reward = reward;
    row.hyperparameter = "";
    row.regret = {regret, 0.5};
    row.published.reset();
    summary.rows.push_back(row);
  };
  add("linucb_online", "none", 70.0);  // it sees no mu*, so it competes with dow, unknown
  add("frugalgpt", "known", 5.0);
  add("dow", "known", 6.0);
  add("query_all", "known", 1.0);  // a yardstick competes with nobody
  return summary;
}

// The least regret is bold among the policies that see mu*, and among those that do not.
TEST(RegretTables, TheLeastRegretIsBoldAmongThoseThatKnowAsMuch) {
  Study study = small_study();
  study.policies = {};
  study.T0 = {50};
  const Table table = tables_of(study, several_policies())[0];
  std::vector<std::string> bold;
  for (const Row& row : table.rows)
    for (const Cell& cell : row.cells)
      if (cell.bold) bold.push_back(row.cells[0].text);
  EXPECT_THAT(bold, testing::UnorderedElementsAre("FrugalGPT, known", "DOW, unknown"));
}

TEST(RegretTables, HaveThePapersLayoutToo) {
  Study study = small_study();
  study.policies = {};
  const Table table = tables_of(study, several_policies(), TableLayout::paper)[0];
  EXPECT_EQ(table.row_headers, 2u);
  EXPECT_EQ(table.label, "regimeA");
  const nlohmann::json found = table_json(table);
  EXPECT_EQ(found["rows"][0]["heading"],
            "(i) Uniform: u = 0.23; oracle utility × 10³: 522.50±12.50 (522.53±12.63); 1.69±0.06 (1.69) boxes queried");
  const std::string rows = found["rows"].dump();
  EXPECT_THAT(rows, HasSubstr("\"FrugalGPT (reward known)\",\"---\",\"5.00±0.50\"]"));
  EXPECT_THAT(rows, HasSubstr("[\"Reward known\",\"DOW\",\"---\",\"6.00±0.50\"]"));
  EXPECT_THAT(rows, HasSubstr("7.50±0.25 (7.66±0.30)"));  // with the published value
  Summary far = several_policies();
  far.rows[0].regret = {9.0, 0.25};
  EXPECT_THAT(table_json(tables_of(study, far, TableLayout::paper)[0]).dump(), HasSubstr("9.00±0.25 (7.66±0.30)*"));
}

TEST(RegretTables, FitIntoTheWidthWithoutCuttingAnything) {
  Study study = small_study();
  study.policies = {};
  study.T0 = {0, 50, 100, 1000};
  Summary summary = several_policies();
  for (const int T0 : {0, 100, 1000})
    for (std::size_t k = 0; k < 5; ++k) {
      summary.rows.push_back(summary.rows[k]);
      summary.rows.back().T0 = T0;
    }
  for (const std::size_t width : {60u, 80u, 120u}) {
    const std::string text = text_of(study, summary, width);
    std::vector<std::size_t> widths;
    for (const std::string& line : lines_of(text)) widths.push_back(display_width(line));
    EXPECT_THAT(widths, Each(Le(width)));
    for (const char* entry : {"T0=0", "T0=50", "T0=100", "T0=1000", "7.50±0.25 (7.66±0.30)", "Query all"})
      EXPECT_THAT(text, HasSubstr(entry)) << width;
  }
  EXPECT_THAT(text_of(study, summary, 80, true), HasSubstr("\033[1m"));
  EXPECT_THAT(text_of(study, summary, 80, false), Not(HasSubstr("\033")));
}

TEST(RegretTables, SettingsAreRowsOfOneTable) {
  Study study = small_study();
  study.T0 = {50};
  std::vector<SettingSummary> settings;
  for (const char* periods : {"1000", "2000", "4000"})
    settings.push_back({{{{"periods", periods}}, study}, two_rows()});
  settings[1].summary.rows[0].regret = {3.25, 0.5};
  const std::vector<Table> tables = study_tables(settings, TableLayout::compact);
  ASSERT_GE(tables.size(), 1u);
  EXPECT_EQ(tables[0].columns,
            (std::vector<std::string>{"periods", "oracle utility", "boxes queried", "DOW, known", "DOW, unknown"}));
  ASSERT_EQ(tables[0].rows.size(), 3u);
  EXPECT_EQ(tables[0].rows[1].cells[0].text, "2000");
  EXPECT_EQ(tables[0].rows[1].cells[1].text, "522.50±12.50");
  EXPECT_EQ(tables[0].rows[1].cells[2].text, "1.69±0.06");
  EXPECT_EQ(tables[0].rows[1].cells[4].text, "3.25±0.50");
}

// c_rho = 0.1 is the lesser of two values, and c_theta has only one value.
TEST(RegretTables, SayOnceWhereTheBestIsAtAnEndOfItsValues) {
  const std::string ends = "where a wider grid may have less regret: DOW, unknown (c_rho = 0.1).";
  std::vector<Table> tables = tables_of(small_study(), two_rows());
  ASSERT_GE(tables.size(), 2u);
  EXPECT_THAT(tables[0].notes, Each(Not(HasSubstr("wider grid"))));
  EXPECT_THAT(tables[1].notes, testing::ElementsAre(HasSubstr(ends)));
  Summary three = two_rows();
  three.rows.push_back(three.rows[1]);
  three.rows.back().hyperparameter = "c_rho=0.01;c_theta=1";
  tables = tables_of(small_study(), three);
  EXPECT_TRUE(tables[1].notes.empty());
  // Each setting counts by itself. Values of a key that varies over settings are no grid.
  Summary other = two_rows();
  other.rows[0].hyperparameter = "c_rho=2;c_theta=1";
  other.rows.pop_back();
  const auto setting = [](const char* periods, const Summary& summary) {
    return SettingSummary{{{{"periods", periods}}, small_study()}, summary};
  };
  tables = study_tables({setting("1", two_rows()), setting("2", other)}, TableLayout::compact);
  EXPECT_THAT(tables[0].notes, testing::Contains(HasSubstr(ends)));
}

TEST(EdgeNote, NumbersWithOthersOnOneSideOnly) {
  const auto said = [](const std::string& chosen, const std::vector<std::string>& tried) {
    EdgeNote note;
    note.see("x", chosen, tried);
    note.see("x", chosen, tried);  // the same end a second time
    std::vector<std::string> notes;
    note.add_to(notes);
    return notes.empty() ? "" : notes[0].substr(notes[0].find(": ") + 2);
  };
  EXPECT_EQ(said("a=1e-3;b=2", {"a=1e-3;b=1", "a=0.1;b=2", "a=0.001;b=3"}), "x (a = 1e-3).");
  EXPECT_EQ(said("a=3;b=1", {"a=1;b=1", "a=3;b=1", "a=2;b=4"}), "x (a = 3, b = 1).");
  EXPECT_EQ(said("a=0", {"a=0", "a=1"}), "");  // no value lies below a factor of 0
  EXPECT_EQ(said("a=0", {"a=0", "a=-1"}), "x (a = 0).");
  EXPECT_EQ(said("a=1", {"a=1"}), "");
  EXPECT_EQ(said("word", {"word", "other"}), "");
}

TEST(RegretTables, SayHowManyReplicationsAreThere) {
  Study study = small_study();
  study.replications = 50;
  EXPECT_THAT(text_of(study, two_rows()), HasSubstr("the 12 of 50 replications that are there"));
}

}  // namespace
}  // namespace pandora
