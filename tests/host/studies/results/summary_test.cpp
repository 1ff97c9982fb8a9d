// Made-up results whose summary can be checked by hand.
#include "host/studies/results/summary.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pandora {
namespace {

constexpr double kOfThree = 4.3026527297;  // Student's factor for two degrees of freedom

TEST(Estimate, IsTheMeanWithStudentsInterval) {
  const Estimate found = estimate({1.0, 2.0, 6.0});
  EXPECT_DOUBLE_EQ(found.mean, 3.0);
  // Squared deviations are 4, 1, 9, so the variance is 14 / 2 and the standard error sqrt(7 / 3).
  EXPECT_DOUBLE_EQ(found.standard_error, std::sqrt(7.0 / 3.0));
  EXPECT_NEAR(found.half_width_95, kOfThree * std::sqrt(7.0 / 3.0), 1e-9);
}

TEST(Estimate, OfOneValueHasNoHalfWidth) {
  EXPECT_EQ(estimate({4.5}).mean, 4.5);
  EXPECT_TRUE(std::isnan(estimate({4.5}).half_width_95));
  EXPECT_TRUE(std::isnan(estimate({}).mean));
}

Study study_of(int replications) {
  Study study;
  study.environments = {paper_environments()[0]};
  study.regimes = {Regime::A};
  study.T0 = {0, 50};
  study.policies = {"dow", "static_plugin", "query_all"};
  study.hyperparameters = {0.1, 1.0};
  study.replications = replications;
  study.periods = kPaperPeriods;
  return study;
}

// In replication r the oracle gains 1 + 0.01 r. Lane l gains less by 0.001 (l + r / 10).
std::vector<UnitResult> made_up(const Plan& plan) {
  std::vector<UnitResult> results(plan.units.size());
  for (std::size_t u = 0; u < plan.units.size(); ++u) {
    const double r = plan.units[u].replication;
    for (std::size_t l = 0; l < plan.lanes.size(); ++l) {
      const double loss = l == 0 ? 0.0 : 0.001 * (static_cast<double>(l) + r / 10.0);
      LaneTally tally;  // it has four periods
      tally.start(4);
      tally.periods = 4;
      tally.utility = 4.0 * (1.0 + 0.01 * r - loss);
      tally.realised_utility = 4.0 * (0.9 + 0.01 * r - 2.0 * loss);
      tally.queries_of_box[0] = 4.0;
      tally.queries_of_box[1] = 4.0 * (0.1 * static_cast<double>(l) + 0.01 * r);
      results[u].lanes.push_back(tally);
    }
    results[u].order = {1.0 + r, 0.9, 0.1};
  }
  return results;
}

// Made-up results of a study, which a test may change before it summarises them.
struct MadeUp {
  Study study;
  Plan plan = make_plan(study);
  std::vector<UnitResult> results = made_up(plan);

