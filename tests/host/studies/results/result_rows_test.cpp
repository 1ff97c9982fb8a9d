// The columns of the CSV files.
#include "host/studies/results/result_rows.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/host/studies/results/made_up_summary.hpp"

namespace pandora {
namespace {

using test::lines_of;
using test::two_rows;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

ResultRows rows_of(const Summary& summary, const Varied& varied = {}) {
  Study study;
  study.environments = {paper_environments()[0]};
  ResultRows rows(varied, make_plan(study), "pandora");
  rows.add_summary(summary, varied);
  return rows;
}

TEST(SummaryCsv, HasTheColumnsThatReadersRelyOn) {
  EXPECT_EQ(lines_of(rows_of({}).csv("summary"))[0],
            "regime,environment,T0,policy,reward,c_rho,c_theta,c_b,replications,failed,periods,regret_x1000,"
            "half_width_95_x1000,standard_error_x1000,realised_regret_x1000,realised_half_width_95_x1000,"
            "realised_standard_error_x1000,quality_x1000,quality_half_width_95_x1000,quality_standard_error_x1000,"
            "realised_quality_x1000,realised_quality_half_width_95_x1000,realised_quality_standard_error_x1000,"
            "cost_x1000,cost_half_width_95_x1000,cost_standard_error_x1000,queries_per_period,"
            "queries_per_period_half_width_95,queries_per_period_standard_error,best,published_x1000,"
            "published_half_width_95_x1000,inside_joint_95,wrong_order_x1000,wrong_order_half_width_95_x1000,"
            "wrong_order_standard_error_x1000,too_early_x1000,too_early_half_width_95_x1000,"
            "too_early_standard_error_x1000,too_many_x1000,too_many_half_width_95_x1000,"
            "too_many_standard_error_x1000,wrong_deployment_x1000,wrong_deployment_half_width_95_x1000,"
            "wrong_deployment_standard_error_x1000,wrong_order_gap_x1000,wrong_order_gap_half_width_95_x1000,"
            "wrong_order_gap_standard_error_x1000,too_early_gap_x1000,too_early_gap_half_width_95_x1000,"
            "too_early_gap_standard_error_x1000,lane");
}

TEST(SummaryCsv, WritesARowPerVariantWithItsHyperparametersInColumnsOfTheirOwn) {
  const std::vector<std::string> lines = lines_of(rows_of(two_rows()).csv("summary"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1],
            "A,uniform,50,dow,unknown,0.1,1,,12,0,30000,7.500000,0.250000,0.125,7.250000,0.500000,0.25,"
            "600.000000,2.000000,1,601.000000,3.000000,1.5,90.000000,1.000000,0.5,1.625000,0.125000,0.0625,1,7.66,0.30,"
            "1,4.000000,0.400000,0.2,2.000000,0.200000,0.1,1.000000,0.100000,0.05,0.500000,0.050000,0.025,0.300000,"
            "0.030000,0.015,,,,50/dow/unknown/c_rho=0.1;c_theta=1");
  EXPECT_THAT(lines[2], StartsWith("A,uniform,50,dow,unknown,1,1,,12,"));
  EXPECT_THAT(lines[2], HasSubstr(",0,,,,4.000000,"));
}

TEST(SummaryCsv, WhatIsUnknownIsAnEmptyCell) {
  Summary summary = two_rows();
  summary.rows[0].regret = estimate({4.0});  // one replication has no half-width
  summary.rows[1].regret = estimate({});     // no lane counts
  const std::vector<std::string> lines = lines_of(rows_of(summary).csv("summary"));
  EXPECT_THAT(lines[1], HasSubstr(",30000,4.000000,,,7.25"));
  EXPECT_THAT(lines[2], HasSubstr(",30000,,,,7.25"));
}

TEST(SummaryCsv, MarksDisagreementWithAZero) {
  Summary summary = two_rows();
  summary.rows[0].inside_joint_95 = false;
  EXPECT_THAT(lines_of(rows_of(summary).csv("summary"))[1], HasSubstr(",7.66,0.30,0,4.000000,"));
}

TEST(Csv, EveryRowHasAsManyCellsAsItsHeader) {
  Summary summary = two_rows();
  summary.oracle.push_back(summary.oracle[0]);
  summary.oracle[1].published.reset();
  summary.order.push_back(summary.order[0]);
  summary.order[1].published.reset();
  const Varied varied = {{"periods", "1000"}, {"estimation.refit", "tracking"}};
  for (const ResultRows& rows : {rows_of(summary), rows_of(summary, varied)})
    for (const std::string& text : {rows.csv("summary"), rows.csv("oracle"), rows.csv("oracle_order")}) {
      const std::vector<std::string> lines = lines_of(text);
      ASSERT_EQ(lines.size(), 3u);
      for (const std::string& line : lines)
        EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(lines[0].begin(), lines[0].end(), ',')) << line;
    }
}

TEST(Csv, KeysThatVaryAreTheFirstColumns) {
  const ResultRows rows = rows_of(two_rows(), {{"periods", "1000"}, {"estimation.refit", "tracking"}});
  EXPECT_THAT(rows.csv("summary"), StartsWith("periods,estimation.refit,regime,environment,"));
  EXPECT_THAT(lines_of(rows.csv("summary"))[1], StartsWith("1000,tracking,A,uniform,"));
}

// Exceptions are hyperparameters, and half-widths, standard errors and published numbers, for which the page has
// patterns.
TEST(Csv, EveryColumnStandsInTheDocumentation) {
  std::stringstream page;
  page << std::ifstream(PANDORA_SOURCE "/docs/columns.md").rdbuf();
  std::vector<std::string> elsewhere;
  for (const Hyperparameter& h : all_hyperparameters()) elsewhere.push_back(h.name);
  Study study;
  study.environments = {paper_environments()[0]};
  for (const auto& [file, columns] : ResultRows({{"periods", "1000"}}, make_plan(study), "pandora", true).files)
    for (const Columns::Column& column : columns.columns()) {
      const std::string& name = column.head.column;
      if (name.find("half_width") == std::string::npos && name.find("standard_error") == std::string::npos &&
          !name.starts_with("published_") && std::find(elsewhere.begin(), elsewhere.end(), name) == elsewhere.end()) {
        EXPECT_THAT(page.str(), HasSubstr("`" + name + "`")) << file;
      }
    }
}

// The sums of made-up tallies can be checked by hand.
TEST(Csv, BoxesDepthCurvesAndFailuresFollowFromTheTallies) {
  Study study;
  study.environments = {paper_environments()[0]};
  study.regimes = {Regime::A};
  study.T0 = {50};
  study.policies = {"frugalgpt"};
  study.replications = 2;
  study.periods = 10;
  Plan plan = make_plan(study);
  std::vector<UnitResult> results(2);
  for (std::size_t r = 0; r < 2; ++r) {
    results[r].resize(2);
    for (LaneTally& tally : results[r].lanes) {
      tally.start(10);
      const double mu[] = {0.5, 0.75, 0.25}, costs[] = {0.125, 0.25, 0.0};
      const float reward[] = {1, 0, 1};
      PeriodOutcome outcome;
      outcome.queried = r == 0 ? 2 : 1;
      outcome.order[0] = 1;
      outcome.order[1] = 0;
      outcome.deployed = r == 0 ? 0 : 1;
      for (int t = 0; t < 10; ++t) tally.add(outcome, mu, costs, reward);
    }
  }
  EXPECT_EQ(results[0].lanes[1].quality, 5.0);
  EXPECT_EQ(results[0].lanes[1].realised_quality, 10.0);
  EXPECT_EQ(results[0].lanes[1].cost, 3.75);
  ResultRows rows({}, plan, "./bin/pan'dora");
  rows.add({{}, study}, plan, results, summarise(study, plan, results));
  const std::vector<std::string> boxes = lines_of(rows.csv("boxes")), depth = lines_of(rows.csv("depth"));
  ASSERT_EQ(boxes.size(), 1u + 2 * 3);  // rows of the oracle and of FrugalGPT
  EXPECT_THAT(boxes[4], StartsWith("A,uniform,50,frugalgpt,known,,,,1,0.500000,"));
  EXPECT_THAT(boxes[5], StartsWith("A,uniform,50,frugalgpt,known,,,,2,1.000000,0.000000,0,0.500000,"));
  EXPECT_EQ(boxes[6], "A,uniform,50,frugalgpt,known,,,,3,0.000000,0.000000,0,0.000000,0.000000,0");
  ASSERT_EQ(depth.size(), 1u + 2 * 3);
  EXPECT_THAT(depth[4], StartsWith("A,uniform,50,frugalgpt,known,,,,1,0.500000,"));
  EXPECT_THAT(lines_of(rows.csv("curves"))[1], StartsWith("A,uniform,50,frugalgpt,known,,,,1,0.000000,0.000000"));

  results[1].notes[1].list = {2, 0};
  results[1].notes[1].thresholds = {0.25};
  results[1].lanes[1].fail(Failure::policy, 7);
  results[1].notes[1].message = "next() returned 9, \"out\nof\" range";
  ResultRows failing({}, plan, "./bin/pan'dora");
  failing.add({{}, study}, plan, results, summarise(study, plan, results));
  EXPECT_EQ(failing.csv("choices").substr(failing.csv("choices").find('\n') + 1),
            "A,uniform,1,50,frugalgpt,known,,,,1,3,0.25\nA,uniform,1,50,frugalgpt,known,,,,2,1,\n");
  EXPECT_EQ(lines_of(failing.csv("failures"))[1],
            "A,uniform,1,50,frugalgpt,known,,,,1,7,\"the policy failed: next() returned 9, \"\"out of\"\" "
            "range\",'./bin/pan'\\''dora' replay study.toml --lane uniform/A/1/50/frugalgpt/known");
}

}  // namespace
}  // namespace pandora
