// Suggestions: the nearest names come first, and names that are not near do not come at all.
#include "host/ground/base/nearest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pandora {
namespace {
using Names = std::vector<std::string>;

const Names kPolicies = {"oracle",        "online_plugin", "dow",         "static_plugin", "linucb_online",
                         "linucb_static", "frugalgpt",     "best_single", "random_order",  "query_all"};

TEST(Nearest, LettersThatAreWrongMissingTooManyOrExchanged) {
  for (const char* word : {"dwo", "doww", "do", "DOW", "dox"})
    EXPECT_EQ(nearest(word, kPolicies), Names{"dow"}) << word;
  EXPECT_EQ(nearest("frugal_gpt", kPolicies), Names{"frugalgpt"});
  EXPECT_EQ(nearest("oracel", kPolicies), Names{"oracle"});
}

TEST(Nearest, PartsOfNames) {
  EXPECT_EQ(nearest("plugin", kPolicies), (Names{"online_plugin", "static_plugin"}));
  EXPECT_EQ(nearest("LinUCB", kPolicies), (Names{"linucb_online", "linucb_static"}));
  EXPECT_EQ(nearest("dow_known", kPolicies), Names{"dow"});
}

TEST(Nearest, NothingIsNearToWhatIsSomethingElse) {
  for (const char* word : {"foo", "", "x", "greedy", "cauchy"}) EXPECT_EQ(nearest(word, kPolicies), Names{}) << word;
  EXPECT_EQ(nearest("foo", {"T0", "seed", "title"}), Names{});
  EXPECT_EQ(nearest("C", {"A", "B"}), Names{});
  EXPECT_EQ(nearest("dow", {}), Names{});
}

TEST(Nearest, CaseAloneIsNearestAndEqualsKeepTheirOrder) {
  EXPECT_EQ(nearest("wide", {"wider", "WIDE", "side"}), Names{"WIDE"});
  EXPECT_EQ(nearest("t1", {"T0", "ta", "tb1"}), Names{"tb1"});
  EXPECT_EQ(nearest("boxe", {"boxf", "boxg", "boxh", "boxi"}), (Names{"boxf", "boxg", "boxh"}));
  EXPECT_EQ(nearest("boxe", {"boxf", "boxg", "boxh", "boxi"}, 1), Names{"boxf"});
}

// Every lane of a study, with its name in `pandora replay`.
Names lanes() {
  Names out;
  for (const char* environment : {"uniform", "gaussian", "student_t5"})
    for (const char* regime : {"A", "B"})
      for (int replication = 0; replication < 50; ++replication)
        for (const char* T0 : {"0", "50", "100", "1000"})
          for (const char* policy :
               {"online_plugin/known", "online_plugin/unknown", "dow/known/c_rho=0.001", "dow/known/c_rho=0.1",
                "dow/known/c_rho=1", "dow/unknown/c_rho=0.1;c_theta=1", "linucb_online/none/c_b=0.1"})
            out.push_back(std::string(environment) + "/" + regime + "/" + std::to_string(replication) + "/" + T0 + "/" +
                          policy);
  return out;
}

TEST(Nearest, LanesWithOneWrongComponent) {
  const Names all = lanes();
  const std::string wanted = "uniform/A/0/50/dow/known/c_rho=0.1";
  for (const char* word :
       {"unifrom/A/0/50/dow/known/c_rho=0.1", "uniform/a/0/50/DOW/known/c_rho=0.1",
        "uniform/A/0/50/dwo/known/c_rho=0.1", "uniform/A/0/50/dow/c_rho=0.1", "uniform/A/0/50/dow/known/0.1",
        "uniform/A/0/50/dow/knwn/c_rh=0.1", "uniform/A/0/50/dow/known/extra/c_rho=0.1"})
    EXPECT_EQ(nearest(word, all, 1), Names{wanted}) << word;
  // If one component is like none, all lanes with the other components come, in their order.
  EXPECT_EQ(nearest("uniform/A/0/77/dow/known/c_rho=0.1", all),
            (Names{"uniform/A/0/0/dow/known/c_rho=0.1", wanted, "uniform/A/0/100/dow/known/c_rho=0.1"}));
  EXPECT_EQ(nearest("uniform/A/0/50/dow/known/c_rho=0.2", all, 1), Names{wanted});
  EXPECT_EQ(nearest("cauchy/A/0/50/dow/known/c_rho=0.1", all),
            (Names{wanted, "gaussian/A/0/50/dow/known/c_rho=0.1", "student_t5/A/0/50/dow/known/c_rho=0.1"}));
  EXPECT_EQ(nearest("quite/another/thing", all), Names{});
}

TEST(Nearest, AmongManyNamesAndOfALongWord) {
  Names all = lanes();
  while (all.size() < 50000) all.push_back("wide_" + all[all.size() - 8400]);
  const Names found = nearest("uniform/A/0/77/dow/known/c_rho=0.1", all);
  EXPECT_FALSE(found.empty());
  for (const std::string& name : found) EXPECT_THAT(name, testing::StartsWith("uniform/A/0/"));
  EXPECT_TRUE(nearest(std::string(5000, 'x'), all).empty());
}

TEST(Nearest, IsSaidInAMessage) {
  EXPECT_EQ(nearest_text({}), "");
  EXPECT_EQ(nearest_text({"a"}), "; the nearest is a");
  EXPECT_EQ(nearest_text({"a", "b"}), "; the nearest are a, b");
}

}  // namespace
}  // namespace pandora
