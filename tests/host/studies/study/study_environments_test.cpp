// The environments of a study: their tables, and tables of environments that an option leaves out.
#include <gmock/gmock.h>

#include "host/lanes/model/drift.hpp"
#include "pandora/environment.hpp"
#include "tests/host/studies/study/study_texts.hpp"

namespace pandora {
namespace {
using test::expect_refusal;
using test::parsed;
using test::refusal;
using testing::HasSubstr;

constexpr const char* kTwoEnvironments =
    "environments = [\"uniform\", \"t3\"]\n[environment.t3]\nlaw = \"student_t5\"\nu = 0.2\nstream = 17\n"
    "[environment.gaussian]\nu = 0.4\n";

// If an option replaces the list of environments, other tables of the file have no effect. They are not wrong.
TEST(StudyConfig, OptionsMayLeaveEnvironmentsOfTheFileOut) {
  StudyConfig config = parsed(kTwoEnvironments), plain = parsed("environments = [\"uniform\"]");
  config.set("environments", "uniform", "--environment uniform");
  ASSERT_EQ(config.settings().size(), 1u);
  ASSERT_EQ(config.settings()[0].study.environments.size(), 1u);
  EXPECT_EQ(config.settings()[0].study.environments[0].name, "uniform");
  EXPECT_EQ(config.identity(), plain.identity());
  EXPECT_EQ(config.toml(), plain.toml());  // it reads back as the same
  EXPECT_EQ(config.values().count("environment.t3.u"), 0u);
  config.set("environments", "[\"t3\"]", "--set environments");  // the last list decides, and the table is there
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
  config.set("environment.t3.u", "0.3", "--set environment.t3.u=0.3");  // an option is never meant to do nothing
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

TEST(StudyConfig, LocationsAndIndicesOfAnEnvironment) {
  const StudyConfig config = parsed(
      "environments = [\"apart\", \"linear\"]\n[environment.apart]\nlaw = \"gaussian\"\nu = 0.2\nstream = 40\n"
      "location = \"own\"\n[environment.linear]\nlaw = \"uniform\"\nstream = 41\nindices = \"linear\"\n");
  const std::vector<Environment> environments = config.settings()[0].study.environments;
  EXPECT_EQ(environments[0].location, Location::own);
  EXPECT_EQ(environments[0].indices, Indices::of_costs);
  EXPECT_EQ(environments[1].location, Location::common);
  EXPECT_EQ(environments[1].indices, Indices::linear);
  EXPECT_EQ(StudyConfig::parse(config.toml(), "again").settings()[0].study.environments, environments);
  const auto identity = config.identity();
  EXPECT_EQ(identity.at("environment.apart.location"), "\"own\"");
  EXPECT_EQ(identity.at("environment.linear.indices"), "\"linear\"");
  EXPECT_EQ(parsed("[environment.uniform]\nlocation = \"none\"").settings()[0].study.environments[0].location,
            Location::none);
}

TEST(StudyConfig, RefusesLocationsAndIndicesThatAreNone) {
  expect_refusal("[environment.uniform]\nlocation = \"onw\"",
                 {"study.toml:2", "\"onw\"", "nearest is own", "common, none, own"});
  expect_refusal("[environment.uniform]\nindices = \"lineal\"", {"study.toml:2", "nearest is linear"});
  const std::string linear = "environments = [\"lin\"]\n[environment.lin]\nlaw = \"uniform\"\nstream = 41\n";
  expect_refusal(linear, {"environment lin has no u; set environment.lin.u"});
  expect_refusal(linear + "u = 0.2\nindices = \"linear\"",
                 {"study.toml:5", "u = 0.2", "costs then follow from them; leave out environment.lin.u"});
}

// Numbers do not depend on an environment that is not simulated.
TEST(StudyConfig, IdentityLeavesOutEnvironmentsThatAreNotSimulated) {
  EXPECT_EQ(parsed("environments = [\"uniform\"]\n[environment.gaussian]\nu = 0.4").identity(),
            parsed("environments = [\"uniform\"]").identity());
}

// A message must not blame a default that the user never wrote. A registration lasts, so the test has a process of its
// own.
TEST(StudyConfigDeathTest, BlamesWhatWasGivenNotADefault) {
  EXPECT_ALONE({
    Environment environment = paper_environments()[0];
    environment.name = "mine";
    environment.id = 77;
    register_environment(environment, [](const ReplicationRequest&) { return Replication{}; });
    StudyConfig config;
    config.set("environments", "mine", "--environment mine");
    EXPECT_THAT(refusal([&] { config.settings(); }), testing::ContainsRegex("^--environment mine: .*output.order"));
  });
}

// A drift is one text or an inline table, in the file or from an option. Settings can vary over it.
TEST(StudyConfig, DriftIsATextOrAnInlineTable) {
  const auto drift_of_gaussian = [](const StudyConfig& config) {
    return drift_text(config.settings()[0].study.environments[0].drift);
  };
  const std::string head = "environments = [\"gaussian\"]\n[environment.gaussian]\n";
  for (const char* drift : {"\"step:5,9:0.5\"", "{ kind = \"step\", at = [5, 9], share = 0.5 }",
                            "{ share = 0.5, at = [5, 9], kind = \"step\" }"}) {
    const StudyConfig config = StudyConfig::parse(head + "drift = " + drift, "study.toml");
    EXPECT_EQ(drift_of_gaussian(config), "step:5,9:0.5");
    EXPECT_EQ(drift_of_gaussian(StudyConfig::parse(config.toml(), "again.toml")), "step:5,9:0.5");
  }
  StudyConfig config = StudyConfig::parse(head, "study.toml");
  config.set("environment.gaussian.drift", "walk:0.25", "--set");
  EXPECT_EQ(drift_of_gaussian(config), "walk:0.25");
  config.set("environment.gaussian.drift", "{ kind = \"swap\", at = 7 }", "--set");
  EXPECT_EQ(drift_of_gaussian(config), "swap:7");
  const StudyConfig varied = StudyConfig::parse(
      "environments = [\"gaussian\"]\n[vary]\nenvironment.gaussian.drift = [\"\", \"swap:7\", { kind = \"walk\", speed "
      "= 0.1 }]",
      "study.toml");
  ASSERT_EQ(varied.settings().size(), 3u);
  EXPECT_EQ(drift_text(varied.settings()[2].study.environments[0].drift), "walk:0.1");
}

}  // namespace
}  // namespace pandora
