// The figures of a study on made-up results: what is shown, which T_0, and who is left out.
#include <gmock/gmock.h>

#include <cmath>

#include "host/report/report.hpp"
#include "pandora/error.hpp"
#include "tests/host/report/found_figures.hpp"
#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

using test::by_name;
using test::figure_named;
using test::figure_names;
using test::kFailed;
using test::labels;
using test::series_named;
using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class StudyFigures : public test::MadeUpResults {
 protected:
  // Two replications.
  std::vector<FigureGroup> figures(const std::string& policies, const std::string& more,
                                   const std::map<std::string, std::vector<double>>& utilities,
                                   std::optional<int> T0 = {}) const {
    StoredResults results =
        results_of("replications = 2\n" + study_without_replications(policies, more), by_name(utilities));
    std::vector<FigureGroup> groups = study_figures(results, T0);
    for (const FigureGroup& group : groups)
      for (const Figure& figure : group.figures) check(figure);
    std::filesystem::remove_all(path());
    return groups;
  }
};

const std::map<std::string, std::vector<double>> kOfThree = {
    {"-/oracle/known", {520, 530}},          {"0/online_plugin/known", {512, 521}},
    {"0/online_plugin/unknown", {510, 519}}, {"7/online_plugin/known", {516, 526}},
    {"7/online_plugin/unknown", {515, 525}}, {"7/frugalgpt/known", {490, 500}}};

auto near(double value) {
  return DoubleNear(value, 1e-9);
}

// FrugalGPT needs a calibration: shown is the T_0 at which all run. Where another is asked for, captions say who is not
// there, but for figures in which nobody is missing.
TEST_F(StudyFigures, SayWhichT0TheyShowAndWhoDoesNotRunThere) {
  const std::string policies = "\"online_plugin\", \"frugalgpt\"", left_out = "Without those that do not run";
  const std::vector<FigureGroup> usual = figures(policies, "T0 = [0, 7]\n", kOfThree);
  EXPECT_THAT(figure_named(usual, "curves-known-uniform-A").caption, HasSubstr("T₀ = 7,"));
  EXPECT_THAT(figure_named(usual, "curves-known-uniform-A").caption,
              testing::EndsWith(" A = 3, d_x = 100, T = 100, 2 replications."));
  EXPECT_THAT(labels(figure_named(usual, "curves-known-uniform-A")),
              ElementsAre("Online plug-in, known", "FrugalGPT, known"));
  for (const std::string& name : figure_names(usual))
    EXPECT_THAT(figure_named(usual, name).caption, Not(HasSubstr(left_out)));

  const std::vector<FigureGroup> asked = figures(policies, "T0 = [0, 7]\n", kOfThree, 0);
  EXPECT_THAT(labels(figure_named(asked, "curves-known-uniform-A")), ElementsAre("Online plug-in, known"));
  for (const char* name : {"curves-known-uniform-A", "curves-loglog-known-uniform-A", "quality-cost-uniform-A",
                           "regret-parts-uniform-A", "queries-uniform-A", "deployments-uniform-A", "depth-uniform-A"}) {
    EXPECT_THAT(figure_named(asked, name).caption, HasSubstr("T₀ = 0"));
    EXPECT_THAT(figure_named(asked, name).caption, HasSubstr(left_out + " at this T₀: FrugalGPT, known."));
  }
  EXPECT_THAT(figure_named(asked, "curves-unknown-uniform-A").caption, Not(HasSubstr(left_out)));
  EXPECT_THROW(figures(policies, "T0 = [0, 7]\n", kOfThree, 5), Error);
}

// They do not compare: those that see mu* and those that do not have figures of their own.
TEST_F(StudyFigures, UnknownRewardsStandApartFromKnownOnes) {
  const std::vector<FigureGroup> groups = figures("\"online_plugin\", \"dow\"", "T0 = [0, 7]\n", kOfThree);
  for (const std::string kind : {"curves", "curves-loglog", "t0"})
    for (const std::string knows : {"known", "unknown"})
      for (const std::string& label : labels(figure_named(groups, kind + "-" + knows + "-uniform-A"))) {
        const std::string policy = label.substr(0, label.find(", slope"));
        EXPECT_TRUE(policy.ends_with(", " + knows)) << kind << " " << label;
      }
  EXPECT_THAT(figure_named(groups, "curves-unknown-uniform-A").caption, HasSubstr("that do not see μ*"));
  EXPECT_EQ(series_named(figure_named(groups, "t0-known-uniform-A"), "DOW, known").policy,
            series_named(figure_named(groups, "t0-unknown-uniform-A"), "DOW, unknown").policy);
}

