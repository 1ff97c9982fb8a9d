// Values of hyperparameters belong to policies. A registration lasts, so each test with one is a process of its own.
#include <gmock/gmock.h>

#include "tests/host/studies/study/study_texts.hpp"

namespace pandora {
namespace {
using test::expect_kept;
using test::expect_refusal;
using test::parsed;
using test::refusal;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using Names = std::vector<std::string>;

// The lanes of the study's first setting, without T_0.
Names lanes_of(const StudyConfig& config) {
  Names names;
  for (const PlannedLane& lane : make_plan(config.settings().at(0).study).lanes)
    if (lane.policy->name != "oracle") names.push_back(lane_name(lane).substr(2));
  return names;
}

Names lanes_of(const std::string& text) {
  return lanes_of(parsed("T0 = [0]\n" + text));
}

Policy own(const std::string& name, const Hyperparameter& hyperparameter) {
  Policy policy;
  policy.name = name;
  policy.hyperparameters = {hyperparameter};
  policy.variants = [hyperparameter](const Grids& grids) {
    std::vector<PolicyVariant> variants;
    const auto add = [&](const auto& values) {
      for (const auto& value : values)
        variants.push_back({"known", fmt::format("{}={}", hyperparameter.name, value),
                            [](const Replication&, int) { return LaneSpec{}; }});
    };
    if (hyperparameter.texts.empty())
      add(grids.values(hyperparameter.name));
    else
      add(grids.texts(hyperparameter));
    return variants;
  };
  return policy;
}

TEST(Hyperparameters, ThoseOfOnePolicyLeaveAnotherAlone) {
  const std::string both = "policies = [\"dow\", \"restarting_dow\"]\nhyperparameters.c_theta = [1]\n";
  const Names of_all = lanes_of(both + "hyperparameters.c_rho = [0.2]");
  EXPECT_THAT(of_all, IsSupersetOf({"dow/known/c_rho=0.2", "restarting_dow/known/c_rho=0.2;restart_window=100"}));
  EXPECT_EQ(of_all.size(), 4u);
  const Names of_one = lanes_of(both + "hyperparameters.dow = { c_rho = [0.2] }");
  EXPECT_THAT(of_one, IsSupersetOf({"dow/known/c_rho=0.2", "restarting_dow/known/c_rho=0.1;restart_window=100"}));
  EXPECT_EQ(of_one.size(), 2u + 2u * 3u);
  EXPECT_EQ(lanes_of(both + "hyperparameters.dow.c_rho = [0.2]"), of_one);
  StudyConfig config = parsed("T0 = [0]\n" + both);
  config.set("hyperparameters.dow.c_rho", "0.2", "--set");
  EXPECT_EQ(lanes_of(config), of_one);
  EXPECT_EQ(config.identity().at("hyperparameters.dow.c_rho"), "[0.2]");
  config.set("hyperparameters.c_rho", "0.3", "--set");  // the last option counts, for all policies
  EXPECT_THAT(lanes_of(config),
              IsSupersetOf({"dow/known/c_rho=0.3", "restarting_dow/known/c_rho=0.3;restart_window=100"}));
  EXPECT_EQ(config.identity().count("hyperparameters.dow.c_rho"), 0u);
}

TEST(Hyperparameters, OnesOwnAreKeptInTheFileAndAreOfNoOtherStudy) {
  const StudyConfig config = parsed("policies = [\"dow\"]\n[hyperparameters.restarting_dow]\nc_rho = [0.2]\n");
  EXPECT_THAT(config.toml(), HasSubstr("[hyperparameters.restarting_dow]\nc_rho = [0.2]\n"));
  EXPECT_EQ(config.identity(), parsed("policies = [\"dow\"]").identity());
  expect_kept(config);
  EXPECT_EQ(StudyConfig().identity().count("hyperparameters.dow.c_rho"), 0u);
}

TEST(Hyperparameters, ThoseThatNobodyHasAreRefused) {
  expect_refusal("hyperparameters.dwo.c_rho = [1]", {"study.toml:1", "policy \"dwo\" is unknown; the nearest is dow;"});
  expect_refusal("[hyperparameters.dow]\nc_roh = [1]",
                 {"study.toml:2", "no hyperparameter c_roh; the nearest is c_rho;", "it has c_rho, c_theta"});
  expect_refusal("hyperparameters.oracle.c_rho = [1]", {"policy oracle has no hyperparameter c_rho; it has none"});
  expect_refusal("hyperparameters.dow.c_rho = []", {"is empty"});
  expect_refusal("hyperparameters.dow.c_rho = [nan]", {"finite"});
  expect_refusal("hyperparameters.dow.c_rho = [1, 1]", {"1 is named twice"});
  expect_refusal("hyperparameters.dow.c_rho = [\"a\"]", {"list of different finite numbers"});
  expect_refusal("policies = [\"epsilon_greedy_weitzman\"]\nhyperparameters.epsilon_greedy_weitzman.epsilon = [7]",
                 {"7 is out of range", "from 0 to 1"});
}

TEST(HyperparametersDeathTest, APolicyRunsTheValuesThatItDeclares) {
  EXPECT_ALONE({
    register_policy(own("mine", {"epsilon", "of its own", {7.0}}));
    const StudyConfig config = parsed("T0 = [0]\npolicies = [\"mine\"]");
    EXPECT_THAT(lanes_of(config), ElementsAre("mine/known/epsilon=7"));
    EXPECT_EQ(config.identity().at("hyperparameters.epsilon"), "[7]");
    expect_kept(config);
    EXPECT_THAT(lanes_of("policies = [\"mine\"]\nhyperparameters.epsilon = [9]"), ElementsAre("mine/known/epsilon=9"));
    const std::string defaults = commented_defaults();
    EXPECT_THAT(defaults, HasSubstr("\n[hyperparameters.mine]\n"));
    EXPECT_THAT(lanes_of(StudyConfig::parse(defaults, "defaults")), testing::Contains("mine/known/epsilon=7"));
    EXPECT_THAT(lanes_of("policies = [\"mine\", \"epsilon_greedy_weitzman\"]"),
                IsSupersetOf({"mine/known/epsilon=7", "epsilon_greedy_weitzman/known/epsilon=0.01"}));
  });
}

TEST(HyperparametersDeathTest, APolicyBesideAnotherOfTheSameNameKeepsItsOwn) {
  EXPECT_ALONE({
    register_policy(own("mine", {"c_rho", "of its own", {5.0}}));
    const std::string both = "policies = [\"dow\", \"mine\"]\nhyperparameters.c_theta = [1]\n";
    const StudyConfig config = parsed("T0 = [0]\n" + both);
    const Names lanes = lanes_of(config);
    EXPECT_THAT(lanes, IsSupersetOf({"dow/known/c_rho=0.001", "mine/known/c_rho=5"}));
    EXPECT_EQ(lanes.size(), 7u);
    EXPECT_EQ(config.identity().at("hyperparameters.c_rho"), "[0.001, 0.1, 1]");
    EXPECT_EQ(config.identity().at("hyperparameters.mine.c_rho"), "[5]");
    expect_kept(config);
    EXPECT_EQ(lanes_of(parsed(config.toml())), lanes);
    expect_refusal(both + "hyperparameters.c_rho = [2]",
                   {"study.toml:3", "policies dow and mine each have a c_rho, by default [0.001, 0.1, 1] and [5]",
                    "set hyperparameters.dow.c_rho and hyperparameters.mine.c_rho instead"});
    for (const char* ones : {"hyperparameters.mine.c_rho = [5]\n", "hyperparameters.dow.c_rho = [3]\n"}) {
      const StudyConfig said = parsed("T0 = [0]\n" + both + ones + "hyperparameters.c_rho = [2]");
      EXPECT_EQ(lanes_of(parsed(said.toml())), lanes_of(said));
      expect_kept(said);
    }
    EXPECT_THAT(lanes_of(both + "hyperparameters.c_rho = [2]\nhyperparameters.mine.c_rho = [5]"),
                IsSupersetOf({"dow/known/c_rho=2", "mine/known/c_rho=5"}));
    EXPECT_THAT(lanes_of(both + "hyperparameters.c_rho = [5]"),  // the default of `mine`
                IsSupersetOf({"dow/known/c_rho=5", "mine/known/c_rho=5"}));
    // A study that an earlier version wrote is read as it was run.
    EXPECT_THAT(lanes_of(StudyConfig::parse("T0 = [0]\n" + both + "hyperparameters.c_rho = [2]", "old", true)),
                IsSupersetOf({"dow/known/c_rho=2", "mine/known/c_rho=2"}));
  });
}

TEST(HyperparametersDeathTest, DefaultsInStoredStudiesAreNotAskedOfPoliciesThatJoin) {
  EXPECT_ALONE({
    const StudyConfig before = parsed("T0 = [0]\npolicies = [\"online_plugin\"]");
    register_policy(own("mine", {"c_rho", "of its own", {5.0}}));
    StudyConfig stored = parsed(before.toml());
    stored.forget_defaults();
    EXPECT_EQ(stored.toml(), before.toml());
    stored.set("policies", "online_plugin,mine", "");
    EXPECT_THAT(lanes_of(stored), testing::Contains("mine/known/c_rho=5"));
    StudyConfig asked = parsed("T0 = [0]\npolicies = [\"dow\"]\nhyperparameters.c_rho = [0.2]");
    asked.forget_defaults();
    asked.set("policies", "dow,mine", "");
    EXPECT_THAT(refusal([&] { asked.settings(); }), HasSubstr("hyperparameters.mine.c_rho"));
  });
}

TEST(HyperparametersDeathTest, ValuesAreWithinTheBoundsOfThePolicyThatTakesThem) {
  EXPECT_ALONE({
    register_policy(own("mine", {"epsilon", "of its own", {0.01, 0.1}, 0.0, 0.5}));
    const std::string both = "policies = [\"mine\", \"epsilon_greedy_weitzman\"]\n";
    EXPECT_THAT(lanes_of(both + "hyperparameters.epsilon = [0.4]"), testing::Contains("mine/known/epsilon=0.4"));
    expect_refusal(both + "hyperparameters.epsilon = [0.7]", {"0.7 is out of range for policy mine", "from 0 to 0.5"});
  });
}

TEST(HyperparametersDeathTest, ValuesMayBeTexts) {
  EXPECT_ALONE({
    register_policy(own("mine", {.name = "mode", .meaning = "how", .texts = {"fast", "slow:2"}}));
    register_policy(own("yours", {.name = "mode", .meaning = "how often", .grid = {1.0}}));
    const StudyConfig config = parsed("T0 = [0]\npolicies = [\"mine\"]");
    EXPECT_THAT(lanes_of(config), ElementsAre("mine/known/mode=fast", "mine/known/mode=slow:2"));
    EXPECT_EQ(config.identity().at("hyperparameters.mode"), "[\"fast\", \"slow:2\"]");
    expect_kept(config);
    EXPECT_THAT(lanes_of("policies = [\"mine\"]\nhyperparameters.mode = [\"x\"]"), ElementsAre("mine/known/mode=x"));
    EXPECT_THAT(lanes_of("policies = [\"mine\", \"yours\"]"),
                ElementsAre("mine/known/mode=fast", "mine/known/mode=slow:2", "yours/known/mode=1"));
    expect_refusal("policies = [\"mine\", \"yours\"]\nhyperparameters.mode = [\"x\"]",
                   {"policy yours takes numbers", "hyperparameters.yours.mode"});
    expect_refusal("policies = [\"mine\"]\nhyperparameters.mode = [\"a/b\"]", {"\"a/b\" cannot name a lane"});
    expect_refusal("policies = [\"mine\"]\nhyperparameters.mine.mode = [\"a\", \"a\"]", {"a is named twice"});
    expect_refusal("policies = [\"mine\"]\nhyperparameters.mine.mode = [1]", {"list of different texts"});
  });
}

TEST(HyperparametersDeathTest, NoNameIsAPolicysAndAHyperparameters) {
  EXPECT_ALONE({
    const auto refused = [](const std::string& name, const Hyperparameter& hyperparameter) {
      return refusal([&] { register_policy(own(name, hyperparameter)); });
    };
    EXPECT_THAT(refused("mine", {"dow", "a policy"}), HasSubstr("a policy has that name"));
    EXPECT_THAT(refused("mine", {"mine", "itself"}), HasSubstr("a policy has that name"));
    EXPECT_THAT(refused("c_rho", {"x", "of its own"}), HasSubstr("policy c_rho: a hyperparameter has that name"));
    EXPECT_THAT(refused("mine", {.name = "x", .meaning = "how", .texts = {"a;b"}}),
                AllOf(HasSubstr("policy mine"), HasSubstr("\"a;b\"")));
  });
}

}  // namespace
}  // namespace pandora
