// Policies on tables of real models, if these are there (../shared/data beside the repository).
#include <fmt/format.h>

#include <map>

#include "host/studies/results/summary.hpp"
#include "host/studies/study/study_config.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

class RealTables : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "no " << folder_;
  }

  // The mean utility by "T0/policy/reward", with the best hyperparameters.
  std::map<std::string, double> utilities(const std::string& tables, const std::string& keys) const {
    StudyConfig config = StudyConfig::parse(
        fmt::format(
            "environments = [\"real\"]\nreplications = 10\nT0 = [0, 200]\npolicies = [\"dow\", \"online_plugin\", "
            "\"linucb_online\", \"shrunk_weitzman\", \"best_single\", \"hindsight\"]\n[hyperparameters]\n"
            "c_rho = [0.1, 1]\nc_theta = [0.1]\nc_b = [0.1]\n[environment.real]\ntable = \"{0}/{1}\"\n"
            "online = \"{0}/{2}\"\ncontext = [\"text:20\"]\n{3}\n",
            folder_.string(), fmt::format(fmt::runtime(tables), "val"), fmt::format(fmt::runtime(tables), "test"),
            keys),
        "study.toml");
    const PlannedSetting planned = make_plans(config)[0];
    std::map<std::string, double> out;
    const Summary summary =
        summarise(planned.setting.study, planned.plan, run_sweep(planned.setting.study, planned.plan, {}));
    for (const SummaryRow& row : summary.rows)
      if (row.best) out[fmt::format("{}/{}/{}", row.T0, row.policy, row.reward)] = row.prompts->utility.mean;
    return out;
  }

  const std::filesystem::path folder_ = std::filesystem::path(PANDORA_SOURCE) / "../shared/data/llm_traces";
};

// The index policy without a context, fitted in hindsight on the same prompts, has the utility of hindsight minus
// 0.0087 at price 5, and minus 0.0209 at price 50. Another program found these numbers.
TEST_F(RealTables, LearningBeatsTheIndexPolicyOfHindsight) {
  for (const auto& [price, behind] : {std::pair(5, 0.0087), std::pair(50, 0.0209)}) {
    std::map<std::string, double> u = utilities("paretobandit_{}_k4.jsonl", fmt::format("price = {}", price));
    const double index = u["0/hindsight/none"] - behind;
    EXPECT_GE(u["200/shrunk_weitzman/known"], index) << price;
    EXPECT_GT(u["0/shrunk_weitzman/known"], u["0/dow/known"]) << price;
    EXPECT_GT(u["0/dow/known"], u["0/online_plugin/known"]) << price;
    EXPECT_GT(u["0/online_plugin/known"], u["0/linucb_online/none"]) << price;
    EXPECT_GT(u["200/dow/known"], u["200/best_single/none"]) << price;
  }
}

// With a judge in place of the truth, no policy is clearly better than the best single model.
TEST_F(RealTables, AJudgeIsNoTruth) {
  std::map<std::string, double> judged =
      utilities("paretobandit_judged_{}_k3.jsonl", "price = 5\nevaluator = \"score\"");
  EXPECT_GT(judged["200/dow/known"], judged["200/best_single/none"] + 0.01);
  EXPECT_LT(judged["200/dow/unknown"], judged["200/best_single/none"] + 0.003);
  EXPECT_LT(judged["200/shrunk_weitzman/unknown"], judged["200/best_single/none"] + 0.003);
}

}  // namespace
}  // namespace pandora
