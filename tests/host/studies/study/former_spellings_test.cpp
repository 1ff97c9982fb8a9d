#include "host/studies/study/former_spellings.hpp"

#include <gtest/gtest.h>

namespace pandora {
namespace {

TEST(InTodaysSpelling, AreValuesOfBoxesThatComeAndGo) {
  EXPECT_EQ(in_todays_spelling("environment.uniform.arrives", "\"2:1000\""), "\"box 3:1000\"");
  EXPECT_EQ(in_todays_spelling("study.scenario.a.environment.uniform.leaves", "\"0:5,15:7\""), "\"box 1:5,box 16:7\"");
  EXPECT_EQ(in_todays_spelling("study.vary.environment.u.arrives", R"(["0:5, 2:7", ""])"),
            R"(["box 1:5, box 3:7", ""])");
  EXPECT_EQ(in_todays_spelling("arrives", "2:1000"), "box 3:1000");
  for (const char* value : {"", "\"\"", "\"box 3:1000,box 1:5\"", "absent", ":", "99:1"})
    EXPECT_EQ(in_todays_spelling("arrives", value), value);
  for (const char* key : {"study.feedback.poison", "study.title", "environment.uniform.drift", "arrives.x", ""})
    EXPECT_EQ(in_todays_spelling(key, "\"2:1000\""), "\"2:1000\"") << key;
}

TEST(InTodaysSpelling, AreLabelsByTheirKeys) {
  EXPECT_EQ(label_in_todays_spelling("environment.u.arrives=2:10, 0:5 feedback.poison=2:10 environment.u.leaves=1:7"),
            "environment.u.arrives=box 3:10, box 1:5 feedback.poison=2:10 environment.u.leaves=box 2:7");
  for (const char* label : {"", "scenario=a", "environment.u.arrives=", "environment.u.arrives= periods=5",
                            "environment.u.arrives=box 3:10 periods=5"})
    EXPECT_EQ(label_in_todays_spelling(label), label);
}

TEST(InTodaysSpelling, AreStudiesByTheirLines) {
  EXPECT_EQ(study_in_todays_spelling("title = \"arrives = 2:5\"\n\n[environment.u]\narrives = \"2:5\"\n\n[feedback]\n"
                                     "poison = \"2:5\"\n"),
            "title = \"arrives = 2:5\"\n\n[environment.u]\narrives = \"box 3:5\"\n\n[feedback]\npoison = \"2:5\"\n");
  for (const char* text : {"", "\n", "a", "a\n", "a = 1", "arrives"}) EXPECT_EQ(study_in_todays_spelling(text), text);
}

}  // namespace
}  // namespace pandora