constexpr double kStudent = 12.706204736;  // of two replications

// Regrets 8 and 9 per 1000 periods: their mean is 8.5, their standard error 0.5.
TEST_F(StudyFigures, CurvesAreMeansOverReplicationsWithTheirBands) {
  const std::vector<FigureGroup> groups = figures("\"online_plugin\"", "T0 = [0]\n", kOfThree);
  const Series curve = series_named(figure_named(groups, "curves-known-uniform-A"), "Online plug-in, known");
  EXPECT_EQ(curve.x.front(), 1.0);
  EXPECT_EQ(curve.x.back(), 100.0);
  for (std::size_t k = 0; k < curve.x.size(); ++k) {
    EXPECT_NEAR(curve.y[k], 0.0085 * curve.x[k], 1e-9);
    EXPECT_NEAR(curve.high[k] - curve.y[k], kStudent * 0.0005 * curve.x[k], 1e-9);
    EXPECT_NEAR(curve.y[k] - curve.low[k], kStudent * 0.0005 * curve.x[k], 1e-9);
  }
  EXPECT_THAT(labels(figure_named(groups, "curves-loglog-known-uniform-A")),
              ElementsAre("Online plug-in, known, slope\u00a01.00\u00a0±\u00a00.00"));
}

TEST_F(StudyFigures, OneReplicationHasNoBands) {
  StoredResults results = results_of(
      "replications = 1\n" + study_without_replications("\"online_plugin\"", "T0 = [0, 7]\n"), by_name(kOfThree));
  const std::vector<FigureGroup> groups = study_figures(results, {});
  for (const char* name : {"curves-known-uniform-A", "t0-unknown-uniform-A", "quality-cost-uniform-A"})
    for (const Series& series : figure_named(groups, name).series) {
      EXPECT_EQ(series.low, series.y) << name;
      EXPECT_EQ(series.high, series.y) << name;
      EXPECT_TRUE(series.x_low.empty() || series.x_low == series.x);
    }
}

TEST_F(StudyFigures, RegretAgainstT0IsInOrderAndOnlyOfSeveral) {
  const std::vector<FigureGroup> groups = figures("\"online_plugin\", \"frugalgpt\"", "T0 = [7, 0]\n", kOfThree);
  const Figure figure = figure_named(groups, "t0-known-uniform-A");
  const Series plug_in = series_named(figure, "Online plug-in, known"),
               frugal = series_named(figure, "FrugalGPT, known");
  EXPECT_THAT(plug_in.x, ElementsAre(0.0, 7.0));
  EXPECT_THAT(plug_in.y, ElementsAre(near(8.5), near(4.0)));
  EXPECT_THAT(plug_in.high, ElementsAre(near(8.5 + kStudent * 0.5), near(4.0)));
  EXPECT_THAT(frugal.x, ElementsAre(7.0));
  EXPECT_THAT(frugal.y, ElementsAre(near(30.0)));
  EXPECT_THAT(figure_names(figures("\"online_plugin\"", "T0 = [7]\n", kOfThree)), Not(Contains("t0-known-uniform-A")));
}

