// What the figures of a study are put together from.
#include <gmock/gmock.h>

#include <cmath>

#include "host/report/report.hpp"
#include "host/studies/study/study.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AddPoint, AnUnknownHalfWidthDrawsNoInterval) {
  Series series;
  add_point(series, 3.0, {5.0, 0.25});
  add_point(series, 4.0, {6.0, std::nan("")});
  EXPECT_THAT(series.x, ElementsAre(3.0, 4.0));
  EXPECT_THAT(series.y, ElementsAre(5.0, 6.0));
  EXPECT_THAT(series.low, ElementsAre(4.75, 6.0));
  EXPECT_THAT(series.high, ElementsAre(5.25, 6.0));
}

Figure figure_of(Figure::Kind kind, std::size_t series) {
  Figure figure;
  figure.kind = kind;
  figure.name = "f";
  figure.caption = "Regret.";
  for (std::size_t k = 0; k < series; ++k) {
    figure.series.push_back({.label = "policy " + std::to_string(k + 1)});
    add_point(figure.series.back(), 1.0, {2.0, 0.5});
  }
  return figure;
}

std::vector<Figure> added(const Figure& figure) {
  std::vector<Figure> figures;
  add_if_any(figures, figure);
  return figures;
}

// Nine curves cannot be told apart in grey: the first seven are drawn, and the caption names the others.
TEST(AddIfAny, CurvesThatAreLeftOutAreNamed) {
  for (const Figure::Kind kind : {Figure::Kind::lines, Figure::Kind::line_points}) {
    const std::vector<Figure> figures = added(figure_of(kind, 9));
    ASSERT_EQ(figures.size(), 1u);
    EXPECT_EQ(figures[0].caption, "Regret. The first 7 of 9 policies, left out: policy 8; policy 9.");
    ASSERT_EQ(figures[0].series.size(), 7u);
    EXPECT_EQ(figures[0].series.back().label, "policy 7");
    check(figures[0]);
  }
  EXPECT_EQ(added(figure_of(Figure::Kind::lines, 7))[0].caption, "Regret.");
  EXPECT_EQ(added(figure_of(Figure::Kind::scatter, 9))[0].series.size(), 9u);
}

// A series of no points is none, and does not count among the curves.
TEST(AddIfAny, SeriesWithoutPointsAreDropped) {
  Figure figure = figure_of(Figure::Kind::lines, 8);
  figure.series[2] = {.label = "empty"};
  const std::vector<Figure> figures = added(figure);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].series.size(), 7u);
  EXPECT_EQ(figures[0].caption, "Regret.");
  EXPECT_TRUE(added(figure_of(Figure::Kind::lines, 0)).empty());
  figure.series = {{.label = "empty"}};
  EXPECT_TRUE(added(figure).empty());
}

TEST(ChooseAxes, AreLogarithmicWhereADecadeIsShown) {
  const auto axes = [](std::vector<double> x, std::vector<double> y) {
    Figure figure = figure_of(Figure::Kind::line_points, 1);
    figure.series[0] = {.label = "a", .x = std::move(x), .y = std::move(y)};
    choose_axes(figure);
    return std::pair(figure.log_x, figure.log_y);
  };
  EXPECT_EQ(axes({2, 4, 8}, {5, 6, 49}), std::pair(false, false));  // the boxes 2 to 8 stand on a linear axis
  EXPECT_EQ(axes({0, 50, 1000}, {5, 6, 50}), std::pair(true, true));
  EXPECT_EQ(axes({0, 7, 7}, {0, 6, 60}), std::pair(false, false));
}

TEST(StudySizes, AreSaidWithoutWhatVaries) {
  Study study;
  study.replications = 1;
  EXPECT_EQ(study_sizes(study), " A = 3, d_x = 100, T = 30000, 1 replication.");
  study.replications = 50;
  EXPECT_EQ(study_sizes(study, {"periods", "dimensions.boxes"}), " d_x = 100, 50 replications.");
}

TEST(TitlesShown, AreOfPoliciesThatHaveRows) {
  Summary summary;
  for (const auto& [policy, reward] : {std::pair{"oracle", "known"}, {"frugalgpt", "known"}, {"dow", "unknown"}}) {
    SummaryRow row;
    row.policy = policy;
    row.reward = reward;
    summary.rows.push_back(row);
  }
  std::vector<std::string> briefs;
  for (const PolicyTitle& title : titles_shown(summary)) briefs.push_back(title.brief);
  EXPECT_THAT(briefs, ElementsAre("DOW, unknown", "FrugalGPT, known"));  // as in the tables; the oracle is no policy
}

}  // namespace
}  // namespace pandora
