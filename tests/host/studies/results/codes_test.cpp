// Policies and environments whose code is not part of the program. They have a digest of it (Policy::code). A
// registration lasts, so each test is a process of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "host/studies/results/parts.hpp"
#include "host/studies/study/study_config.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"

namespace pandora {
namespace {

Policy coded(const std::string& name, const std::string& code) {
  Policy policy;
  policy.name = name;
  policy.code = code;
  policy.by_name_only = true;
  policy.hyperparameters = {{"width", "of nothing", {1.0, 2.0}}};
  policy.variants = [](const Grids&) {
    return std::vector<PolicyVariant>{{"known", "", [](const Replication&, int) { return LaneSpec{}; }}};
  };
  return policy;
}

// Ends the process, with 0 if every expectation of the body holds.
template <class Body>
[[noreturn]] void expect(Body&& body) {
  body();
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

bool is_refused(const Policy& policy) {
  try {
    register_policy(policy);
    return false;
  } catch (const Error& error) {
    return error.code() == ExitCode::usage;
  }
}

TEST(CodesDeathTest, OneWithACodeReplacesOneWithACodeAndNoOther) {
  EXPECT_EXIT(expect([] {
                register_policy(coded("mine", "a"));
                const Policy* const first = find_policy("mine");
                const std::size_t count = all_policies().size();
                register_policy(coded("mine", "b"));
                EXPECT_EQ(all_policies().size(), count);
                EXPECT_EQ(find_policy("mine")->code, "b");
                EXPECT_TRUE(first->name == "mine" && first->code == "a");  // plans still point to it
                EXPECT_TRUE(is_refused(coded("mine", "")));
                EXPECT_TRUE(is_refused(coded("dow", "a")));
                EXPECT_FALSE(has_registered_policies());
                register_policy(coded("plain", ""));
                EXPECT_TRUE(is_refused(coded("plain", "a")));
                EXPECT_TRUE(has_registered_policies());
              }),
              testing::ExitedWithCode(0), "");
}

// A registered policy must not change the results of studies without it.
TEST(CodesDeathTest, HyperparametersAreKeysOfStudiesThatNameThePolicy) {
  EXPECT_EXIT(expect([] {
                const std::string before = StudyConfig().toml();
                const StudyConfig old;
                register_policy(coded("mine", "a"));
                EXPECT_EQ(StudyConfig().toml(), before);
                EXPECT_EQ(StudyConfig().identity(), old.identity());
                const StudyConfig named = StudyConfig::parse("policies = [\"dow\", \"mine\"]\n", "study");
                EXPECT_TRUE(named.toml().find("width = [1, 2]") != std::string::npos);
                EXPECT_EQ(named.identity().at("hyperparameters.width"), "[1, 2]");
                EXPECT_EQ(StudyConfig::parse(named.toml(), "again").toml(), named.toml());
                EXPECT_EQ(old.settings().size(), 1u);  // from before the key existed
              }),
              testing::ExitedWithCode(0), "");
}

TEST(CodesDeathTest, ResultsDependOnTheCodesOfTheirStudyAlone) {
  EXPECT_EXIT(expect([] {
                const Identity before = build_parts_of_identity();
                register_policy(coded("mine", "a"));
                Environment environment = paper_environments()[0];
                environment.name = "place";
                environment.id = 77;
                register_environment(environment, {}, "e");
                EXPECT_EQ(build_parts_of_identity(), before);
                const Numerics cpu{"cpu", "", ""};
                const auto identity = [&](const char* text) {
                  const StudyConfig config = StudyConfig::parse(text, "study");
                  return identity_of(config, config.settings(), cpu);
                };
                const Identity none = identity("policies = [\"dow\"]\n");
                const Identity both = identity(
                    "policies = [\"dow\", \"mine\"]\nenvironments = [\"uniform\", \"place\"]\noutput.order = false\n");
                EXPECT_TRUE(!none.contains("build.policy.mine") && !none.contains("build.environment.place"));
                EXPECT_TRUE(both.at("build.policy.mine") == "a" && both.at("build.environment.place") == "e");
                EXPECT_EQ(build_of_results(both), before);
                Identity other = both;
                other["build.policy.mine"] = "b";
                EXPECT_TRUE(build_of_results(other).contains("build.policy.mine"));
                Identity without = both;
                without.erase("build.policy.mine");
                EXPECT_TRUE(differences_of_fixed(without, both).empty());  // results can grow by a policy
                EXPECT_EQ(differences_of_fixed(other, both).size(), 1u);
                EXPECT_EQ(differences(without, both).size(), 1u);
              }),
              testing::ExitedWithCode(0), "");
}

TEST(CodesDeathTest, EnvironmentsWithACodeReplaceEachOther) {
  EXPECT_EXIT(expect([] {
                Environment environment = paper_environments()[0];
                environment.name = "place";
                environment.id = 77;
                register_environment(
                    environment, [](const ReplicationRequest&) { return Replication{}; }, "e");
                environment.cost_level = 0.5;
                environment.id = 78;
                register_environment(environment, {}, "f");
                EXPECT_EQ(find_environment("place")->cost_level, 0.5);
                EXPECT_FALSE(find_drawer("place"));
                EXPECT_TRUE(code_of_environment("place") == "f" && code_of_environment("uniform").empty());
                EXPECT_FALSE(has_registered_environments());
                environment.name = "plain";
                environment.id = 79;
                register_environment(environment);
                EXPECT_TRUE(has_registered_environments());
              }),
              testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pandora