// Against the first hyperparameter, the best of the second at each; a lane that failed everywhere has no point.
TEST_F(StudyFigures, HyperparametersShowTheBestOfTheOthers) {
  const std::vector<FigureGroup> groups =
      figures("\"online_plugin\", \"dow\"", "T0 = [0]\n[hyperparameters]\nc_rho = [1, 0.1]\nc_theta = [0.1, 1]\n",
              {{"-/oracle/known", {520, 530}},
               {"0/dow/known/c_rho=0.1", {510, 520}},
               {"0/dow/known/c_rho=1", {kFailed, kFailed}},
               {"0/dow/unknown/c_rho=0.1;c_theta=0.1", {500, 510}},
               {"0/dow/unknown/c_rho=0.1;c_theta=1", {505, 517}},
               {"0/dow/unknown/c_rho=1;c_theta=0.1", {517, 525}},
               {"0/dow/unknown/c_rho=1;c_theta=1", {kFailed, kFailed}}});
  const Figure figure = figure_named(groups, "hyperparameters-uniform-A");
  EXPECT_THAT(labels(figure), ElementsAre("DOW, unknown (c_rho)"));  // the others have no choice, or one point
  EXPECT_THAT(figure.series[0].x, ElementsAre(0.1, 1.0));
  EXPECT_THAT(figure.series[0].y, ElementsAre(near(14.0), near(4.0)));
  EXPECT_NEAR(figure.series[0].high[0], 14.0 + kStudent * 1.0, 1e-9);
}

TEST_F(StudyFigures, QualityIsAgainstCostWithTheOracle) {
  const Figure figure = figure_named(figures("\"online_plugin\"", "T0 = [0]\n", kOfThree), "quality-cost-uniform-A");
  EXPECT_THAT(labels(figure), ElementsAre("Online plug-in, known", "Online plug-in, unknown", "Oracle"));
  const Series known = series_named(figure, "Online plug-in, known");
  EXPECT_THAT(known.x, ElementsAre(near(100.0)));
  EXPECT_THAT(known.y, ElementsAre(near(616.5)));  // utility and cost
  EXPECT_THAT(known.high, ElementsAre(near(616.5 + kStudent * 4.5)));
  EXPECT_THAT(known.x_low, ElementsAre(near(100.0)));
  EXPECT_THAT(series_named(figure, "Oracle").y, ElementsAre(near(625.0)));
}

TEST_F(StudyFigures, APolicyThatFailedEverywhereIsNamedAndNotDrawn) {
  std::map<std::string, std::vector<double>> utilities = kOfThree;
  utilities["0/online_plugin/known"] = {kFailed, kFailed};
  const std::vector<FigureGroup> groups = figures("\"online_plugin\"", "T0 = [0]\n", utilities);
  EXPECT_THAT(figure_names(groups), Not(Contains("curves-known-uniform-A")));
  EXPECT_THAT(labels(figure_named(groups, "curves-unknown-uniform-A")), ElementsAre("Online plug-in, unknown"));
  EXPECT_THAT(figure_named(groups, "quality-cost-uniform-A").caption, HasSubstr(": Online plug-in, known."));
  EXPECT_THAT(figure_named(groups, "depth-uniform-A").categories, ElementsAre("Oracle", "Online plug-in, unknown"));
}

TEST_F(StudyFigures, OfNoReplicationNoPolicyIsDrawn) {
  write(study_of("\"online_plugin\""), by_name({}));
  for (const int r : {0, 1, 2, 3}) forget(r);
  StoredResults results = read();
  for (const FigureGroup& group : study_figures(results, {}))
    for (const Figure& figure : group.figures) {
      check(figure);
      const std::vector<std::string> drawn = figure.kind == Figure::Kind::bars ? figure.categories : labels(figure);
      EXPECT_THAT(drawn, testing::Each("Oracle")) << figure.name;
    }
}

