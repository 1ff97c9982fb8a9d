// [scenario.NAME]: settings as a list of named values, which replace those of the study.
#include <gmock/gmock.h>

#include "host/lanes/model/drift.hpp"
#include "host/studies/results/parts.hpp"
#include "tests/host/studies/study/study_texts.hpp"

namespace pandora {
namespace {
using test::expect_refusal;
using test::parsed;
using test::refusal;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kScenarios = R"(periods = 500
environments = ["gaussian"]
feedback.share = 0.5
[scenario.base]
[scenario.late]
feedback.delay = { law = "geometric", mean = 7 }
environment.gaussian.drift = "swap:70"
[scenario.short-told]
periods = 50
feedback.share = 1
)";

std::vector<std::string> labels(const StudyConfig& config) {
  std::vector<std::string> out;
  for (const Setting& setting : config.settings()) out.push_back(setting.label());
  return out;
}

TEST(Scenarios, EachIsASettingThatReplacesWhatItNames) {
  const StudyConfig config = parsed(kScenarios);
  EXPECT_THAT(labels(config), ElementsAre("scenario=base", "scenario=late", "scenario=short-told"));
  const std::vector<Setting> all = config.settings();
  EXPECT_EQ(all[0].study.periods, 500);
  EXPECT_EQ(all[0].study.feedback.share, 0.5);
  EXPECT_EQ(all[1].study.feedback.share, 0.5);
  EXPECT_TRUE(moves(all[1].study.environments[0]));
  EXPECT_FALSE(moves(all[2].study.environments[0]));
  EXPECT_EQ(all[2].study.periods, 50);
  EXPECT_EQ(all[2].study.feedback.share, 1.0);
}

// Only named settings are run. Without [scenario.base] there is no setting for the unchanged study.
TEST(Scenarios, TheStudyAsItIsNeedsATableOfItsOwn) {
  EXPECT_THAT(labels(parsed("[scenario.short]\nperiods = 5")), ElementsAre("scenario=short"));
  EXPECT_THAT(labels(parsed("scenario = { base = {}, short = { periods = 5 } }")),
              ElementsAre("scenario=base", "scenario=short"));
  EXPECT_THAT(labels(parsed("scenario.short.periods = 5\n[scenario.base]")),
              ElementsAre("scenario=short", "scenario=base"));
  EXPECT_EQ(parsed("[scenario]\n").identity(), StudyConfig().identity());
}

TEST(Scenarios, MultiplyWithKeysThatVary) {
  const StudyConfig config =
      parsed("[vary]\nestimation.eta_index = [1, 2]\n[scenario.base]\n[scenario.short]\nperiods = 5");
  EXPECT_THAT(labels(config),
              ElementsAre("scenario=base estimation.eta_index=1", "scenario=base estimation.eta_index=2",
                          "scenario=short estimation.eta_index=1", "scenario=short estimation.eta_index=2"));
  EXPECT_EQ(config.settings()[3].study.periods, 5);
  EXPECT_EQ(config.settings()[3].study.estimation.ridge_index, 2.0);
  std::string many = "[vary]\nestimation.eta_index = [1";
  for (int i = 2; i <= 6000; ++i) many += ", " + std::to_string(i);
  expect_refusal(many + "]\n[scenario.a]\n[scenario.b]\n", {"more than 10000 settings with [scenario]"});
}

TEST(Scenarios, ReadBackToTheSame) {
  const StudyConfig config = parsed(std::string(kScenarios) + "[vary]\nestimation.eta_index = [1, 2]");
  test::expect_kept(config);
  EXPECT_EQ(labels(parsed(config.toml())), labels(config));
}

TEST(Scenarios, BelongToTheIdentity) {
  const auto identity = [](const std::string& text) { return parsed(text).identity(); };
  const auto one = identity("[scenario.a]\nperiods = 5");
  EXPECT_EQ(one.at("scenarios"), "[\"a\"]");
  EXPECT_EQ(one.at("scenario.a.periods"), "5");
  EXPECT_NE(one, identity("[scenario.a]\nperiods = 6"));
  EXPECT_NE(one, identity("[scenario.b]\nperiods = 5"));
  EXPECT_NE(one, identity("[scenario.a]\nperiods = 5\n[scenario.b]"));
  EXPECT_NE(identity("[scenario.a]\n[scenario.b]"), identity("[scenario.b]\n[scenario.a]"));  // settings have numbers
}

TEST(Scenarios, OptionsChangeWhatTheyReplaceOrSay) {
  StudyConfig config = parsed(kScenarios);
  config.set("periods", "800", "--periods 800");
  config.set("scenario.late.feedback.delay", "9", "--set scenario.late.feedback.delay=9");
  EXPECT_EQ(config.settings()[0].study.periods, 800);
  EXPECT_EQ(config.settings()[2].study.periods, 50);
  EXPECT_THAT(config.toml(), HasSubstr("[scenario.late]\nfeedback.delay = \"9\"\n"));
  config.set("scenario", "short-told,base", "--set scenario=short-told,base");
  EXPECT_THAT(labels(config), ElementsAre("scenario=short-told", "scenario=base"));
  config.set("scenario", "[\"base\"]", "--set scenario");
  EXPECT_THAT(labels(config), ElementsAre("scenario=base"));
  const auto refused = [](const std::string& key, const std::string& value) {
    StudyConfig study = parsed(kScenarios);
    return refusal([&] { study.set(key, value, "--set " + key + "=" + value); });
  };
  EXPECT_THAT(refused("scenario", "lat"),
              HasSubstr("--set scenario=lat: the study has no scenario \"lat\"; the nearest is late; use base, "));
  EXPECT_THAT(refused("scenario", "base,base"), HasSubstr("base is named twice"));
  EXPECT_THAT(refused("scenario", ""), HasSubstr("name at least one"));
  EXPECT_THAT(refused("scenario.later.periods", "5"), HasSubstr("no scenario \"later\""));
  EXPECT_THAT(refused("scenario.late.T0", "5"), HasSubstr("T0 cannot vary"));
  EXPECT_THAT(refusal([] { StudyConfig().set("scenario", "base", "--set scenario=base"); }),
              HasSubstr("the study has no scenarios"));
}

// Keys for an environment that an option leaves out have no effect, as under [vary].
TEST(Scenarios, WhatTheySayOfAnEnvironmentThatIsLeftOutCountsForNothing) {
  StudyConfig config = parsed(kScenarios);
  config.set("environments", "uniform", "--environment uniform");
  EXPECT_EQ(config.settings().size(), 3u);
  EXPECT_EQ(config.identity().count("scenario.late.environment.gaussian.drift"), 0u);
  test::expect_kept(config);
}

TEST(Scenarios, RefusesWhatCannotBeReplaced) {
  expect_refusal("[scenario.late]\nfeedback.dely = 5",
                 {"study.toml:2: scenario.late.feedback.dely = 5", "unknown key", "nearest is feedback.delay"});
  expect_refusal("[scenario.late]\nT0 = [5]", {"study.toml:2", "T0 cannot vary", "single value"});
  expect_refusal("[scenario.late]\noutput.order = false", {"study.toml:2", "output.order cannot vary"});
  expect_refusal("[scenario.late]\nfeedback.share = 2", {"study.toml:2: scenario.late.feedback.share", "from 0 to 1"});
  expect_refusal("[scenario.late]\nperiods = [1, 2]", {"study.toml:2", "not of the right type"});
  expect_refusal("[vary]\nperiods = [1, 2]\n[scenario.short]\nperiods = 5",
                 {"study.toml:4: scenario.short.periods = 5", "[vary] has periods too", "keep it in"});
  expect_refusal("[scenario.short]\nperiods = 5\n[vary]\nperiods = [1, 2]", {"study.toml:2", "[vary] has periods too"});
  expect_refusal("[scenario.short]\nperiods = 5\n[scenario.short]\nperiods = 6", {"study.toml:3", "not TOML"});
  expect_refusal("[scenario.short]\nfeedback.share = 0.5\n\"feedback.share\" = 0.6", {"study.toml:3", "given twice"});
  expect_refusal("[scenario.\"a b\"]\nperiods = 5", {"study.toml:2", "the name \"a b\"", "letters, digits, _ and -"});
  expect_refusal("[scenario.\"\"]\n", {"study.toml:1", "letters, digits, _ and -"});
  expect_refusal("scenario.late = 3", {"study.toml:1", "is no table", "[scenario.late]"});
  expect_refusal("scenario = [\"late\"]", {"study.toml:1", "unknown key scenario"});
  expect_refusal("[scenario.late.feedbak]", {"study.toml:1", "unknown key feedbak"});
  expect_refusal("[vary]\nscenario = [\"a\"]", {"study.toml:2", "unknown key scenario"});
  expect_refusal(
      "environments = [\"mine\"]\n[environment.mine]\ntable = \"t.csv\"\nprice = 1\n[scenario.worse]\n"
      "environment.mine.drift = \"a:0.5\"",
      {"study.toml:6", "environment.mine.drift of a table cannot vary"});
}

// A study of another program or version may have unknown keys, which are ignored.
TEST(Scenarios, ForeignOnesMayHaveUnknownKeys) {
  const StudyConfig config = StudyConfig::parse("[scenario.a]\nperiods = 5\nfeedback.echo = 3\n", "study.toml", true);
  EXPECT_THAT(config.passed_over(), ElementsAre("scenario.a.feedback.echo"));
  EXPECT_EQ(config.settings()[0].study.periods, 5);
}

}  // namespace
}  // namespace pandora
