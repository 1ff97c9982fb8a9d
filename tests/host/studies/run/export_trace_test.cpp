// Tests the whole path of tables: a replication that is exported and read back is the same replication.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "host/studies/run/find_lane.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

constexpr const char* kTableStudy = R"(
environments = ["student_t5"]
seed = 3
replications = 2
periods = 120
T0 = [0, 9]
[dimensions]
context = 12
reward_features = 3
output = 10
radius_draws = 500
[environment.student_t5]
truncation_radius = 6
[hyperparameters]
c_rho = [0.1]
c_theta = [0.1]
c_b = [0.1]
[oracle]
samples = 1000
grid = [4, 4, 4]
bins = 50
[output]
order = false
)";

// The policies that can run without the parameters of the instance, in the paper's problem.
std::string policies() {
  std::string out;
  for (const Policy& policy : all_policies())
    if (const std::set<std::string> others = {"informed_weitzman", "adaptive_oracle", "tied_weitzman", "linucb_router",
                                              "commit_or_search"};
        !others.contains(policy.name))
      out += (out.empty() ? "" : ",") + policy.name;
  return out;
}

class ExportTrace : public test::FolderTest {
 protected:
  // The study on the exported table that the export itself prints.
  static StudyConfig of_table(const std::string& toml) {
    std::string text = kTableStudy;
    const std::string of_model = "[\"student_t5\"]";
    text.replace(text.find(of_model), of_model.size(), "[\"exported\"]");
    const std::string options = "[environment.student_t5]\ntruncation_radius = 6\n";
    text.erase(text.find(options), options.size());
    return StudyConfig::parse(text + toml, "back.toml");
  }

  // All lanes of one replication of each of the configuration's units.
  static std::vector<UnitResult> results(StudyConfig config, const std::string& engine, const std::string& precision,
                                         const std::string& refit) {
    for (const auto& [key, value] : std::map<std::string, std::string>{{"policies", policies()},
                                                                       {"engine.kind", engine},
                                                                       {"engine.precision", precision},
                                                                       {"estimation.refit", refit}})
      config.set(key, value, key);
    const PlannedSetting planned = make_plans(config)[0];
    return run_sweep(planned.setting.study, planned.plan, {});
  }
};

TEST_F(ExportTrace, ReadBackGivesEveryLaneTheSameBytes) {
  for (const char* regime : {"A", "B"}) {
    StudyConfig config = StudyConfig::parse(kTableStudy, "study.toml");
    config.set("regimes", regime, "test");
    const PlannedSetting planned = make_plans(config)[0];
    const std::string path = (base_ / fmt::format("table{}.jsonl", regime)).string();
    const ExportedTrace exported = export_trace(planned, planned.plan.units[1], "exported", path);
    std::ofstream(path) << exported.jsonl;
    StudyConfig back = of_table(exported.toml);
    for (const auto& [engine, precision, refit] :
         {std::tuple("blocked", "single", "geometric:1.5"), std::tuple("blocked", "double", "tracking"),
          std::tuple("reference", "double", "geometric:1.5")}) {
      const std::vector<UnitResult> expected = results(config, engine, precision, refit),
                                    found = results(back, engine, precision, refit);
      ASSERT_EQ(found.size(), 2u);
      ASSERT_EQ(found[1].lanes.size(), expected[1].lanes.size());
      for (std::size_t lane = 0; lane < found[1].lanes.size(); ++lane)
        EXPECT_EQ(found[1].lanes[lane], expected[1].lanes[lane]) << regime << " " << engine << " lane " << lane;
    }
  }
}

// Several openings are several answers to one prompt. The engines play them as in the model.
TEST_F(ExportTrace, SoDoesOneWithSeveralOpenings) {
  for (const char* regime : {"A", "B"}) {
    StudyConfig config = StudyConfig::parse(kTableStudy, "study.toml");
    config.set("regimes", regime, "test");
    config.set("actions.openings", "3", "test");
    config.set("actions.outside", "0.45", "test");
    const PlannedSetting planned = make_plans(config)[0];
    const std::string path = (base_ / fmt::format("table{}.jsonl", regime)).string();
    const ExportedTrace exported = export_trace(planned, planned.plan.units[1], "exported", path);
    std::ofstream(path) << exported.jsonl;
    const StudyConfig back = of_table(exported.toml);
    ASSERT_EQ(make_plans(back)[0].setting.study.periods, 120);
    const Replication of_model =
        prepare_replication(planned.setting.study, planned.plan, planned.plan.units[1], nullptr);
    for (int t = 0; t < 120; ++t)  // the index belongs to the box
      for (std::size_t cell = of_model.tape.at(of_model.tape.online_row(t), 0), a = 0; a < 3; ++a)
        EXPECT_EQ(of_model.sigma[cell + 120 * 3 + a], of_model.sigma[cell + a]);
    for (const auto& [engine, precision] : {std::pair("blocked", "single"), std::pair("reference", "double")}) {
      const std::vector<UnitResult> expected = results(config, engine, precision, "geometric:1.5"),
                                    found = results(back, engine, precision, "geometric:1.5");
      ASSERT_EQ(found[1].lanes.size(), expected[1].lanes.size());
      for (std::size_t lane = 0; lane < found[1].lanes.size(); ++lane) {
        EXPECT_EQ(found[1].lanes[lane], expected[1].lanes[lane]) << regime << " " << engine << " lane " << lane;
        EXPECT_EQ(found[1].lanes[lane].periods, 120);
      }
    }
  }
}

TEST_F(ExportTrace, SaysThatUnopenedDeploymentIsLeftOut) {
  StudyConfig config = StudyConfig::parse(kTableStudy, "study.toml");
  config.set("actions.uninspected", "true", "test");
  const PlannedSetting planned = make_plans(config)[0];
  const std::string path = (base_ / "table.jsonl").string();
  const ExportedTrace exported = export_trace(planned, planned.plan.units[0], "exported", path);
  EXPECT_THAT(exported.toml, testing::HasSubstr("# The study has actions.uninspected = true, which is left out"));
  std::ofstream(path) << exported.jsonl;
  EXPECT_FALSE(make_plans(of_table(exported.toml))[0].setting.study.actions.uninspected);
}

TEST_F(ExportTrace, OfATableIsTheTableAgain) {
  StudyConfig config = StudyConfig::parse(kTableStudy, "study.toml");
  const PlannedSetting planned = make_plans(config)[0];
  const std::string path = (base_ / "table.jsonl").string(), again = (base_ / "again.jsonl").string();
  const ExportedTrace first = export_trace(planned, planned.plan.units[0], "exported", path);
  std::ofstream(path) << first.jsonl;
  config = of_table(first.toml);
  const PlannedSetting of_table = make_plans(config)[0];
  const ExportedTrace second = export_trace(of_table, of_table.plan.units[0], "exported", again);
  EXPECT_EQ(second.jsonl, first.jsonl);
}

}  // namespace
}  // namespace pandora
