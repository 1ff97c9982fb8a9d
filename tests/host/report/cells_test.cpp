// Regrets of single replications: which of them count, and which lanes a policy has.
#include "host/report/cells.hpp"

#include <gmock/gmock.h>

#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

using test::by_name;
using test::kFailed;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsNan;
using Cells = test::MadeUpResults;
using Lanes = std::vector<std::size_t>;

std::size_t lane_of(const StoredResults& results, const std::string& name) {
  const std::vector<PlannedLane>& lanes = results.settings()[0].plan.lanes;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    if (lane_name(lanes[lane]) == name) return lane;
  ADD_FAILURE() << "no lane " << name;
  return 0;
}

// Utilities are per period and times 1000. A lane that failed or has not run has none. If the oracle failed, no lane
// has one.
TEST_F(Cells, UtilitiesAreThoseOfLanesThatCount) {
  write(study_of("\"online_plugin\"", "T0 = [0]"), by_name({{"-/oracle/known", {520, 530, kFailed, 540}},
                                                            {"0/online_plugin/known", {kFailed, 521, 501, 530}},
                                                            {"0/online_plugin/unknown", {510, 511, 512, 513}}}));
  forget(3);
  StoredResults results = read();
  const std::vector<CellSeries> cells = cell_series(results);
  ASSERT_EQ(cells.size(), 1u);
  const CellSeries& cell = cells[0];
  EXPECT_EQ(cell.regime, "A");
  EXPECT_EQ(cell.environment.name, "uniform");
  const std::size_t known = lane_of(results, "0/online_plugin/known"),
                    unknown = lane_of(results, "0/online_plugin/unknown");
  const auto near = [](double value) { return DoubleNear(value, 1e-9); };
  EXPECT_THAT(cell.lanes[0].utility, ElementsAre(near(520), near(530), IsNan(), IsNan()));
  EXPECT_THAT(cell.lanes[known].utility, ElementsAre(IsNan(), near(521), IsNan(), IsNan()));
  EXPECT_THAT(cell.lanes[unknown].utility, ElementsAre(near(510), near(511), IsNan(), IsNan()));
  EXPECT_EQ(common_replications(cell, {unknown}), (Lanes{0, 1}));
  EXPECT_EQ(common_replications(cell, {known, unknown}), (Lanes{1}));
  EXPECT_THAT(cell.regrets(unknown, {0, 1}), ElementsAre(near(10), near(19)));
}

TEST_F(Cells, AreThoseOfEverySettingEnvironmentAndRegime) {
  StoredResults results = results_of(
      "replications = 1\nperiods = 100\nT0 = [0]\nenvironments = [\"uniform\", \"gaussian\"]\npolicies = [\"dow\"]\n"
      "[output]\norder = false\ninstances = false\n[vary]\nestimation.eta_index = [1, 2]",
      [](const std::string&, const Unit& unit) { return unit.regime == Regime::A ? 1.0 : 2.0; });
  std::vector<std::string> found;
  for (const CellSeries& cell : cell_series(results)) {
    found.push_back(std::to_string(cell.setting) + " " + cell.environment.name + " " + cell.regime);
    EXPECT_NEAR(cell.lanes[0].utility.at(0), cell.regime == "A" ? 1.0 : 2.0, 1e-9);
  }
  EXPECT_THAT(found, ElementsAre("0 uniform A", "0 uniform B", "0 gaussian A", "0 gaussian B", "1 uniform A",
                                 "1 uniform B", "1 gaussian A", "1 gaussian B"));
}

// A contender is a policy with one reward setting. Its lanes are its hyperparameters.
TEST_F(Cells, ContendersAreLanesByRewardThatServeAT0) {
  const StoredResults results =
      results_of(study_of("\"dow\", \"frugalgpt\", \"query_all\"",
                          "T0 = [0, 7]\n[hyperparameters]\nc_rho = [0.1, 1]\nc_theta = [0.1, 1]"),
                 by_name({}));
  const Plan& plan = results.settings()[0].plan;
  const std::vector<Contender> dow = contenders(plan, 7, "dow", "");
  ASSERT_EQ(dow.size(), 2u);
  EXPECT_EQ(dow[0].name(), "dow/known");
  EXPECT_EQ(dow[0].lanes, (Lanes{lane_of(results, "7/dow/known/c_rho=0.1"), lane_of(results, "7/dow/known/c_rho=1")}));
  EXPECT_EQ(dow[1].name(), "dow/unknown");
  EXPECT_EQ(dow[1].lanes.size(), 4u);
  const std::vector<Contender> unknown = contenders(plan, 7, "dow", "unknown");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].lanes, dow[1].lanes);
  EXPECT_TRUE(contenders(plan, 0, "frugalgpt", "").empty());  // it needs a calibration
  EXPECT_EQ(contenders(plan, 7, "frugalgpt", "").size(), 1u);
  for (const int T0 : {0, 7}) {  // the same lane for every T_0
    ASSERT_EQ(contenders(plan, T0, "query_all", "").size(), 1u);
    EXPECT_EQ(contenders(plan, T0, "query_all", "")[0].lanes, (Lanes{lane_of(results, "-/query_all/known")}));
  }
  EXPECT_TRUE(contenders(plan, 7, "query_all", "unknown").empty());
}

}  // namespace
}  // namespace pandora
