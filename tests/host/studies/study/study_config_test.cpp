// The keys of a study, values that vary, and options that replace them.
#include "host/studies/study/study_config.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "host/studies/study/study.hpp"
#include "tests/host/studies/study/study_texts.hpp"

namespace pandora {
namespace {
using test::expect_refusal;
using test::parsed;
using test::refusal;
using test::study_of;
using testing::HasSubstr;

TEST(StudyConfig, IsThePapersStudyByDefault) {
  const Study study = study_of("");
  EXPECT_EQ(study.replications, 50);
  EXPECT_EQ(study.periods, 30000);
  EXPECT_EQ(study.T0, kPaperCalibration);
  EXPECT_EQ(study.dimensions, Dimensions{});
  EXPECT_EQ(study.environments, std::vector<Environment>(paper_environments().begin(), paper_environments().end()));
  EXPECT_EQ(study.regimes, (std::vector<Regime>{Regime::A, Regime::B}));
  EXPECT_EQ(refit_text(study.estimation.refit), "geometric:1.5");
  EXPECT_EQ(study.oracle.samples, 400000);
  EXPECT_EQ(study.oracle.grid.scale, 21);
  EXPECT_EQ(study.hyperparameters.values("c_rho"), kPaperHyperparameters);
  EXPECT_EQ(study.engine.text(), EngineSettings{}.text());
  EXPECT_TRUE(study.regret && study.order && study.instances);
  EXPECT_TRUE(study.policies.empty());
}

constexpr const char* kEveryKey = R"(
title = "all of it"
seed = 7
replications = 3
periods = 400
T0 = [0, 9]
regimes = ["B"]
environments = ["gaussian", "heavy"]
policies = ["dow"]
[dimensions]
boxes = 5
context = 6
output = 8
reward_features = 4
index_features = "affine_and_squares"
[hyperparameters]
c_rho = [0.5]
c_theta = [0.25, 2]
c_b = [3]
[estimation]
refit = "every:7"
eta_index = 0.5
eta_reward = 2
[oracle]
samples = 5000
grid = [5, 6, 7]
bins = 100
order_contexts = 11
[engine]
kind = "reference"
precision = "double"
block = 16
chunk = 2
[output]
regret = true
order = false
instances = false
[environment.gaussian]
truncation_radius = 5.5
u = 0.1
[environment.heavy]
law = "student_t5"
scale = 2
truncation_radius = inf
u = 0.3
stream = 17
)";

TEST(StudyConfig, ReadsEveryKey) {
  const Study s = study_of(kEveryKey);
  EXPECT_EQ(s.seed, 7u);
  EXPECT_EQ(s.replications, 3);
  EXPECT_EQ(s.periods, 400);
  EXPECT_EQ(s.T0, (std::vector<int>{0, 9}));
  EXPECT_EQ(s.regimes, std::vector<Regime>{Regime::B});
  EXPECT_EQ(s.policies, std::vector<std::string>{"dow"});
  EXPECT_EQ(s.dimensions, (Dimensions{5, 6, 8, 4, IndexFeatures::affine_and_squares}));
  EXPECT_EQ(s.hyperparameters.values("c_theta"), (std::vector<double>{0.25, 2.0}));
  EXPECT_EQ(s.hyperparameters.values("c_b"), std::vector<double>{3.0});
  EXPECT_EQ(refit_text(s.estimation.refit), "every:7");
  EXPECT_EQ(s.estimation.ridge_index, 0.5);
  EXPECT_EQ(s.estimation.ridge_reward, 2.0);
  EXPECT_EQ(s.oracle.samples, 5000);
  EXPECT_EQ(s.oracle.grid.cost, 7);
  EXPECT_EQ(s.oracle.bins, 100);
  EXPECT_EQ(s.order_contexts, 11);
  EXPECT_EQ(s.engine.kind, EngineSettings::Kind::reference);
  EXPECT_EQ(s.engine.precision, EngineSettings::Precision::fp64);
  EXPECT_EQ(s.engine.block, 16);
  EXPECT_EQ(s.engine.chunk, 2);
  EXPECT_TRUE(s.regret);
  EXPECT_FALSE(s.order || s.instances);
  ASSERT_EQ(s.environments.size(), 2u);
  EXPECT_EQ(s.environments[0].truncation_radius, 5.5f);
  EXPECT_EQ(s.environments[0].cost_level, 0.1);
  EXPECT_EQ(s.environments[0].id, 1);
  const Environment heavy{"heavy", 17, Law::student_t5, 2.0f, std::numeric_limits<float>::infinity(), 0.3};
  EXPECT_EQ(s.environments[1], heavy);
}

// 1e4 is a whole number to everybody except TOML. The study beside the results has it as an integer.
TEST(StudyConfig, TakesNumbersWithAnIntegralValueForIntegers) {
  const StudyConfig file = parsed(
      "seed = 1e3\nperiods = 1e4\nreplications = 3.0\nT0 = [0, 1e3]\n[oracle]\ngrid = [5e0, 6, "
      "7.0]\n[estimation]\nrefit = \"every:1e2\"\n[environment.uniform]\nstream = 2e1\n[vary]\nengine.block = [1e1, "
      "20]");
  const Study study = file.settings().at(0).study;
  EXPECT_EQ(study.seed, 1000u);
  EXPECT_EQ(study.periods, 10000);
  EXPECT_EQ(study.replications, 3);
  EXPECT_EQ(study.T0, (std::vector<int>{0, 1000}));
  EXPECT_EQ(study.oracle.grid.cost, 7);
  EXPECT_EQ(study.estimation.refit.every, 100);
  EXPECT_EQ(study.environments[0].id, 20);
  EXPECT_EQ(study.engine.block, 10);
  EXPECT_THAT(file.toml(), AllOf(HasSubstr("\nperiods = 10000\n"), HasSubstr("seed = 1000\n"),
                                 HasSubstr("T0 = [0, 1000]\n"), HasSubstr("engine.block = [10, 20]")));
  StudyConfig options;
  options.set("replications", "1e4", "--set replications=1e4");
  options.set("T0", "0,1e3", "--t0 0,1e3");
  options.set("seed", "1e3", "--seed 1e3");
  EXPECT_EQ(options.settings()[0].study.replications, 10000);
  EXPECT_EQ(options.settings()[0].study.T0, (std::vector<int>{0, 1000}));
  EXPECT_EQ(options.settings()[0].study.seed, 1000u);
  for (const char* value : {"1.5", "1e-1", "1e19", "1e300", "inf", "nan"}) {
    expect_refusal(std::string("periods = ") + value,
                   {std::string("periods = ") + value, "right type", "integer from 1"});
    expect_refusal(std::string("seed = ") + value, {"right type", "0 to 2^64"});
    expect_refusal(std::string("T0 = [0, ") + value + "]", {"right type", "integers"});
  }
  expect_refusal("[estimation]\nrefit = \"every:1.5\"", {"integer k"});
  expect_refusal("[estimation]\nrefit = \"every:1e10\"", {"integer k"});
}

TEST(StudyConfig, SeedsReachTheirWholeRange) {
  EXPECT_EQ(study_of("seed = \"18446744073709551615\"").seed, ~std::uint64_t{0});
  const StudyConfig config = parsed("seed = \"18446744073709551615\"");
  EXPECT_EQ(parsed(config.toml()).settings()[0].study.seed, ~std::uint64_t{0});
  expect_refusal("seed = \"18446744073709551616\"", {"0 to 2^64"});
}

TEST(StudyConfig, VariesOverAllCombinations) {
  const std::vector<Setting> settings =
      parsed("[vary]\nperiods = [10, 20]\nestimation.refit = [\"tracking\", \"every:2\", \"geometric:2\"]").settings();
  ASSERT_EQ(settings.size(), 6u);
  EXPECT_EQ(settings[1].label(), "periods=10 estimation.refit=every:2");
  EXPECT_EQ(settings[1].study.periods, 10);
  EXPECT_EQ(refit_text(settings[1].study.estimation.refit), "every:2");
  EXPECT_EQ(settings[5].label(), "periods=20 estimation.refit=geometric:2");
  EXPECT_EQ(settings[5].study.periods, 20);
  EXPECT_EQ(parsed("").settings()[0].label(), "");
  expect_refusal("[vary]\nT0 = [[1], [2]]", {"T0 cannot vary"});
  expect_refusal("[vary]\noutput.order = [true, false]", {"output.order cannot vary"});
  expect_refusal("[vary]\nperiods = 3", {"list of the values"});
  expect_refusal("[vary]\nperiods = []", {"list of the values"});
  expect_refusal("[vary]\nperiods = [1, 0]", {"periods", "at least 1"});
  expect_refusal("[vary]\nperiods = [1, 1]", {"named twice"});
  std::string many = "[vary]\n";
  for (const char* key : {"replications", "periods", "oracle.bins", "engine.block"}) {
    many += std::string(key) + " = [";
    for (int i = 1; i <= 11; ++i) many += std::to_string(i) + ",";
    many += "]\n";
  }
  expect_refusal(many, {"more than 10000 settings"});
}

TEST(StudyConfig, OptionsReplaceWhatTheFileSays) {
  StudyConfig config = parsed("periods = 10\n[vary]\nreplications = [1, 2]");
  config.set("periods", "77", "--periods 77");
  config.set("replications", "5", "--set replications=5");  // it does not vary any more
  config.set("estimation.refit", "tracking", "--refit tracking");
  config.set("environments", "uniform,gaussian", "--environment uniform,gaussian");
  config.set("T0", "0,5", "--t0 0,5");
  config.set("policies", "[\"dow\"]", "--set policies");
  config.set("hyperparameters.c_rho", "0.5", "--set c_rho");
  config.set("environment.uniform.u", "0.4", "--set u");
  config.set("output.order", "false", "--set order");
  config.set("title", "12", "--set title=12");
  config.set("seed", "18446744073709551615", "--seed 18446744073709551615");
  ASSERT_EQ(config.settings().size(), 1u);
  const Study study = config.settings()[0].study;
  EXPECT_EQ(study.periods, 77);
  EXPECT_EQ(study.replications, 5);
  EXPECT_EQ(refit_text(study.estimation.refit), "tracking");
  EXPECT_EQ(study.environments.size(), 2u);
  EXPECT_EQ(study.environments[0].cost_level, 0.4);
  EXPECT_EQ(study.T0, (std::vector<int>{0, 5}));
  EXPECT_EQ(study.policies, std::vector<std::string>{"dow"});
  EXPECT_EQ(study.hyperparameters.values("c_rho"), std::vector<double>{0.5});
  EXPECT_FALSE(study.order);
  EXPECT_EQ(study.seed, ~std::uint64_t{0});
  const std::string message = refusal([&] {
    StudyConfig bad;
    bad.set("periods", "0", "--periods 0");
    bad.settings();
  });
  EXPECT_THAT(message, testing::StartsWith("--periods 0: "));
  EXPECT_THAT(refusal([&] { config.set("peroids", "1", "--set peroids=1"); }), HasSubstr("nearest is periods"));
  EXPECT_THAT(refusal([&] { config.set("periods", "many", "--periods many"); }), HasSubstr("integer"));
  EXPECT_THAT(refusal([&] { config.set("title", "caf\xe9", "--set title"); }), HasSubstr("UTF-8"));
  EXPECT_LT(refusal([&] { config.set("periods", "x", "--periods " + std::string(5000, 'x')); }).size(), 300u);
  EXPECT_THAT(refusal([&] { config.set("periods", "3\nseed = 4", "--set x"); }), HasSubstr("integer"));
}

}  // namespace
}  // namespace pandora
