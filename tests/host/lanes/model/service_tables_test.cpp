// Studies on tables as services have them: qualities from 1 to 5 and under any name, tokens in place of dollars, free
// calls, and several answers to a prompt.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "host/lanes/model/trace_keys.hpp"
#include "host/studies/study/environment_keys.hpp"
#include "host/studies/study/study_config.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

class ServiceTables : public test::FolderTest {
 protected:
  std::vector<PlannedSetting> plans(const std::string& keys) const {
    return make_plans(StudyConfig::parse(
        "environments = [\"mine\"]\nreplications = 1\nT0 = [3]\npolicies = [\"dow\"]\n[environment.mine]\n"
        "table = \"table.csv\"\nprice = 20\nprices = [\"m0=0:2\", \"m1=0.5:4\"]\n" +
            keys,
        (base_ / "study.toml").string()));
  }
};

TEST_F(ServiceTables, AreReadByTheKeysOfAStudy) {
  std::ofstream table(base_ / "table.csv");
  table << "prompt_id,model,quality,cost,prompt_tokens,completion_tokens\n";
  std::map<double, double> dollars;  // the dollars of every answer, by quality
  for (int row = 0; row < 40; ++row)
    for (int model = 0; model < 2; ++model) {
      const int tokens = model == 1 && row % 5 == 0 ? 0 : 100 + row, asked = tokens == 0 ? 0 : 50;
      const double quality = (row + 0.5 * model) / 100.0;
      table << fmt::format("p{},m{},{},,{},{}\n", row / 2, model, 1.0 + 4.0 * quality, asked, tokens);
      dollars[quality] = 1e-6 * (model == 0 ? 2.0 * tokens : 0.5 * asked + 4.0 * tokens);
    }
  table.close();
  const std::string range = "ranges = [\"quality=1:5\"]\n", free = "free_calls = true\n", repeats = "repeats = true\n";
  const PlannedSetting planned = plans(range + free + repeats)[0];
  const Tape tape = prepare_replication(planned.setting.study, planned.plan, planned.plan.units[0], nullptr).tape;
  for (std::size_t k = 0; k < tape.mu.size(); ++k) {
    const auto found = dollars.lower_bound(tape.mu[k] - 1e-5);
    ASSERT_NE(found, dollars.end());
    EXPECT_NEAR(found->first, tape.mu[k], 2e-5);
    EXPECT_NEAR(20.0 * found->second, tape.cost[k], 1e-6);
  }
  for (const std::string& less : {range + free, range + repeats, free + repeats})
    EXPECT_THROW((void)plans(less), Error);
  const auto refusal = [&](const std::string& keys) -> std::string {
    try {
      (void)plans(keys);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("ranges = [\"score\"]"), testing::HasSubstr("\"score\" is none; give list of NAME=LOW:HIGH"));
  EXPECT_THAT(refusal("ranges = [\"cost=1:5\"]"), testing::HasSubstr("names neither quality nor a judge"));
}

TEST_F(ServiceTables, QualitiesHaveAnyNameAndPromptsAnyKey) {
  std::ofstream table(base_ / "table.csv");
  table << "prompt,context,model,f1,score,cost\n";
  for (int row = 0; row < 80; ++row)
    table << fmt::format("same,c{},m{},{},{},0.01\n", row / 2, row % 2, row / 100.0, 1.0 - row / 100.0);
  table.close();
  const auto best = [&](const std::string& keys) {
    const PlannedSetting planned = plans("prompt_key = [\"prompt\", \"context\"]\n" + keys)[0];
    const Tape tape = prepare_replication(planned.setting.study, planned.plan, planned.plan.units[0], nullptr).tape;
    return std::ranges::max(tape.mu);
  };
  const float of_f1 = best("quality = \"f1\"\n"), of_score = best("quality = \"score\"\n");
  EXPECT_GT(of_f1, 0.5f);
  EXPECT_LT(of_f1, 0.8f);
  EXPECT_GT(of_score, 0.8f);
  EXPECT_THROW((void)best(""), Error);                     // the table has no column quality
  EXPECT_THROW((void)plans("quality = \"f1\"\n"), Error);  // one prompt with 40 answers of each model
}

// Earlier results lack these keys, and the options of a part identify it. So keys that a study does not give must not
// count.
TEST_F(ServiceTables, KeysThatAStudyDoesNotGiveAreNoOptionsOfItsParts) {
  Environment environment;
  environment.trace = std::make_shared<TraceKeys>();
  for (const char* key : {"quality", "prompt_key"}) EXPECT_FALSE(options_of(environment).contains(key));
  TraceKeys given;
  given.quality = "f1";
  given.prompt_key = {"context"};
  environment.trace = std::make_shared<TraceKeys>(given);
  EXPECT_EQ(options_of(environment).at("quality"), "\"f1\"");
  EXPECT_EQ(options_of(environment).at("prompt_key"), "[\"context\"]");
}

}  // namespace
}  // namespace pandora
