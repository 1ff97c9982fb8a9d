// What figures may be, and what readers are told beside them.
#include "host/ground/figures/figure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/host/ground/figures/small_figures.hpp"

namespace pandora {
namespace {

using Kind = Figure::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Change>
void expect_refused(Kind kind, const std::string& part, Change&& change) {
  Figure figure = test::small_figure(kind, "name");
  check(figure);
  change(figure);
  try {
    check(figure);
    ADD_FAILURE() << "accepted; wanted a complaint about " << part;
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(Figure, OfEveryKindIsAccepted) {
  for (const Figure& figure : test::figures_of_every_kind()) EXPECT_NO_THROW(check(figure)) << figure.name;
}

TEST(Figure, HasAtMostSevenCurves) {
  expect_refused(Kind::lines, "8 series, at most 7", [](Figure& f) { f.series.resize(8, f.series[0]); });
  expect_refused(Kind::line_points, "8 series", [](Figure& f) { f.series.resize(8, f.series[0]); });
  Figure figure = test::small_figure(Kind::scatter, "scatter");
  figure.series.resize(12, figure.series[0]);
  EXPECT_NO_THROW(check(figure));
  expect_refused(Kind::scatter, "16 series", [](Figure& f) { f.series.resize(16, f.series[0]); });
}

TEST(Figure, ThatContradictsItselfIsRefused) {
  expect_refused(Kind::lines, "has no series", [](Figure& f) { f.series.clear(); });
  for (const char* name : {"", "../up", "a b", "a'b", "ü"})
    expect_refused(Kind::lines, "letters, digits", [&](Figure& f) { f.name = name; });
  expect_refused(Kind::lines, "3 x, 4 y", [](Figure& f) { f.series[1].x.pop_back(); });
  expect_refused(Kind::lines, "intervals of another length", [](Figure& f) { f.series[1].low.pop_back(); });
  expect_refused(Kind::lines, "intervals of another length", [](Figure& f) { f.series[1].high.clear(); });
  expect_refused(Kind::lines, "only a scatter",
                 [](Figure& f) { f.series[1].x_low = f.series[1].x_high = f.series[1].x; });
  expect_refused(Kind::lines, "a line in place of markers", [](Figure& f) {
    f.series[1].line = true;
    f.series[1].low.clear();
    f.series[1].high.clear();
  });
  expect_refused(Kind::scatter, "a line in place of markers", [](Figure& f) { f.series[1].line = true; });
  expect_refused(Kind::lines, "diagonal", [](Figure& f) { f.diagonal = true; });
  expect_refused(Kind::scatter, "diagonal", [](Figure& f) { f.diagonal = f.log_x = true; });
  expect_refused(Kind::lines, "stacked", [](Figure& f) { f.stacked = true; });
  expect_refused(Kind::bars, "stacked", [](Figure& f) { f.stacked = f.log_y = true; });
  expect_refused(Kind::bars, "no logarithm", [](Figure& f) { f.log_x = true; });
  expect_refused(Kind::bars, "0 x, 4 y and 3 categories", [](Figure& f) { f.categories.pop_back(); });
  expect_refused(Kind::bars, "width", [](Figure& f) { f.width_cm = 0; });
}

TEST(Figure, MarksStandBesideEachPointOfAScatter) {
  Figure figure = test::small_figure(Kind::scatter, "f");
  figure.series[0].marks = {"1", "2", "", "3"};
  EXPECT_NO_THROW(check(figure));
  expect_refused(Kind::scatter, "1 marks of its 4", [](Figure& f) { f.series[0].marks = {"1"}; });
  expect_refused(Kind::lines, "only a scatter", [](Figure& f) { f.series[0].marks.resize(4); });
}

TEST(Figure, SpansADecadeByPositiveValues) {
  EXPECT_TRUE(spans_a_decade({0, 1, 10}));
  EXPECT_FALSE(spans_a_decade({1, 9.9}));
  EXPECT_FALSE(spans_a_decade({-1, 1, 10}));
  EXPECT_FALSE(spans_a_decade({0}));
  EXPECT_FALSE(spans_a_decade({}));
}

TEST(FigureNotes, AreNoneWhereAllIsShown) {
  EXPECT_THAT(figure_notes(test::small_figure(Kind::lines, "f")), ElementsAre());
}

TEST(FigureNotes, SayWhatALogarithmicAxisCannotShow) {
  Figure figure = test::small_figure(Kind::lines, "f");
  figure.log_y = true;
  EXPECT_THAT(figure_notes(figure), ElementsAre(HasSubstr("left out: 1 of DOW; 1 of oracle"),
                                                HasSubstr("end at the edge of the axes: DOW; oracle")));
}

TEST(FigureNotes, SayWhereZeroStands) {
  Figure figure = test::small_figure(Kind::lines, "f");
  figure.log_x = true;
  EXPECT_THAT(figure_notes(figure), ElementsAre(HasSubstr("Zero has a place of its own")));
}

TEST(FigureNotes, SayThatMarkersAreSetApart) {
  Figure figure = test::small_figure(Kind::line_points, "f");
  EXPECT_THAT(figure_notes(figure), ElementsAre(HasSubstr("slightly apart")));
  figure.series.pop_back();
  EXPECT_THAT(figure_notes(figure), ElementsAre());
}

}  // namespace
}  // namespace pandora