TEST_F(StudyFigures, BarsAreSharesOfThePeriods) {
  write("replications = 2\n" + study_without_replications("\"online_plugin\"", "T0 = [0]\n"), by_name(kOfThree),
        "results", [](const std::string& lane, LaneTally& tally) {
          if (lane != "0/online_plugin/known") return;  // a quarter of the periods opens box 2 after box 1
          tally.queries_of_box[1] = tally.depth[2] = tally.deployments_of_box[1] = 25;
          tally.depth[1] = tally.deployments_of_box[0] = 75;
          tally.regret = {0.3, 0.2, 0.1, 0.25};
        });
  StoredResults results = read();
  const std::vector<FigureGroup> groups = study_figures(results, {});
  const Figure queries = figure_named(groups, "queries-uniform-A"),
               deployments = figure_named(groups, "deployments-uniform-A"),
               depth = figure_named(groups, "depth-uniform-A"), parts = figure_named(groups, "regret-parts-uniform-A");
  const std::vector<std::string> policies = {"Oracle", "Online plug-in, known", "Online plug-in, unknown"};
  for (const Figure& figure : {queries, deployments, depth}) {
    EXPECT_EQ(figure.categories, policies);
    EXPECT_EQ(figure.series.size(), 3u);  // boxes
    EXPECT_EQ(figure.stacked, &figure != &queries && figure.name != queries.name);
  }
  EXPECT_THAT(series_named(queries, "box 1").y, ElementsAre(1.0, 1.0, 1.0));
  EXPECT_THAT(series_named(queries, "box 2").y, ElementsAre(0.0, 0.25, 0.0));
  EXPECT_THAT(series_named(deployments, "box 1").y, ElementsAre(1.0, 0.75, 1.0));
  EXPECT_THAT(series_named(depth, "2 opened").y, ElementsAre(0.0, 0.25, 0.0));
  // x 1000 and per period
  EXPECT_THAT(parts.categories, ElementsAre("Online plug-in, known", "Online plug-in, unknown"));
  EXPECT_THAT(labels(parts), ElementsAre("wrong order", "too early", "too many", "wrong deployment"));
  EXPECT_THAT(series_named(parts, "wrong order").y, ElementsAre(near(3.0), 0.0));
  EXPECT_THAT(series_named(parts, "too early").y, ElementsAre(near(2.0), 0.0));
  EXPECT_THAT(series_named(parts, "wrong deployment").y, ElementsAre(near(2.5), 0.0));
}

TEST_F(StudyFigures, MoreBoxesThanPartsCanBeToldApartHaveNoBars) {
  const std::vector<FigureGroup> groups = figures("\"online_plugin\"", "T0 = [0]\ndimensions.boxes = 13\n", kOfThree);
  EXPECT_THAT(figure_names(groups), Not(Contains("queries-uniform-A")));
  EXPECT_THAT(figure_names(groups), Contains("quality-cost-uniform-A"));
}

TEST_F(StudyFigures, EveryEnvironmentAndRegimeHasItsHeading) {
  StoredResults results = results_of(
      "replications = 1\nperiods = 100\nT0 = [0]\nenvironments = [\"student_t5\", \"gaussian\"]\npolicies = "
      "[\"online_plugin\"]\n[output]\norder = false\ninstances = false\n",
      by_name({}));
  std::vector<std::string> headings;
  for (const FigureGroup& group : study_figures(results, {})) headings.push_back(group.heading);
  EXPECT_THAT(headings, ElementsAre("Truncated Student's t₅, regime A", "Truncated Student's t₅, regime B",
                                    "Truncated Gaussian, regime A", "Truncated Gaussian, regime B"));
}

TEST_F(StudyFigures, WithoutPoliciesThereAreNone) {
  StoredResults results = results_of(
      "replications = 1\nenvironments = [\"uniform\"]\noutput.regret = false\noutput.instances = false\n", by_name({}));
  EXPECT_TRUE(study_figures(results, {}).empty());
}

// The paper's study: its value beside ours, and their difference in joint standard errors.
TEST_F(StudyFigures, PublishedValuesStandAgainstReproducedOnes) {
  StoredResults results = results_of(
      "replications = 2\nperiods = 30000\nT0 = [0]\nenvironments = [\"uniform\"]\nregimes = [\"A\"]\npolicies = "
      "[\"online_plugin\"]\n[output]\norder = false\ninstances = false\n",
      by_name(kOfThree));
  const std::vector<FigureGroup> groups = study_figures(results, {});
  EXPECT_EQ(groups.at(0).heading, "Published against reproduced");
  const Series values = series_named(figure_named(groups, "published-A"), "Online plug-in, known");
  EXPECT_THAT(values.x, ElementsAre(9.31));  // ± 0.35
  EXPECT_THAT(values.x_high, ElementsAre(near(9.66)));
  EXPECT_THAT(values.y, ElementsAre(DoubleNear(8.5, 1e-6)));
  const Series scores = series_named(figure_named(groups, "z-scores-A"), "Online plug-in, known");
  EXPECT_THAT(scores.y, ElementsAre(DoubleNear((8.5 - 9.31) / std::hypot(0.5, 0.35 / 1.96), 1e-6)));
  EXPECT_THAT(figure_names(groups), Not(Contains("published-B")));
}

}  // namespace
}  // namespace pandora
