// Tests the whole path of tables: a replication that is exported and read back is the same replication.
#include <gmock/gmock.h>

#include <map>
#include <set>

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

struct Engine {
  const char *kind, *precision, *refit = "geometric:1.5";
};

class ExportTrace : public test::FolderTest {
 protected:
  // The small study with other values of these keys.
  static StudyConfig study(const std::map<std::string, std::string>& values) {
    StudyConfig config = StudyConfig::parse(kTableStudy, "study.toml");
    for (const auto& [key, value] : values) config.set(key, value, "test");
    return config;
  }

  // Exports a replication, writes its table, and returns the study on the table that the export itself prints.
  StudyConfig exported(const StudyConfig& config, std::size_t unit) {
    const PlannedSetting planned = make_plans(config)[0];
    const std::string path = (base_ / (regime_name(planned.plan.units[unit].regime) + std::string(".jsonl"))).string();
    found_ = export_trace(planned, planned.plan.units[unit], "exported", path);
    std::ofstream(path) << found_.jsonl;
    std::string text = kTableStudy;
    const std::string of_model = "[\"student_t5\"]";
    text.replace(text.find(of_model), of_model.size(), "[\"exported\"]");
    const std::string options = "[environment.student_t5]\ntruncation_radius = 6\n";
    text.erase(text.find(options), options.size());
    return StudyConfig::parse(text + found_.toml, "back.toml");
  }

  // All lanes of replication 1.
  static std::vector<LaneTally> lanes(StudyConfig config, const Engine& engine) {
    for (const auto& [key, value] : std::map<std::string, std::string>{{"policies", policies()},
                                                                       {"engine.kind", engine.kind},
                                                                       {"engine.precision", engine.precision},
                                                                       {"estimation.refit", engine.refit}})
      config.set(key, value, key);
    const PlannedSetting planned = make_plans(config)[0];
    return run_sweep(planned.setting.study, planned.plan, {}).at(1).lanes;
  }

  // Expects the same results from the study and from the table of its replication 1.
  static void expect_same_lanes(const StudyConfig& config, const StudyConfig& back,
                                const std::vector<Engine>& engines) {
    for (const Engine& engine : engines) {
      const std::vector<LaneTally> expected = lanes(config, engine), found = lanes(back, engine);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t lane = 0; lane < found.size(); ++lane) {
        EXPECT_EQ(found[lane], expected[lane]) << engine.kind << " " << engine.precision << " lane " << lane;
        EXPECT_EQ(found[lane].periods, 120);
      }
    }
  }

  ExportedTrace found_;  // the last
};

TEST_F(ExportTrace, ReadBackGivesEveryLaneTheSameBytes) {
  for (const char* regime : {"A", "B"}) {
    SCOPED_TRACE(regime);
    const StudyConfig config = study({{"regimes", regime}});
    expect_same_lanes(config, exported(config, 1),
                      {{"blocked", "single"}, {"blocked", "double", "tracking"}, {"reference", "double"}});
  }
}

// Several openings are several answers to one prompt. The engines play them as in the model.
TEST_F(ExportTrace, SoDoesOneWithSeveralOpenings) {
  for (const char* regime : {"A", "B"}) {
    SCOPED_TRACE(regime);
    const StudyConfig config = study({{"regimes", regime}, {"actions.openings", "3"}, {"actions.outside", "0.45"}});
    const PlannedSetting planned = make_plans(config)[0];
    const Replication of_model =
        prepare_replication(planned.setting.study, planned.plan, planned.plan.units[1], nullptr);
    for (int t = 0; t < 120; ++t)  // the index belongs to the box
      for (std::size_t cell = of_model.tape.at(of_model.tape.online_row(t), 0), a = 0; a < 3; ++a)
        EXPECT_EQ(of_model.sigma[cell + 120 * 3 + a], of_model.sigma[cell + a]);
    expect_same_lanes(config, exported(config, 1), {{"blocked", "single"}, {"reference", "double"}});
  }
}

TEST_F(ExportTrace, SaysThatUnopenedDeploymentIsLeftOut) {
  const StudyConfig back = exported(study({{"actions.uninspected", "true"}}), 0);
  EXPECT_THAT(found_.toml, testing::HasSubstr("# The study has actions.uninspected = true, which is left out"));
  EXPECT_FALSE(make_plans(back)[0].setting.study.actions.uninspected);
}

TEST_F(ExportTrace, OfATableIsTheTableAgain) {
  const PlannedSetting of_table = make_plans(exported(study({}), 0))[0];
  EXPECT_EQ(export_trace(of_table, of_table.plan.units[0], "exported", "again.jsonl").jsonl, found_.jsonl);
}

}  // namespace
}  // namespace pandora
