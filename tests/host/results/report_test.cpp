// The files' columns and the tables' text.
#include "host/results/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace pandora {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Summary two_rows() {
  Summary summary;
  SummaryRow row;
  row.regime = "A";
  row.environment = "uniform";
  row.T0 = 50;
  row.policy = "dow";
  row.reward = "unknown";
  row.hyperparameter = "c_rho=0.1;c_theta=1";
  row.replications = 12;
  row.periods = 30000;
  row.regret = {7.5, 0.25};
  row.realised_regret = {7.25, 0.5};
  row.queries_per_period = 1.625;
  row.best = true;
  row.published = PublishedValue{7.66, 0.3};
  row.inside_joint_95 = true;
  summary.rows.push_back(row);
  row.best = false;
  row.hyperparameter = "c_rho=1;c_theta=1";
  row.published.reset();
  row.inside_joint_95.reset();
  summary.rows.push_back(row);
  summary.oracle.push_back({"A", "uniform", 0.23, {522.5, 12.5}, {1.6875, 0.0625}, published_oracle("A", "uniform")});
  summary.order.push_back({"uniform", "A", {1.0, 0.0}, {1.0, 0.0}, {1.0, 0.0}, published_order("A", "uniform")});
  return summary;
}

TEST(SummaryCsv, HasTheColumnsThatReadersRelyOn) {
  EXPECT_EQ(lines_of(summary_header())[0],
            "regime,environment,T0,policy,reward,hyperparameter,replications,failed,periods,regret_x1000,half_width_"
            "95_x1000,"
            "realised_regret_x1000,realised_half_width_95_x1000,queries_per_period,best,published_x1000,"
            "published_half_width_95_x1000,inside_joint_95");
}

TEST(SummaryCsv, WritesARowPerVariant) {
  const std::vector<std::string> lines = lines_of(summary_rows(two_rows()));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "A,uniform,50,dow,unknown,c_rho=0.1;c_theta=1,12,0,30000,7.500000,0.250000,7.250000,0.500000,1."
            "625000,1,7.66,"
            "0.30,1");
  EXPECT_EQ(lines[1],
            "A,uniform,50,dow,unknown,c_rho=1;c_theta=1,12,0,30000,7.500000,0.250000,7.250000,0.500000,1."
            "625000,0,,,");
}

TEST(SummaryCsv, MarksDisagreementWithAZero) {
  Summary summary = two_rows();
  summary.rows[0].inside_joint_95 = false;
  EXPECT_TRUE(lines_of(summary_rows(summary))[0].ends_with(",7.66,0.30,0"));
}

TEST(Csv, EveryRowHasAsManyCellsAsItsHeader) {
  Summary summary = two_rows();
  summary.oracle.push_back(summary.oracle[0]);
  summary.oracle[1].published.reset();
  summary.order.push_back(summary.order[0]);
  summary.order[1].published.reset();
  const Varied varied = {{"periods", "1000"}, {"estimation.refit", "tracking"}};
  for (const std::string& text :
       {summary_header() + summary_rows(summary), oracle_header() + oracle_rows(summary),
        order_header() + order_rows(summary), summary_header(varied) + summary_rows(summary, varied)}) {
    const std::vector<std::string> lines = lines_of(text);
    ASSERT_EQ(lines.size(), 3u);
    for (const std::string& line : lines)
      EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(lines[0].begin(), lines[0].end(), ',')) << line;
  }
}

TEST(Csv, KeysThatVaryAreTheFirstColumns) {
  const Varied varied = {{"periods", "1000"}, {"estimation.refit", "tracking"}};
  EXPECT_TRUE(summary_header(varied).starts_with("periods,estimation.refit,regime,environment,"));
  EXPECT_TRUE(summary_rows(two_rows(), varied).starts_with("1000,tracking,A,uniform,"));
}

TEST(TablesText, ShowsOursBesideThePublishedValue) {
  Study study;
  study.environments = {paper_environments()[0]};
  study.regimes = {Regime::A};
  study.T0 = {0, 50};
  study.policies = {"dow"};
  study.replications = 12;
  const std::string text = tables_text(study, two_rows());
  EXPECT_NE(text.find("7.50±0.25 (7.66±0.30)"), std::string::npos) << text;
  EXPECT_NE(text.find("0 of 1 regrets"), std::string::npos) << text;
  EXPECT_EQ(text.find("LinUCB"), std::string::npos) << text;  // not asked for
  Summary far = two_rows();
  far.rows[0].regret = {9.0, 0.25};
  far.rows[0].inside_joint_95 = false;
  const std::string marked = tables_text(study, far);
  EXPECT_NE(marked.find("9.00±0.25 (7.66±0.30)*"), std::string::npos) << marked;
  EXPECT_NE(marked.find("1 of 1 regrets"), std::string::npos) << marked;
}

TEST(TablesText, MarksNothingBelowTenReplications) {
  Study study;
  study.replications = 9;
  study.T0 = {50};
  Summary far = two_rows();
  far.rows[0].regret = {9.0, 0.25};
  far.rows[0].replications = 9;
  for (SummaryRow& row : far.rows) row.inside_joint_95.reset();
  const std::string text = tables_text(study, far);
  EXPECT_EQ(text.find('*'), std::string::npos) << text;
  EXPECT_NE(text.find("from 10 replications on"), std::string::npos) << text;
}

}  // namespace
}  // namespace pandora
