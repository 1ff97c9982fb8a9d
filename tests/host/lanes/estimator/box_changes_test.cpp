// Boxes that come and go: which boxes are there when. scenario_lanes_test.cpp tests every engine.
#include "host/lanes/model/box_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pandora/error.hpp"
#include "pandora/policy.hpp"
#include "tests/host/studies/study/study_texts.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::kCalibration;

Environment with_changes(const std::string& arrives, const std::string& leaves) {
  Environment environment;
  environment.name = "changing";
  environment.arrives = parse_box_changes(arrives);
  environment.leaves = parse_box_changes(leaves);
  return environment;
}

Replication replication_with(const std::string& arrives, const std::string& leaves, Regime regime, int periods) {
  Replication out = test::small_replication(test::small_dimensions(3, 5, 2), regime, kCalibration, periods, 11);
  apply_box_changes(with_changes(arrives, leaves), false, out);
  return out;
}

std::vector<int> there(const Tape& tape, int t) {  // t = 1, 2, ...
  std::vector<int> out;
  for (int a = 0; a < tape.boxes(); ++a)
    if (holds(tape.there(tape.online_row(t - 1)), a)) out.push_back(a);
  return out;
}

TEST(BoxChanges, AreThereWhenTheyHaveComeAndHaveNotGone) {
  const Replication replication = replication_with("box 3:40,box 1:60", "box 1:20,box 2:50", Regime::A, 80);
  const Tape& tape = replication.tape;
  const std::pair<int, std::vector<int>> wanted[] = {{1, {0, 1}}, {19, {0, 1}}, {20, {1}},
                                                     {39, {1}},   {40, {1, 2}}, {49, {1, 2}},
                                                     {50, {2}},   {60, {0, 2}}, {80, {0, 2}}};
  for (const auto& [t, boxes] : wanted) EXPECT_EQ(there(tape, t), boxes) << t;
  for (int row = 0; row < tape.online_row(0); ++row) EXPECT_EQ(tape.there(row), 3u);
  for (int k = 0; k < kCalibration; ++k) EXPECT_EQ(tape.calibration_box(k), k % 2);
}

TEST(BoxChanges, AreWrittenAsTheyAreReadAndRefusedWhereTheyMakeNoSense) {
  for (const char* text : {"", "box 3:1000", "box 3:1000,box 1:5", "box 16:7"})
    EXPECT_EQ(box_changes_text(parse_box_changes(text)), text);
  for (const char* text : {"box 2", "box 2:", "box 2:0", "box 17:5", "box 0:5", "box -1:5", "box 1.5:5", "box 2:5:6",
                           "box a:b", "box 2:5,,box 1:6", ",", "2", "2:0", "16:5", "boxes 2:5", "box  2:5"})
    EXPECT_THROW((void)parse_box_changes(text), Error) << text;
  require_box_changes(with_changes("box 3:40,box 1:60", "box 1:20,box 2:50"), 3);
  require_box_changes(with_changes("box 1:5", "box 2:5"), 3);
  require_box_changes(with_changes("box 1:5, box 3:7", ""), 3);
  const auto why = [](const char* arrives, const char* leaves) {
    return test::refusal([&] { require_box_changes(with_changes(arrives, leaves), 3); });
  };
  EXPECT_THAT(why("box 3:5", "box 3:5"), testing::HasSubstr("box 3 arrives and leaves at period 5"));
  EXPECT_THAT(why("box 4:5", ""), testing::HasSubstr("box 4 comes or goes, and boxes are 1 to 3"));
  EXPECT_THAT(why("box 1:5,box 2:5,box 3:5", ""), testing::HasSubstr("no box is there before the first period"));
  EXPECT_THAT(why("", "box 1:5,box 2:5,box 3:7"), testing::HasSubstr("no box is there from period 7 on"));
  EXPECT_THAT(why("box 1:5,box 1:9", ""), testing::HasSubstr("box 1 arrives at period 9, where it is there already"));
  EXPECT_THAT(why("", "box 1:5,box 1:9"), testing::HasSubstr("box 1 leaves at period 9, where it has left already"));
}

// Earlier versions counted boxes from 0 in studies. A third box must not silently become the second.
TEST(BoxChanges, TheSpellingThatCountedFrom0IsRefusedWithTheSameBoxInTodays) {
  const auto told = [](const char* text) { return test::refusal([&] { (void)parse_box_changes(text); }); };
  EXPECT_EQ(told("2:1000"),
            "write \"box 3:1000\" or { box_number = 3, at = 1000 }; boxes are counted from 1, and this counted them "
            "from 0");
  EXPECT_THAT(told("0:5, 15:7"), testing::HasSubstr("write \"box 1:5,box 16:7\" or [{ box_number = 1, at = 5 }, "
                                                    "{ box_number = 16, at = 7 }];"));
  EXPECT_THAT(told("2:5,box 2:6"), testing::HasSubstr("write \"box 3:5,box 2:6\" or"));  // each by its own count
}

// Policies by code meet a box that they have never seen before.
TEST(BoxChanges, PoliciesThatAreCodeTakeABoxThatComes) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Replication replication = replication_with("box 3:40", "box 1:60", regime, 200);
    for (const char* name : {"liu", "informed_weitzman"})
      for (const int T0 : {0, kCalibration}) {
        const PolicyVariant variant = find_policy(name)->variants({0.1})[0];
        const auto policy = variant.custom(replication, T0, {});
        const LaneTally tally = run_custom_lane(replication, *policy, T0);
        EXPECT_EQ(tally.failure, Failure::none) << name;
        EXPECT_GT(tally.queries_of_box[2], 0.0) << name;
      }
  }
}

TEST(BoxChanges, APolicyThatNamesABoxThatIsNotThereIsStopped) {
  struct Second : CustomPolicy {
    void begin(const Request& request) override { there = request.there, open = false; }
    int next() override { return open ? kStop : 2; }
    void opened(const Output&) override { open = true; }
    int deploy() override { return 2; }
    unsigned there = 0;
    bool open = false;
  };
  const Replication replication = replication_with("", "box 3:30", Regime::A, 50);
  Second policy;
  std::string why;
  const LaneTally tally = run_custom_lane(replication, policy, 0, &why);
  EXPECT_EQ(tally.failed_period, 30);
  EXPECT_EQ(policy.there, 3u);
  EXPECT_NE(why.find("next() returned 2, the index of box 3, which is not there"), std::string::npos) << why;
}

}  // namespace
}  // namespace pandora
