// The folder of rivals: every policy in it is in the program.
#include "tests/experiments/rivals/rivals.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "pandora/policy.hpp"

namespace pandora {
namespace {

TEST(Rivals, AFileOfTheFolderIsAPolicyOfItsName) {
  EXPECT_TRUE(test::names_of_rivals().contains("liu"));
  for (const std::string& name : test::names_of_rivals()) EXPECT_NE(find_policy(name), nullptr) << name;
}

// Policies past the paper come first, and then yardsticks, each group in the order of the files' names. `hindsight`
// comes after them.
TEST(Rivals, StandInTheOrderOfGroupsAndFiles) {
  std::vector<std::string> wanted, found;
  for (const PolicyGroup group : {PolicyGroup::past_the_paper, PolicyGroup::yardstick})
    for (const std::string& name : test::names_of_rivals())
      if (find_policy(name)->group == group) wanted.push_back(name);
  EXPECT_EQ(wanted.size(), test::names_of_rivals().size());
  wanted.insert(wanted.begin(), "linucb_router");
  wanted.push_back("hindsight");
  for (const Policy& policy : all_policies())
    if (!found.empty() || policy.name == wanted.front()) {
      found.push_back(policy.name);
      if (policy.name == wanted.back()) break;
    }
  EXPECT_EQ(found, wanted);
}

// A study that names no policies runs the paper's alone, so a rival must be named to run.
TEST(Rivals, AreRunByNameOnly) {
  for (const std::string& name : test::names_of_rivals()) {
    const Policy& rival = *find_policy(name);
    EXPECT_TRUE(rival.by_name_only) << name;
    EXPECT_FALSE(rival.summary.empty()) << name;
  }
}

}  // namespace
}  // namespace pandora
