// Figures of made-up results: what they show, and that one policy looks alike in all of them.
#include <gmock/gmock.h>

#include <cmath>

#include "host/report/report.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PolicyTitle title(const std::string& policy, const std::string& reward) {
  return {.policy = policy,
          .reward = reward,
          .name = policy,
          .brief = policy + ", " + reward,
          .group = "",
          .knows_reward = reward == "known"};
}

Study study_with(std::vector<std::string> policies, std::vector<int> T0) {
  Study study;
  study.environments = {*find_environment("uniform")};
  study.policies = std::move(policies);
  study.T0 = std::move(T0);
  study.periods = 3000;
  study.replications = 2;
  return study;
}

int shown_T0(const Study& study) {
  return usual_T0(study, make_plan(study));
}

TEST(UsualT0, IsOneAtWhichAllPoliciesRun) {
  EXPECT_EQ(shown_T0(study_with({"dow"}, {0, 50, 1000})), 0);
  EXPECT_EQ(shown_T0(study_with({"dow", "frugalgpt"}, {0, 50, 1000})), 50);    // FrugalGPT needs a calibration
  EXPECT_EQ(shown_T0(study_with({"dow", "frugalgpt"}, {0, 10, 20, 50})), 20);  // the largest up to T / 100
  EXPECT_EQ(shown_T0(study_with({"dow", "query_all"}, {1000, 0})), 0);         // a yardstick has no T_0
}

TEST(SeriesOf, SaysWhoseItIsSoThatAPolicyLooksAlikeEverywhere) {
  const Series series = series_of(title("a", "unknown"));
  EXPECT_EQ(series.label, "a, unknown");
  EXPECT_EQ(series.policy, "a");
  EXPECT_EQ(series.reward, "unknown");
}

// Means 2, 3, 4 and standard error 1 / sqrt(3) of base - other.
ComparedRow row(int T0, double shift) {
  ComparedRow out{"", "uniform", "A", T0, 3, {}, {}, {}, {}};
  out.paired = paired_difference({2.0 + shift, 3.0 + shift, 4.0 + shift}, {0.0, 0.0, 0.0});
  return out;
}

TEST(DifferenceFigures, ShowEachPolicyLessTheBase) {
  const std::vector<PolicyTitle> titles = {title("base", "known"), title("x", "known"), title("y", "known")};
  ComparedRow empty = row(7, 0.0);
  empty.paired.n = 0;
  const FigureGroup group = difference_figures(
      {{"base/known", "x/known", {row(0, 0.0), row(50, 1.0), empty}}, {"base/known", "y/known", {row(50, -9.0)}}},
      titles);
  ASSERT_EQ(group.figures.size(), 1u);
  const Figure& figure = group.figures[0];
  EXPECT_EQ(figure.name, "difference-base-known-uniform-A");
  EXPECT_THAT(figure.caption, HasSubstr("less that of base, known"));
  ASSERT_EQ(figure.series.size(), 2u);
  EXPECT_EQ(figure.series[0].label, "x, known");
  EXPECT_THAT(figure.series[0].x, ElementsAre(0.0, 50.0));
  EXPECT_THAT(figure.series[0].y, ElementsAre(-3.0, -4.0));
  EXPECT_THAT(figure.series[1].y, ElementsAre(6.0));
  const double half = 4.30265272991 / std::sqrt(3.0);  // Student's t with two degrees of freedom
  EXPECT_NEAR(figure.series[0].high[0], -3.0 + half, 1e-6);
  EXPECT_NEAR(figure.series[0].low[0], -3.0 - half, 1e-6);
  EXPECT_EQ(figure.series[0].policy, "x");
  EXPECT_FALSE(figure.log_y);
  check(figure);
}

// Each environment and regime has a figure; rows of a setting or without a T_0 have no place on the axis.
TEST(DifferenceFigures, ShowRowsOfOneStudyThatHaveAT0) {
  ComparedRow regime_B = row(50, 1.0), gaussian = row(50, 2.0), setting = row(50, 3.0), any_T0 = row(50, 4.0);
  regime_B.regime = "B";
  gaussian.environment = "gaussian";
  setting.setting = "periods=5";
  any_T0.T0.reset();
  const FigureGroup group = difference_figures(
      {{"base/known", "x/known", {row(50, 0.0), regime_B, gaussian, setting, any_T0}}}, {title("base", "known")});
  std::vector<std::string> names;
  for (const Figure& figure : group.figures) {
    names.push_back(figure.name);
    ASSERT_EQ(figure.series.size(), 1u);
    EXPECT_EQ(figure.series[0].policy, "x");
    EXPECT_EQ(figure.series[0].label, "x/known");  // a policy of another program, which has no title here
    EXPECT_EQ(figure.series[0].x.size(), 1u);
  }
  EXPECT_THAT(names, ElementsAre("difference-base-known-uniform-A", "difference-base-known-uniform-B",
                                 "difference-base-known-gaussian-A"));
  EXPECT_THAT(group.figures[2].caption, HasSubstr("Truncated Gaussian, regime A"));
  EXPECT_TRUE(difference_figures({{"a", "b", {setting, any_T0}}}, {}).figures.empty());
  EXPECT_TRUE(difference_figures({}, {}).figures.empty());
}

}  // namespace
}  // namespace pandora
