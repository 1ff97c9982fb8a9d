// Studies as files: every key, and an error for everything that is not one.
#include "host/study/study_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "host/study/refit_text.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {
using testing::HasSubstr;

StudyConfig parsed(const std::string& text) {
  return StudyConfig::parse(text, "study.toml");
}

Study study_of(const std::string& text) {
  return parsed(text).settings().at(0).study;
}

// The error's text; it must be a usage error of one line.
std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "was accepted";
  return "";
}

void expect_refusal(const std::string& text, const std::vector<std::string>& parts) {
  const std::string message = refusal([&] { parsed(text); });
  for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part)) << text;
}

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
  EXPECT_EQ(study.hyperparameters.of("c_rho"), kPaperHyperparameters);
  EXPECT_EQ(study.engine.text(), EngineSettings{}.text());
  EXPECT_TRUE(study.regret && study.order && study.instances);
  EXPECT_TRUE(study.policies.empty());
}

TEST(StudyConfig, ReadsEveryKey) {
  const Study s = study_of(R"(
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
)");
  EXPECT_EQ(s.seed, 7u);
  EXPECT_EQ(s.replications, 3);
  EXPECT_EQ(s.periods, 400);
  EXPECT_EQ(s.T0, (std::vector<int>{0, 9}));
  EXPECT_EQ(s.regimes, std::vector<Regime>{Regime::B});
  EXPECT_EQ(s.policies, std::vector<std::string>{"dow"});
  EXPECT_EQ(s.dimensions, (Dimensions{5, 6, 8, 4, IndexFeatures::affine_and_squares}));
  EXPECT_EQ(s.hyperparameters.of("c_theta"), (std::vector<double>{0.25, 2.0}));
  EXPECT_EQ(s.hyperparameters.of("c_b"), std::vector<double>{3.0});
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

// An unknown key is answered with the one that was probably meant.
TEST(StudyConfig, NamesTheNearestKey) {
  expect_refusal("replicatoins = 3", {"study.toml:1", "replicatoins", "nearest is replications"});
  expect_refusal("seed = 1\n[dimensions]\nbox = 3", {"study.toml:3", "dimensions.box", "nearest is dimensions.boxes"});
  expect_refusal("[oracle]\nreplications = 3", {"oracle.replications", "nearest is replications"});
  expect_refusal("refit = \"tracking\"", {"study.toml:1", "nearest is estimation.refit"});
  expect_refusal("[environment.uniform]\nradius = 3", {"nearest is environment.uniform.truncation_radius"});
  expect_refusal("[policy.dow]\nc_rho = [1]", {"nearest is hyperparameters.c_rho"});
  expect_refusal("[vary]\nperiod = [1]", {"study.toml:2", "nearest is periods"});
  expect_refusal("t0 = [1]", {"study.toml:1", "nearest is T0"});
}

// What is near to no key gets no suggestion, which would only mislead.
TEST(StudyConfig, SaysWhereTheKeysAreListedIfNoneIsNear) {
  for (const char* text : {"foo = 1", "[oracle]\nfoo = 1", "[environment.uniform]\nfoo = 1"}) {
    expect_refusal(text, {"unknown key", "foo", "--print-defaults"});
    EXPECT_THAT(refusal([&] { parsed(text); }), Not(HasSubstr("nearest"))) << text;
  }
}

TEST(StudyConfig, NamesTheNearestWord) {
  expect_refusal("policies = [\"DOW\"]", {"\"DOW\"", "nearest is dow", "pandora policies"});
  expect_refusal("policies = [\"dwo\"]", {"nearest is dow;"});
  expect_refusal("policies = [\"plugin\"]", {"nearest are online_plugin, static_plugin"});
  expect_refusal("regimes = [\"a\"]", {"nearest is A; use A, B"});
  expect_refusal("[engine]\nkind = \"refrence\"", {"nearest is reference"});
  EXPECT_THAT(refusal([] { parsed("policies = [\"zzz\"]"); }), Not(HasSubstr("nearest")));
}

TEST(StudyConfig, NamesFileLineKeyAndValueOfWhatIsOutOfRange) {
  expect_refusal("\n\nperiods = 0", {"study.toml:3", "periods = 0", "at least 1"});
  expect_refusal("replications = -1", {"replications = -1", "at least 1"});
  expect_refusal("periods = 2000000000", {"at most 1000000000"});
  expect_refusal("T0 = [0, -5]", {"T0 = [0, -5]", "at least 0"});
  expect_refusal("T0 = [5, 5]", {"5 is named twice"});
  expect_refusal("T0 = []", {"is empty"});
  expect_refusal("regimes = [\"C\"]", {"\"C\"", "A, B"});
  expect_refusal("policies = [\"zzz\"]", {"\"zzz\"", "pandora policies"});
  expect_refusal("environments = [\"cauchy\"]",
                 {"\"cauchy\"", "uniform, gaussian, student_t5", "[environment.cauchy]"});
  expect_refusal("[dimensions]\nboxes = 17", {"dimensions.boxes = 17", "at most 16"});
  expect_refusal("[dimensions]\nreward_features = 65", {"at most 64"});
  expect_refusal("[hyperparameters]\nc_rho = [nan]", {"finite"});
  expect_refusal("[hyperparameters]\nc_rho = []", {"is empty"});
  expect_refusal("[estimation]\nrefit = \"sometimes\"", {"sometimes", "geometric:g"});
  // Beyond these the engines need not agree (docs/studies.md).
  for (const char* value : {"0", "1e-7", "1.1e8", "inf", "nan"})
    expect_refusal(std::string("[estimation]\neta_index = ") + value, {"out of range", "from 1e-06 to 1e+08"});
  for (const char* value : {"-1", "1e-4", "1.1e8", "inf", "nan"})
    expect_refusal(std::string("[estimation]\neta_reward = ") + value, {"out of range", "from 0.001 to 1e+08"});
  for (const char* value : {"1.1e6", "inf", "nan"})
    expect_refusal(std::string("[environment.uniform]\nu = ") + value, {"out of range", "from 0 to 1e+06"});
  for (const char* value : {"0", "1e-60", "9e-7", "101", "inf"})
    expect_refusal(std::string("[environment.gaussian]\nscale = ") + value, {"out of range", "from 1e-06 to 100"});
  expect_refusal("[oracle]\nsamples = 999", {"at least 1000"});
  expect_refusal("[oracle]\ngrid = [5, 5]", {"three integers"});
  expect_refusal("[oracle]\ngrid = [5, 1, 5]", {"at least 2"});
  expect_refusal("[engine]\nkind = \"fast\"", {"\"fast\"", "blocked, reference"});
  expect_refusal("[engine]\nblock = 1025", {"at most 1024"});
  expect_refusal("[output]\nregret = false\norder = false", {"output.regret", "nothing is left"});
  expect_refusal("[environment.uniform]\nu = -1", {"environment.uniform.u = -1", "from 0 to"});
  expect_refusal("[environment.gaussian]\ntruncation_radius = 0", {"above 0"});
  expect_refusal("[environment.gaussian]\ncost_tail = 1", {"above 1"});
  expect_refusal("[environment.gaussian]\nslopes = \"unrelate\"", {"unrelated"});
  expect_refusal("[environment.gaussian]\nreward_link = \"probit\"", {"logistic, algebraic"});
  expect_refusal("[hyperparameters]\nepsilon = [0.1, -1]", {"-1 is out of range", "from 0 to 1"});
  expect_refusal("dimensions.context = 2\n[environment.gaussian]\nslopes = \"unrelated\"", {"at least 3"});
  expect_refusal("[environment.gaussian]\nstream = 256", {"at most 255"});
  expect_refusal("[environment.gaussian]\nlaw = \"custom\"", {"program that registers it"});
}

// 1e4 is an integer to everybody but TOML; what is written beside the results is one to TOML too.
TEST(StudyConfig, TakesNumbersWithAnIntegralValueForIntegers) {
  const StudyConfig file = parsed(
      "seed = 1e3\nperiods = 1e4\nreplications = 3.0\nT0 = [0, 1e3]\n[oracle]\ngrid = [5e0, 6, "
      "7.0]\n[estimation]\nrefit = "
      "\"every:1e2\"\n[environment.uniform]\nstream = 2e1\n[vary]\nengine.block = [1e1, 20]");
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

TEST(StudyConfig, NamesWrongTypes) {
  expect_refusal("periods = \"many\"", {"periods = \"many\"", "right type", "integer"});
  expect_refusal("periods = 1.5", {"right type", "integer"});
  expect_refusal("T0 = 5", {"right type", "list"});
  expect_refusal("T0 = [\"x\"]", {"right type"});
  expect_refusal("regimes = \"A\"", {"right type", "list"});
  expect_refusal("seed = -1", {"right type", "0 to 2^64"});
  expect_refusal("seed = \"many\"", {"0 to 2^64"});
  expect_refusal("[output]\norder = 1", {"true or false"});
  expect_refusal("oracle = 5", {"unknown key oracle"});
  expect_refusal("[[periods]]\nx = 1", {"periods", "right type"});
  expect_refusal("periods = 1979-05-27", {"right type"});
}

TEST(StudyConfig, NamesTheLineThatIsNotToml) {
  expect_refusal("seed = 1\nperiods = = 3", {"study.toml:2", "not TOML"});
  expect_refusal("seed = 1\nseed = 2", {"study.toml:2"});
  expect_refusal("periods = 99999999999999999999", {"study.toml:1"});
  expect_refusal("seed = 1\n[!]\n", {"study.toml", "not TOML"});
  expect_refusal("seed = 1\nT0 = [0, 5\u041c\n", {"study.toml:2", "beyond ASCII"});
  for (const char* text : {"title = \"\u041c\"", "title = '\u041c'", "title = \"\"\"a\n\u041c\"\"\"",
                           "# \u041c\nseed = 1", "title = \"\\\"\u041c\"", "\xEF\xBB\xBFseed = 1"})
    EXPECT_NO_THROW(parsed(text)) << text;
}

TEST(StudyConfig, RefusesWhatContradictsItself) {
  expect_refusal("environments = [\"gaussian\"]\n[dimensions]\noutput = 50",
                 {"dimensions.output = 50", "environment.gaussian.truncation_radius"});
  EXPECT_NO_THROW(parsed("environments = [\"uniform\"]\n[dimensions]\noutput = 50"));
  EXPECT_NO_THROW(
      parsed("environments = [\"gaussian\"]\n[dimensions]\noutput = 50\n[environment.gaussian]\n"
             "truncation_radius = 9"));
  EXPECT_NO_THROW(parsed("[dimensions]\nboxes = 16"));  // all policies, FrugalGPT among them
  expect_refusal("[environment.unifrom]\nu = 0.5", {"environment.unifrom.u = 0.5", "uniform, gaussian"});
  expect_refusal("environments = [\"mine\"]\n[environment.mine]\nlaw = \"uniform\"\nu = 0.2",
                 {"mine has no stream", "environment.mine.stream"});
}

constexpr const char* kTwoEnvironments =
    "environments = [\"uniform\", \"t3\"]\n[environment.t3]\nlaw = \"student_t5\"\nu = 0.2\nstream = 17\n"
    "[environment.gaussian]\nu = 0.4\n";

// A list of environments that an option replaces leaves the file's other tables without meaning, not wrong.
TEST(StudyConfig, OptionsMayLeaveEnvironmentsOfTheFileOut) {
  StudyConfig config = parsed(kTwoEnvironments), plain = parsed("environments = [\"uniform\"]");
  config.set("environments", "uniform", "--environment uniform");
  ASSERT_EQ(config.settings().size(), 1u);
  ASSERT_EQ(config.settings()[0].study.environments.size(), 1u);
  EXPECT_EQ(config.settings()[0].study.environments[0].name, "uniform");
  EXPECT_EQ(config.identity(), plain.identity());
  EXPECT_EQ(config.toml(), plain.toml());  // and so it reads back
  EXPECT_EQ(config.values().count("environment.t3.u"), 0u);
  config.set("environments", "[\"t3\"]", "--set environments");  // the last list decides, and finds the table
  EXPECT_EQ(config.settings()[0].study.environments[0].cost_level, 0.2);
}

TEST(StudyConfig, WhatVariesInAnEnvironmentThatIsLeftOutDoesNotVary) {
  StudyConfig config =
      parsed(std::string(kTwoEnvironments) + "[vary]\nenvironment.t3.scale = [1, 2]\nperiods = [5, 6]");
  EXPECT_EQ(config.settings().size(), 4u);
  config.set("environments", "uniform", "--environment uniform");
  EXPECT_EQ(config.settings().size(), 2u);
  EXPECT_EQ(config.varying().size(), 1u);
  EXPECT_EQ(StudyConfig::parse(config.toml(), "again").identity(), config.identity());
}

TEST(StudyConfig, TablesOfNoEnvironmentOfTheStudyAreRefusedElsewhere) {
  expect_refusal("environments = [\"uniform\"]\n[environment.t3]\nlaw = \"uniform\"\nu = 0.2\nstream = 17",
                 {"study.toml:3", "environment t3", "not named by environments"});
  StudyConfig config = parsed(kTwoEnvironments);
  config.set("environments", "uniform", "--environment uniform");
  config.set("environment.t3.u", "0.3", "--set environment.t3.u=0.3");  // was meant to do something
  EXPECT_THAT(refusal([&] { config.settings(); }), HasSubstr("--set environment.t3.u=0.3: environment t3"));
}

TEST(StudyConfig, NamesTheNearestEnvironment) {
  const auto with = [](const std::string& names) {
    StudyConfig config = parsed(kTwoEnvironments);
    config.set("environments", names, "--environment " + names);
    return refusal([&] { config.settings(); });
  };
  EXPECT_THAT(with("unifrom"),
              AllOf(HasSubstr("--environment unifrom: \"unifrom\" is unknown; the nearest is uniform;"),
                    HasSubstr("uniform, gaussian, student_t5, t3")));
  EXPECT_THAT(with("uniform,T3"), HasSubstr("\"T3\" is unknown; the nearest is t3;"));
  EXPECT_THAT(with("cauchy"), Not(HasSubstr("nearest")));
  expect_refusal("environments = [\"wied\"]\n[environment.wide]\nlaw = \"uniform\"\nu = 0.2\nstream = 17",
                 {"study.toml:1", "\"wied\" is unknown; the nearest is wide"});
}

// Numbers do not depend on an environment that is not simulated.
TEST(StudyConfig, IdentityLeavesOutEnvironmentsThatAreNotSimulated) {
  EXPECT_EQ(parsed("environments = [\"uniform\"]\n[environment.gaussian]\nu = 0.4").identity(),
            parsed("environments = [\"uniform\"]").identity());
}

// What a user never wrote cannot be what is wrong. A registration lasts, so it happens in a process of its own.
TEST(StudyConfigDeathTest, BlamesWhatWasGivenNotADefault) {
  const auto refused = [] {
    Environment environment = paper_environments()[0];
    environment.name = "mine";
    environment.id = 77;
    register_environment(environment, [](const ReplicationRequest&) { return Replication{}; });
    StudyConfig config;
    config.set("environments", "mine", "--environment mine");
    try {
      (void)config.settings();
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::exit(static_cast<int>(error.code()));
    }
    std::exit(0);
  };
  EXPECT_EXIT(refused(), testing::ExitedWithCode(2), "^--environment mine: .*output.order");
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
  config.set("replications", "5", "--set replications=5");  // no longer varies
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
  EXPECT_EQ(study.hyperparameters.of("c_rho"), std::vector<double>{0.5});
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

// What is written beside the results must give the same study, whatever it was put together from.
TEST(StudyConfig, WhatItWritesReadsBackToTheSame) {
  StudyConfig config = parsed(
      "title = \"a \\\"b\\\" \\\\ \\u0007 ü\"\nenvironments = [\"heavy\"]\n[environment.heavy]\nlaw = \"uniform\"\nu = "
      "0.1\nstream = 200\ntruncation_radius = inf\n[vary]\nestimation.eta_index = [0.1, 1e-5, 3]\nperiods = [5, 6]");
  config.set("replications", "2", "");
  const StudyConfig again = StudyConfig::parse(config.toml(), "again");
  EXPECT_EQ(again.toml(), config.toml());
  EXPECT_EQ(again.identity(), config.identity());
  EXPECT_EQ(again.settings().size(), 6u);
  EXPECT_EQ(again.settings()[2].label(), config.settings()[2].label());
}

TEST(StudyConfig, RefusesTablesThatHoldNothingKnownAndKeysGivenTwice) {
  expect_refusal("seed = 2\n[estimaton]\n", {"study.toml:2", "unknown key estimaton"});
  expect_refusal("[oracle.grids]\n", {"study.toml:1", "unknown key oracle.grids"});
  expect_refusal("[environment.nowhere]\n", {"study.toml:1", "unknown key environment.nowhere"});
  expect_refusal("[environment.uniform.u]\n", {"study.toml:1", "environment.uniform.u"});
  expect_refusal("periods = {}\n", {"study.toml:1", "periods", "integer"});
  expect_refusal("\"oracle.samples\" = 1000\n[oracle]\nsamples = 2000\n",
                 {"study.toml:3", "oracle.samples = 2000", "given twice"});
  EXPECT_EQ(parsed("[estimation]\n[vary]\n[environment.uniform]\n[environment]\n").identity(),
            StudyConfig().identity());
}

TEST(StudyConfig, IdentityHasWhatNumbersDependOnAndNothingElse) {
  const auto with = [](const std::string& key, const std::string& value) {
    StudyConfig config;
    config.set(key, value, "");
    return config.identity();
  };
  const auto standard = StudyConfig().identity();
  for (const char* key : {"seed", "replications", "periods", "oracle.bins", "oracle.order_contexts", "engine.block",
                          "environment.uniform.u", "estimation.eta_index"})
    EXPECT_NE(with(key, "7"), standard) << key;
  EXPECT_NE(with("estimation.refit", "tracking"), standard);
  EXPECT_EQ(with("engine.chunk", "2"), standard);
  EXPECT_EQ(with("title", "x"), standard);
  EXPECT_EQ(with("output.hdf5", "false"), standard);
  EXPECT_NE(with("output.instances", "false"), standard);  // parts hold them
  EXPECT_THAT(parsed("title = \"x\"\n[output]\nhdf5 = false").toml(),
              AllOf(HasSubstr("title = \"x\""), HasSubstr("hdf5 = false")));
  EXPECT_NE(parsed("[vary]\nperiods = [1, 2]").identity(), parsed("[vary]\nperiods = [1, 3]").identity());
  EXPECT_EQ(parsed("[estimation]\neta_index = 2").identity(), parsed("[estimation]\neta_index = 2.0").identity());
}

TEST(StudyConfig, PrintsDefaultsThatAreTheDefaults) {
  const std::string text = commented_defaults();
  const StudyConfig config = StudyConfig::parse(text, "defaults");
  for (const StudyKeyInfo& key : study_keys()) {
    EXPECT_THAT(text, HasSubstr("\n" + key.name.substr(key.name.rfind('.') + 1) + " = " + key.standard + "\n"));
    EXPECT_THAT(text, HasSubstr(key.meaning));
    EXPECT_FALSE(key.type.empty() || key.meaning.empty()) << key.name;
  }
  EXPECT_THAT(text, HasSubstr("two with one stream have the same draws"));
  EXPECT_NO_THROW(parsed("[environment.gaussian]\nstream = 0"));  // uniform's: they are compared on the same draws
  const Study study = config.settings()[0].study, standard = study_of("");
  EXPECT_EQ(study.environments, standard.environments);
  EXPECT_EQ(study.T0, standard.T0);
}

const std::filesystem::path kRoot = PANDORA_SOURCE;

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(StudyConfig, EveryKeyIsDocumented) {
  const std::string text = contents(kRoot / "docs" / "studies.md");
  for (const StudyKeyInfo& key : study_keys()) {
    const bool of_environment = key.name.starts_with("environment.");
    EXPECT_THAT(text, HasSubstr(of_environment ? "`environment.NAME." + key.name.substr(key.name.rfind('.') + 1) + "`"
                                               : "`" + key.name + "`"));
  }
}

TEST(StudyConfig, ShippedStudiesAreValid) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "experiments"))
    if (entry.path().extension() == ".toml") {
      names.insert(entry.path().stem().string());
      const StudyConfig config = read_study_file(entry.path().string());
      EXPECT_FALSE(config.values().at("title").texts[0].empty()) << entry.path();
    }
  for (const char* name :
       {"paper", "quick", "scaling-horizon", "scaling-dimensions", "scaling-boxes", "refit-schedules"})
    EXPECT_TRUE(names.count(name)) << name;
}

// `reproduce` is the paper's study, not something like it.
TEST(StudyConfig, TheShippedPaperStudyIsTheDefault) {
  auto shipped = read_study_file((kRoot / "experiments" / "paper.toml").string()).identity(),
       standard = StudyConfig().identity();
  shipped.erase("title");
  standard.erase("title");
  EXPECT_EQ(shipped, standard);
}

TEST(ReadStudyFile, NamesAFileThatCannotBeRead) {
  EXPECT_THAT(refusal([] { read_study_file("no/such/study.toml"); }), HasSubstr("no/such/study.toml: cannot be read"));
  EXPECT_THAT(refusal([] { read_study_file("/"); }), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace pandora
