// Comparisons as tables: bold cells, the choice of the p value, and unknown values.
#include <gmock/gmock.h>

#include <cmath>

#include "host/report/cells.hpp"
#include "host/report/compare.hpp"
#include "pandora/error.hpp"
#include "tests/host/report/made_up_rows.hpp"

namespace pandora {
namespace {

using test::row_of;
using test::shifted;
using testing::ElementsAre;
using testing::HasSubstr;

// The two-sided p value of t with three degrees of freedom, in closed form.
double p_of_shift(double shift) {
  const double t = std::abs(shift) / std::sqrt(2.0 / 3.0 / 4.0) / std::sqrt(3.0);
  return 1.0 - 2.0 / M_PI * (t / (1.0 + t * t) + std::atan(t));
}

std::vector<std::string> texts(const Row& row) {
  std::vector<std::string> out;
  for (const Cell& cell : row.cells) out.push_back(cell.text);
  return out;
}

Table table_of(const std::vector<ComparedRow>& rows) {
  return comparison_tables({{"a", "b", rows}}).at(0);
}

constexpr std::size_t kBootstrap = 6, kDifference = 9, kP = 11;  // columns: the cross-fitted difference and its p value

TEST(ComparisonTables, AllNumbersOfARow) {
  const std::vector<Table> tables = comparison_tables({{"a/known", "b/known", {shifted(2.0)}}});
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_THAT(tables[0].title, HasSubstr("a/known (a) against b/known (b)"));
  ASSERT_EQ(tables[0].rows.size(), 1u);
  ASSERT_EQ(tables[0].rows[0].cells.size(), tables[0].columns.size());
  // The half-width is 3.18244630528 sqrt(1 / 6) = 1.2992. With one hyperparameter, cross-fitting gives the same.
  EXPECT_THAT(texts(tables[0].rows[0]),
              ElementsAre("uniform, A, T0=7", "4", "2.00", "0.00", "2.000", "1.299", "---", "0%", "1.0", "2.000",
                          "1.299", p_value_text(p_of_shift(2.0)), "0.000", "0.000", "---"));
}

// Holm's method takes all rows of all pairs together.
TEST(ComparisonTables, PValuesAreAdjustedOverAllPairs) {
  const double p = p_of_shift(2.0), q = p_of_shift(1.4);
  ASSERT_LT(3.0 * p, 0.05);
  ASSERT_LT(q, 0.05);
  const ComparedPair first{"a", "b", {shifted(2.0)}}, second{"a", "c", {shifted(-1.4), shifted(0.1)}};
  const std::vector<Table> alone = comparison_tables({second}), both = comparison_tables({first, second});
  const auto cell = [](const std::vector<Table>& tables, std::size_t table, std::size_t row, std::size_t column) {
    return tables.at(table).rows.at(row).cells.at(column);
  };
  EXPECT_EQ(cell(both, 0, 0, kP).text, p_value_text(3.0 * p));
  EXPECT_EQ(cell(both, 1, 0, kP).text, p_value_text(2.0 * q));
  EXPECT_EQ(cell(both, 1, 1, kP).text, p_value_text(p_of_shift(0.1)));
  EXPECT_EQ(cell(alone, 0, 0, kP).text, p_value_text(2.0 * q));
  EXPECT_EQ(cell(comparison_tables({{"a", "c", {shifted(-1.4)}}}), 0, 0, kP).text, p_value_text(q));
  // Bold cells have an adjusted p value below 5%.
  for (const std::size_t column : {kDifference, kP}) {
    EXPECT_TRUE(cell(comparison_tables({{"a", "c", {shifted(-1.4)}}}), 0, 0, column).bold);
    EXPECT_EQ(cell(both, 0, 0, column).bold, 3.0 * p < 0.05);
    EXPECT_FALSE(cell(both, 1, 0, column).bold);
    EXPECT_FALSE(cell(both, 1, 1, column).bold);
  }
}

TEST(ComparisonTables, TheNoteCountsWhatIsToldEitherWay) {
  const Table table = table_of({shifted(-30.0), shifted(0.1), shifted(20.0), shifted(-40.0)});
  EXPECT_THAT(table.notes.at(0), HasSubstr("a is better in 2 and worse in 1 of 4 cells"));
  EXPECT_THAT(table.notes[0], testing::Not(HasSubstr("cross-fitted")));
  EXPECT_EQ(table.notes.size(), 4u);
}

// The least mean of several is too small by chance. So with a choice, p belongs to the cross-fitted difference.
TEST(ComparisonTables, WithAChoicePIsOfTheCrossFittedDifference) {
  ComparedRow row = shifted(2.0);
  row.a.choices = 2;
  row.a.fit = {5.0, {4.0, 5.0, 5.0, 6.0}};  // squared deviations 2, jackknife variance 3/4 x 2
  row.b.fit = {1.0, {1.0, 1.0, 1.0, 1.0}};
  const Table table = table_of({row});
  const double error = std::sqrt(0.75 * 2.0), t = 4.0 / error / std::sqrt(3.0);
  EXPECT_EQ(table.rows[0].cells[kP].text, p_value_text(1.0 - 2.0 / M_PI * (t / (1.0 + t * t) + std::atan(t))));
  EXPECT_EQ(table.rows[0].cells[kDifference].text, "4.000");
  EXPECT_EQ(table.rows[0].cells[10].text, number_text(3.18244630528 * error, 3));
  EXPECT_EQ(table.rows[0].cells[12].text, "3.000");  // the optimism of a: 5 in place of the least mean 2
  EXPECT_EQ(table.rows[0].cells[13].text, "1.000");
  EXPECT_THAT(table.rows[0].cells[14].text, testing::StartsWith("5.000 ("));  // the cross-fitted regrets
  EXPECT_THAT(table.notes[0], HasSubstr("p is that of the cross-fitted difference"));
}

TEST(ComparisonTables, CrossFittedDifferencesWithoutScatterAreToldOrNot) {
  ComparedRow row = shifted(2.0);
  row.a.choices = 2;
  row.b.fit = {1.0, {1.0, 1.0, 1.0, 1.0}};
  const auto p = [&](double mean) {
    row.a.fit = {mean, {mean, mean, mean, mean}};
    return table_of({row}).rows[0].cells[kP].text;
  };
  EXPECT_EQ(p(1.0), "1.0000");
  EXPECT_EQ(p(3.0), "< 1e-4");
}

// A policy that failed everywhere has no values, and one replication gives no interval.
TEST(ComparisonTables, WhatIsNotKnownIsADash) {
  ComparedRow none = row_of({}, {});
  none.replications = 4;
  const Table table = table_of({none, row_of({3.0}, {2.0})});
  EXPECT_THAT(texts(table.rows[0]), ElementsAre("uniform, A, T0=7", "0", "---", "---", "---", "---", "---", "---",
                                                "---", "---", "---", "---", "---", "---", "---"));
  EXPECT_THAT(texts(table.rows[1]), ElementsAre("uniform, A, T0=7", "1", "3.00", "2.00", "1.000", "---", "---", "0%",
                                                "---", "---", "---", "---", "---", "---", "---"));
  EXPECT_THAT(table.notes[0], HasSubstr("better in 0 and worse in 0 of 2"));
  EXPECT_THAT(table.notes.back(), HasSubstr("n is less than the study's replications"));
  EXPECT_THAT(comparison_columns({{"a", "b", {none}}}).csv(),
              testing::EndsWith("\na,b,,uniform,A,7,0,,,,,,,,,,,,,,,,\n"));
}

// The adjustment does not count rows without a p value.
TEST(ComparisonTables, RowsOfNothingCostNoPower) {
  const Table table = table_of({row_of({}, {}), shifted(2.0)});
  EXPECT_EQ(table.rows[1].cells[kP].text, p_value_text(p_of_shift(2.0)));
}

// If the bootstrap disagrees with t, the cell has a star. The note counts these cells.
TEST(ComparisonTables, WhereTheBootstrapDiffersItIsSaid) {
  ComparedRow same = shifted(2.0), other = shifted(2.0);
  same.bootstrap = {0.75, 3.25};
  other.bootstrap = {-0.25, 3.25};
  const Table table = table_of({same, other, shifted(2.0)});
  EXPECT_EQ(table.columns[kBootstrap], "bootstrap 95%");
  EXPECT_EQ(table.rows[0].cells[kBootstrap].text, "0.750 to 3.250");
  EXPECT_EQ(table.rows[1].cells[kBootstrap].text, "-0.250 to 3.250*");
  EXPECT_EQ(table.rows[2].cells[kBootstrap].text, "---");
  EXPECT_THAT(table.notes[1], HasSubstr("They differ in 1 cells"));
  EXPECT_THAT(table_of({same}).notes[1], HasSubstr("They agree."));
}

TEST(ComparisonTables, ARatioIsOfTheCrossFittedRegretsWithItsInterval) {
  const std::vector<double> a = {1.0, 2.0, 1.5, 1.5, 2.5}, b = {4.0, 6.0, 5.0, 6.0, 4.0};
  const Table table = table_of({row_of(a, b)});
  const RatioOfMeans ratio = ratio_of_means(cross_fit({a}), cross_fit({b}));
  EXPECT_NEAR(ratio.ratio, 1.7 / 5.0, 1e-12);
  EXPECT_EQ(table.rows[0].cells.back().text, "0.340 (" + interval_text(ratio.interval, 3) + ")");
  const Columns columns = comparison_columns({{"a", "b", {row_of(a, b)}}});
  EXPECT_EQ(columns.columns().back().head.column, "ratio_high_95");
  EXPECT_EQ(columns.columns().back().numbers[0], ratio.interval.high);
}

TEST(ComparisonTables, CellsAreNamedBySettingAndT0) {
  ComparedRow row = shifted(1.0);
  row.setting = "periods=5";
  row.T0.reset();
  EXPECT_EQ(table_of({row}).rows[0].cells[0].text, "periods=5, uniform, A, any T0");
  EXPECT_THAT(comparison_columns({{"a", "b", {row}}}).csv(), HasSubstr("\na,b,periods=5,uniform,A,,4,"));
}

TEST(ComparisonCsv, HasEveryQuantityInAColumn) {
  const Columns columns =
      comparison_columns({{"a/known", "b/known", {shifted(2.0)}}, {"a/known", "c/known", {shifted(1.0)}}});
  ASSERT_EQ(columns.rows(), 2u);
  const auto text = [&](std::size_t row, const std::string& name) {
    for (const Columns::Column& column : columns.columns())
      if (column.head.column == name) return column.texts[row];
    return "no column " + name;
  };
  const auto digits = [](double value) { return exact_cell("", value).exact; };
  EXPECT_EQ(text(0, "a"), "a/known");
  EXPECT_EQ(text(1, "b"), "c/known");
  EXPECT_EQ(text(0, "T0"), "7");
  EXPECT_EQ(text(0, "replications"), "4");
  EXPECT_EQ(text(1, "difference_x1000"), "1");
  EXPECT_EQ(text(1, "half_width_95_x1000"), digits(3.18244630528 * std::sqrt(1.0 / 6.0)));
  EXPECT_EQ(text(0, "share_a_better"), "0");
  EXPECT_EQ(text(0, "p_holm"), digits(2.0 * p_of_shift(2.0)));
  EXPECT_EQ(text(1, "p_holm"), digits(std::max(2.0 * p_of_shift(2.0), p_of_shift(1.0))));
}

TEST(CompareText, NumbersAreReadable) {
  EXPECT_EQ(number_text(-0.0004, 3), "0.000");
  EXPECT_EQ(number_text(-0.0006, 3), "-0.001");
  EXPECT_EQ(number_text(1234.5, 1), "1234.5");
  EXPECT_EQ(number_text(std::nan(""), 2), "---");
  EXPECT_EQ(number_text(INFINITY, 2), "---");
  EXPECT_EQ(p_value_text(0.00009), "< 1e-4");
  EXPECT_EQ(p_value_text(0.0001), "0.0001");
  EXPECT_EQ(p_value_text(std::nan("")), "---");
  EXPECT_EQ(exact_cell("1.2", 1.23456789012).exact, "1.23456789");
  EXPECT_EQ(exact_cell("---", std::nan("")).exact, "");
}

TEST(CompareText, PoliciesAreNamedWithOrWithoutTheirReward) {
  Study study;
  study.policies = {"dow"};
  study.T0 = {0};
  const Plan plan = make_plan(study);
  EXPECT_EQ(parse_policy_name("dow", plan).reward, "");
  EXPECT_EQ(parse_policy_name("dow/unknown", plan).policy, "dow");
  EXPECT_EQ(parse_policy_name("dow/unknown", plan).reward, "unknown");
  for (const char* text : {"", "dow/", "/known", "dow/none", "dow/known/c_rho=1", "online_plugin"})
    EXPECT_THROW(parse_policy_name(text, plan), Error) << text;
}

}  // namespace
}  // namespace pandora