  Summary summary() const { return summarise(study, plan, results); }
};

const SummaryRow& row_of(const Summary& summary, std::string_view policy, std::string_view hyperparameter, int T0,
                         std::string_view reward) {
  for (const SummaryRow& row : summary.rows)
    if (row.policy == policy && row.hyperparameter == hyperparameter && row.T0 == T0 && row.reward == reward)
      return row;
  throw std::logic_error("no such row: " + std::string(policy) + " " + std::string(hyperparameter));
}

TEST(Summarise, RegretIsThePairedDifferenceFromTheOracle) {
  const Summary summary = MadeUp{study_of(3)}.summary();
  const SummaryRow& row = row_of(summary, "dow", "c_rho=0.1", 50, "known");
  const double l = static_cast<double>(row.lane);  // losses x 1000: l, l + 0.1, l + 0.2, without the oracle's spread
  EXPECT_NEAR(row.regret.mean, l + 0.1, 1e-9);
  EXPECT_NEAR(row.regret.half_width_95, kOfThree * 0.1 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(row.regret.standard_error, 0.1 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(row.realised_regret.mean, 2.0 * (l + 0.1), 1e-9);
  EXPECT_NEAR(row.realised_regret.half_width_95, kOfThree * 0.2 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(row.queries.mean, 1.0 + 0.1 * l + 0.01, 1e-12);
  EXPECT_EQ(row.regime, "A");
  EXPECT_EQ(row.environment, "uniform");
  EXPECT_EQ(row.replications, 3);
  EXPECT_EQ(row.periods, kPaperPeriods);
}

TEST(Summarise, ReportsEveryVariantForEveryT0WhereItApplies) {
  const Summary summary = MadeUp{study_of(2)}.summary();
  // Rows: 1 of the oracle, 2 + 4 of dow, 2 of the static policy (only T0 = 50), and 1 of query_all.
  EXPECT_EQ(summary.rows.size(), 2u * (1 + 6 + 1) + 2u);
  for (const char* hyperparameter : {"c_rho=0.1", "c_rho=1"})
    for (int T0 : {0, 50}) EXPECT_NO_THROW(row_of(summary, "dow", hyperparameter, T0, "known"));
  EXPECT_THROW(row_of(summary, "static_plugin", "", 0, "known"), std::logic_error);
  EXPECT_NO_THROW(row_of(summary, "static_plugin", "", 50, "unknown"));
}

TEST(Summarise, ReportsPoliciesThatIgnoreTheCalibrationForEachT0) {
  const Summary summary = MadeUp{study_of(2)}.summary();
  const SummaryRow &first = row_of(summary, "query_all", "", 0, "known"),
                   &second = row_of(summary, "query_all", "", 50, "known");
  EXPECT_EQ(first.regret.mean, second.regret.mean);
  EXPECT_GT(first.regret.mean, 0.0);
}

TEST(Summarise, OneBestHyperparameterPerPolicyRewardAndCell) {
  MadeUp made{study_of(2)};
  // For dow with unknown reward at T0 = 50, the last of the four is made the best.
  const std::size_t chosen = row_of(made.summary(), "dow", "c_rho=1;c_theta=1", 50, "unknown").lane;
  for (UnitResult& unit : made.results) unit.lanes[chosen].utility = unit.lanes[0].utility;
  for (const SummaryRow& row : made.summary().rows) {
    if (row.policy != "dow") {
      EXPECT_TRUE(row.best) << row.policy;  // there is no choice
      continue;
    }
    std::string wanted = row.reward == "known" ? "c_rho=0.1" : "c_rho=0.1;c_theta=0.1";
    if (row.reward == "unknown" && row.T0 == 50) wanted = "c_rho=1;c_theta=1";
    EXPECT_EQ(row.best, row.hyperparameter == wanted) << row.reward << " " << row.hyperparameter << " " << row.T0;
  }
}

TEST(Summarise, PutsThePublishedValueOnTheBestRow) {
  const Summary summary = MadeUp{study_of(2)}.summary();
  EXPECT_EQ(row_of(summary, "dow", "c_rho=0.1", 0, "known").published->value, 7.59);  // Table 1
  EXPECT_FALSE(row_of(summary, "dow", "c_rho=1", 0, "known").published);
  EXPECT_FALSE(row_of(summary, "query_all", "", 0, "known").published);
  EXPECT_TRUE(row_of(summary, "static_plugin", "", 50, "unknown").published);
  EXPECT_FALSE(row_of(summary, "static_plugin", "", 50, "known").published);
}

TEST(Summarise, MarksAgreementFromTenReplicationsOn) {
  for (const int replications : {9, 10}) {
    MadeUp made{study_of(replications)};
    const auto lane_of = [before = made.summary()](const char* hyperparameter, int T0) {
      return row_of(before, "dow", hyperparameter, T0, "known").lane;
    };
    // The regret is near the published 7.59 at T0 = 0, and far from the published 7.66 at T0 = 50.
    for (UnitResult& unit : made.results) {
      unit.lanes[lane_of("c_rho=0.1", 0)].utility = unit.lanes[0].utility - 4 * 0.00759;
      unit.lanes[lane_of("c_rho=1", 0)].utility = 0.0;
      unit.lanes[lane_of("c_rho=0.1", 50)].utility = unit.lanes[0].utility - 4 * 0.02;
      unit.lanes[lane_of("c_rho=1", 50)].utility = 0.0;
    }
    const Summary summary = made.summary();
    const SummaryRow &near = row_of(summary, "dow", "c_rho=0.1", 0, "known"),
                     &far = row_of(summary, "dow", "c_rho=0.1", 50, "known");
    EXPECT_EQ(near.inside_joint_95, replications < 10 ? std::nullopt : std::optional(true));
    EXPECT_EQ(far.inside_joint_95, replications < 10 ? std::nullopt : std::optional(false));
    EXPECT_FALSE(row_of(summary, "dow", "c_rho=1", 0, "known").inside_joint_95.has_value());
  }
}

TEST(Outside, IsSilentBelowTenReplications) {
  const PublishedValue published{1.0, 0.1};
  EXPECT_TRUE(outside({2.0, 0.1, 0.05}, published, 10));
  EXPECT_FALSE(outside({2.0, 0.1, 0.05}, published, 9));
  EXPECT_FALSE(outside({1.1, 0.1, 0.05}, published, 50));
}

TEST(Summarise, OracleAndOrderRows) {
  const Summary summary = MadeUp{study_of(3)}.summary();
  ASSERT_EQ(summary.oracle.size(), 1u);
  EXPECT_NEAR(summary.oracle[0].utility_x1000.mean, 1010.0, 1e-9);
  EXPECT_NEAR(summary.oracle[0].utility_x1000.half_width_95, kOfThree * 10.0 / std::sqrt(3.0), 1e-8);
  EXPECT_NEAR(summary.oracle[0].boxes_queried.mean, 1.01, 1e-12);
  EXPECT_EQ(summary.oracle[0].u, 0.23);
  EXPECT_EQ(summary.oracle[0].published->utility_x1000.value, 522.53);
  ASSERT_EQ(summary.order.size(), 1u);
  EXPECT_NEAR(summary.order[0].permutations.mean, 2.0, 1e-12);
  EXPECT_NEAR(summary.order[0].permutations.half_width_95, kOfThree / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(summary.order[0].max_mass.mean, 0.9, 1e-12);
  EXPECT_NEAR(summary.order[0].min_mass.mean, 0.1, 1e-12);
}

// Numbers of another problem must not be compared with the paper's.
TEST(Summarise, ComparesOnlyThePapersProblemWithThePaper) {
  const auto published = [](auto&& change) {
    Study study = study_of(2);
    change(study);
    const Summary summary = MadeUp{study}.summary();
    return std::vector<bool>{row_of(summary, "dow", "c_rho=0.1", 0, "known").published.has_value(),
                             summary.oracle[0].published.has_value(), summary.order[0].published.has_value()};
  };
  EXPECT_EQ(published([](Study&) {}), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(published([](Study& s) { s.periods = 1000; }), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(published([](Study& s) { s.dimensions.boxes = 4; }), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(published([](Study& s) { s.environments[0].cost_level = 0.3; }), (std::vector<bool>{false, false, false}));
}

TEST(Summarise, LeavesOutLanesThatFailed) {
  MadeUp made{study_of(3)};
  const std::size_t lane = row_of(made.summary(), "dow", "c_rho=0.1", 50, "known").lane;
  made.results[1].lanes[lane].utility = std::nan("");
  made.results[1].lanes[lane].fail(Failure::not_finite, 3);
  const Summary summary = made.summary();
  const SummaryRow& row = row_of(summary, "dow", "c_rho=0.1", 50, "known");
  EXPECT_EQ(row.failed, 1);
  EXPECT_EQ(row.replications, 2);
  EXPECT_NEAR(row.regret.mean, static_cast<double>(lane) + 0.1, 1e-9);  // the mean of replications 0 and 2
  EXPECT_EQ(row_of(summary, "dow", "c_rho=0.1", 0, "known").failed, 0);
  for (UnitResult& unit : made.results) unit.lanes[lane].fail(Failure::not_finite, 3);
  const Summary none = made.summary();
  EXPECT_TRUE(std::isnan(row_of(none, "dow", "c_rho=0.1", 50, "known").regret.mean));
  EXPECT_FALSE(row_of(none, "dow", "c_rho=0.1", 50, "known").best);
}

// A mean over fewer replications may be small because those with much regret are missing.
TEST(Summarise, TheBestIsOneOfThoseWithTheMostReplications) {
  MadeUp made{study_of(3)};
  const Summary whole = made.summary();
  const SummaryRow* const best = best_row(whole, "dow", "known", 50, "A", "uniform");
  ASSERT_NE(best, nullptr);
  made.results[2].lanes[best->lane].fail(Failure::not_finite, 3);
  for (const SummaryRow& row : made.summary().rows)
    if (row.policy == "dow" && row.reward == "known" && row.T0 == 50) {
      EXPECT_EQ(row.best, row.lane != best->lane);
    }
}

TEST(Summarise, LeavesOutWhatWasNotAskedFor) {
  MadeUp made{study_of(2)};
  made.study.order = false;
  EXPECT_TRUE(made.summary().order.empty());
  made.study.order = true;
  made.study.regret = false;
  const Summary order_only = made.summary();
  EXPECT_TRUE(order_only.rows.empty());
  EXPECT_TRUE(order_only.oracle.empty());
  EXPECT_EQ(order_only.order.size(), 1u);
}

}  // namespace
}  // namespace pandora
