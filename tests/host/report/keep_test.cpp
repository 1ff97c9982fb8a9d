// Whether to keep a rule: decisions, options and texts. keep_promise_test.cpp measures how often decisions are wrong.
#include "host/report/keep.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/host/expect_error.hpp"
#include "tests/host/report/made_up_results.hpp"
#include "tests/host/report/made_up_rows.hpp"

namespace pandora {
namespace {

using test::by_name;
using test::row_of;
using test::shifted;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Decision> decided(const std::vector<ComparedRow>& rows, double margin) {
  return decide({{"rule", "base", rows}}, margin);
}

std::vector<double> repeated(const std::vector<double>& values, int times) {
  std::vector<double> out;
  for (int k = 0; k < times; ++k) out.insert(out.end(), values.begin(), values.end());
  return out;
}

// The one-sided p value of t with three degrees of freedom, in closed form.
double p_of(double t) {
  t = std::abs(t) / std::sqrt(3.0);
  return 0.5 - (t / (1.0 + t * t) + std::atan(t)) / M_PI;
}

// One cell has two tests, each at half of 5%.
TEST(Keep, OneCellHasHalfTheLevelOnEachSide) {
  const double error = std::sqrt(2.0 / 3.0 / 4.0), enough = 3.19 * error, too_little = 3.17 * error;  // t_0.975 = 3.182
  EXPECT_EQ(decided({shifted(5.0 - enough)}, 5.0)[0].verdict, Verdict::keep);
  EXPECT_EQ(decided({shifted(5.0 + enough)}, 5.0)[0].verdict, Verdict::drop);
  EXPECT_EQ(decided({shifted(5.0 - too_little)}, 5.0)[0].verdict, Verdict::undecided);
  EXPECT_EQ(decided({shifted(5.0 + too_little)}, 5.0)[0].verdict, Verdict::undecided);
  EXPECT_EQ(decided({shifted(-enough)}, 0.0)[0].verdict, Verdict::keep);
  EXPECT_EQ(decided({shifted(enough)}, 0.0)[0].verdict, Verdict::drop);
  EXPECT_NEAR(decided({shifted(5.0 - enough)}, 5.0)[0].p, 2.0 * p_of(3.19), 1e-9);
}

// Among m cells the surest one is judged at 1 / (2 m) of the level. Each decided cell leaves more level to the next.
TEST(Keep, HolmRunsOverBothTestsOfAllCells) {
  const auto p = [](double shift) { return p_of(shift / std::sqrt(2.0 / 3.0 / 4.0)); };
  const std::vector<Decision> found = decided({shifted(-2.0), shifted(0.1), shifted(6.0)}, 0.0);
  EXPECT_EQ(found[0].verdict, Verdict::keep);
  EXPECT_EQ(found[1].verdict, Verdict::undecided);
  EXPECT_EQ(found[2].verdict, Verdict::drop);
  EXPECT_NEAR(found[2].p, 6.0 * p(6.0), 1e-9);
  EXPECT_NEAR(found[0].p, 5.0 * p(2.0), 1e-9);
  // A cell that cannot be tested costs the others nothing.
  EXPECT_NEAR(decided({row_of({3.0}, {1.0}), shifted(6.0)}, 0.0)[1].p, 2.0 * p(6.0), 1e-9);
}

TEST(Keep, SaysHowManyReplicationsItWouldTake) {
  const std::vector<double> rule = {0.2, 3.0, -1.0, 1.5, 2.0, -2.2, 0.7, 0.9};
  const auto of = [&](int times) {
    const std::vector<double> a = repeated(rule, times);
    return decided({row_of(a, std::vector<double>(a.size(), 0.0))}, 1.2)[0];
  };
  const Decision found = of(1);
  ASSERT_EQ(found.verdict, Verdict::undecided);
  ASSERT_GT(found.needed, 24.0);
  EXPECT_EQ(of(static_cast<int>(std::ceil(1.1 * found.needed / 8.0))).verdict, Verdict::keep);
  EXPECT_EQ(of(static_cast<int>(0.8 * found.needed / 8.0)).verdict, Verdict::undecided);
}

TEST(Keep, WhatCannotBeToldIsNotTold) {
  for (const ComparedRow& row : {row_of({}, {}), row_of({3.0}, {1.0}), shifted(2.0), row_of({2.0, 2.0}, {0.0, 0.0}),
                                 row_of({2.0, 2.0 + 1e-7, 2.0 - 1e-4, 2.0 + 1e-4}, {0.0, 0.0, 0.0, 0.0})}) {
    const Decision found = decided({row}, 2.0)[0];
    EXPECT_EQ(found.verdict, Verdict::undecided);
    EXPECT_TRUE(std::isnan(found.needed)) << found.needed;
  }
  EXPECT_TRUE(std::isnan(decided({row_of({3.0}, {1.0})}, 2.0)[0].p));
  // If all differences are the same number, there is no uncertainty.
  EXPECT_EQ(decided({row_of({2.0, 2.0}, {1.0, 1.0})}, 2.0)[0].verdict, Verdict::keep);
  EXPECT_EQ(decided({row_of({4.0, 4.0}, {1.0, 1.0})}, 2.0)[0].verdict, Verdict::drop);
  for (const std::size_t n : {2u, 3u, 7u, 12u})  // the rounding of a mean is no variation
    EXPECT_EQ(decided({row_of(std::vector<double>(n, 0.1), std::vector<double>(n, 0.0))}, 2.0)[0].verdict,
              Verdict::keep);
}

// In nine of ten replications the rule gains a little, and in one it loses much. t alone would keep it.
TEST(Keep, SkewedDifferencesTakeMore) {
  std::vector<double> rare = repeated({-1.0, -1.1, -0.9, -1.0, -1.05, -0.95, -1.0, -1.1, -0.9}, 4);
  rare.insert(rare.end(), {2.9, 3.1});
  const std::vector<double> zero(rare.size(), 0.0);
  ASSERT_LT(paired_difference(rare, zero).p, 1e-4);
  EXPECT_EQ(decided({row_of(rare, zero)}, 0.0)[0].verdict, Verdict::undecided);
  const auto table = [&](double margin) { return keep_tables({{"rule", "base", {row_of(rare, zero)}}}, margin).at(0); };
  EXPECT_EQ(table(2.0).rows[0].cells[2].text, "keep: worse by less than 2, or better*");
  EXPECT_THAT(table(2.0).notes, testing::Contains(HasSubstr("so skewed")));
  EXPECT_THAT(table(0.0).notes, testing::Not(testing::Contains(HasSubstr("so skewed"))));  // nothing is decided
}

TEST(KeepTables, ASentencePerCell) {
  ComparedRow few = shifted(0.0);
  few.replications = 5;
  const std::vector<ComparedPair> pairs = {{"a/known", "b/known", {shifted(-8.0), shifted(14.0), few}},
                                           {"a/unknown", "b/unknown", {shifted(1.0), shifted(2.0)}}};
  const std::vector<Table> tables = keep_tables(pairs, 2.0);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_THAT(tables[0].title, HasSubstr("Whether to keep a/known (rule) against b/known (base)"));
  EXPECT_THAT(tables[0].title, HasSubstr("regret x 1000, margin 2"));
  EXPECT_THAT(tables[0].columns, ElementsAre("cell", "n", "decision", "rule - base", "± (95%)", "p (Holm)"));
  const auto said = [&](std::size_t table, std::size_t row) { return tables[table].rows[row].cells[2].text; };
  EXPECT_EQ(said(0, 0), "keep: worse by less than 2, or better");
  EXPECT_EQ(said(0, 1), "drop: worse by more than 2");
  EXPECT_THAT(said(0, 2), testing::MatchesRegex("undecided: takes about [0-9]+ replications"));
  EXPECT_EQ(said(1, 1), "undecided: how many it takes is unknown");
  EXPECT_TRUE(tables[0].rows[0].cells[2].bold);
  EXPECT_FALSE(tables[0].rows[2].cells[2].bold);
  EXPECT_THAT(tables[0].notes[0], HasSubstr("at most 5% over all rows of this call, 5 in number"));
  EXPECT_THAT(tables[0].notes.back(), HasSubstr("n is less than"));
  EXPECT_EQ(tables[1].notes.size(), tables[0].notes.size() - 1);
  const std::string csv = keep_columns(pairs, 2.0).csv();
  EXPECT_THAT(csv,
              testing::StartsWith("rule,base,setting,environment,regime,T0,replications,decision,replications_needed,"
                                  "margin_x1000,difference_x1000,half_width_95_x1000,p_holm,skewed\na/known,b/known,,"
                                  "uniform,A,7,4,keep,,2,-8,"));
  EXPECT_THAT(csv, testing::ContainsRegex(",undecided,[0-9]+,2,0,"));
}

class KeepPairs : public test::MadeUpResults {
 protected:
  StoredResults results(const std::string& more = "T0 = [0]\n") const {
    return results_of(study_of("\"dow\", \"online_plugin\", \"frugalgpt\"", more),
                      by_name({{"-/oracle/known", {520, 530, 510, 540}},
                               {"0/dow/known/c_rho=0.1", {515, 522, 508, 533}},
                               {"0/online_plugin/known", {512, 521, 501, 530}}}));
  }
};

TEST_F(KeepPairs, TheRuleIsFirst) {
  StoredResults from = results();
  const std::vector<ComparedPair> pairs = keep_pairs(from, {"dow", "online_plugin/known", 1.0}, {});
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a, "dow/known");
  EXPECT_NEAR(pairs[0].rows.at(0).paired.difference.mean, -3.5, 1e-9);
}

TEST_F(KeepPairs, RefusesWhatCannotBeAnswered) {
  StoredResults from = results("T0 = [0, 7]\n");
  const auto refuses = [&](const KeepOptions& options, const std::string& part, const CompareOptions& cells = {}) {
    test::expect_error(ExitCode::usage, part, [&] { keep_pairs(from, options, cells); });
  };
  refuses({"dow", "online_plugin", {}}, "--margin X: is missing");
  refuses({"dow", "", 1.0}, "--against BASE: is missing");
  refuses({"", "dow", 1.0}, "--keep RULE: is missing");
  for (const double margin : {-1.0, std::nan(""), HUGE_VAL}) refuses({"dow", "online_plugin", margin}, "at least 0");
  refuses({"dow", "online_plugin", 1.0}, "--policy: is not for --keep", {{"dow"}});
  refuses({"dwo", "online_plugin", 1.0}, "--keep dwo: the results have no such policy; the nearest is dow");
  refuses({"dow", "online_plugn", 1.0}, "--against online_plugn: ");
  refuses({"dow", "dow", 1.0}, "--against dow: is the rule itself");
  refuses({"frugalgpt", "dow", 1.0}, "--keep frugalgpt: does not run at T0 = 0");
  refuses({"dow", "frugalgpt", 1.0}, "--against frugalgpt: does not run at T0 = 0");
  refuses({"dow", "online_plugin", 1.0}, "--t0 5", {{}, {5}});
  EXPECT_NO_THROW(keep_pairs(from, {"frugalgpt", "dow", 1.0}, {{}, {7}}));
}

TEST_F(KeepPairs, OneReplicationDecidesNothing) {
  StoredResults from =
      results_of("replications = 1\n" + study_without_replications("\"dow\", \"online_plugin\"", "T0 = [0]\n"),
                 by_name({{"-/oracle/known", {520}}}));
  test::expect_error(
      ExitCode::bad_data,
      "needs two replications that count, four if there are hyperparameters to choose from; no cell has more than 1",
      [&] {
        keep_pairs(from, {"online_plugin/known", "dow/known", 1.0}, {});
      });
}

}  // namespace
}  // namespace pandora
