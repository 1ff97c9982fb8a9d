// Data and scripts as text.
#include "host/ground/figures/gnuplot_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "host/ground/figures/figure_layout.hpp"
#include "tests/host/ground/figures/small_figures.hpp"

namespace pandora {
namespace {

using Kind = Figure::Kind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(WrappedLines, BreaksBetweenWords) {
  EXPECT_THAT(wrapped_lines("Online Plug-in Weitzman", 14), ElementsAre("Online Plug-in", "Weitzman"));
  EXPECT_THAT(wrapped_lines("Online Plug-in Weitzman", 3), ElementsAre("Online", "Plug-in", "Weitzman"));
  EXPECT_THAT(wrapped_lines("ρ̂ ρ̂ ρ̂", 5), ElementsAre("ρ̂ ρ̂ ρ̂"));  // columns of a terminal, not bytes
  EXPECT_THAT(wrapped_lines("", 10), ElementsAre());
}

TEST(GnuplotText, QuotesWhatGnuplotWouldReplaceOrRun) {
  EXPECT_EQ(gnuplot_text({"It's `id` @x"}), "'It'.\"'\".'s `id` @x'");
  EXPECT_EQ(gnuplot_text({"a", "b"}), "'a'.\"\\n\".'b'");
  EXPECT_EQ(gnuplot_text({"a\nsystem('id')"}), "'a system('.\"'\".'id'.\"'\".')'");
  EXPECT_EQ(gnuplot_text({}), "''");
}

TEST(FigureData, HasABlockPerSeriesAndNamesItsColumns) {
  Figure figure = test::small_figure(Kind::lines, "regret");
  figure.series[1].low.clear();
  figure.series[1].high.clear();
  figure.series[0].y[2] = NAN;
  EXPECT_EQ(figure_data(figure),
            "# regret.dat: the data of regret.gp, Title of regret\n"
            "# column 1: x: period t\n"
            "# column 2: y: regret ± 95%\n"
            "# column 3: lower end of the interval of regret ± 95%\n"
            "# column 4: upper end of the interval of regret ± 95%\n"
            "# index 0: DOW\n"
            "0\t-1\t-2\t1\n10\t2\t-1\t3\n100\tNaN\t3\t5\n1000\t8\t7\t9\n"
            "\n\n# index 1: oracle\n"
            "0\t-0.5\tNaN\tNaN\n10\t2.5\tNaN\tNaN\n100\t4.5\tNaN\tNaN\n1000\t8.5\tNaN\tNaN\n");
}

TEST(FigureData, OfScattersHasIntervalsBothWays) {
  EXPECT_THAT(
      figure_data(test::small_figure(Kind::scatter, "f")),
      AllOf(HasSubstr("# column 6: upper end of the interval of period t\n"), HasSubstr("10\t2\t-1\t3\t9\t11\n")));
}

TEST(FigureData, OfStackedBarsStartsEachPartWhereTheLastEnds) {
  Figure figure = test::small_figure(Kind::bars, "bars");
  for (Series& series : figure.series) series.low = series.high = {};
  figure.stacked = true;
  EXPECT_THAT(figure_data(figure),
              AllOf(HasSubstr("# category 4: 10% more\n"), HasSubstr("# index 0: DOW\n1\t0\t-1\n2\t0\t2\n"),
                    HasSubstr("# index 1: oracle\n1\t-1\t-1.5\n2\t2\t4.5\n")));
  figure.stacked = false;
  EXPECT_THAT(figure_data(figure), HasSubstr("# index 1: oracle\n1\t0\t-0.5\n2\t0\t2.5\n"));
}

// An empty block would not count for gnuplot's index.
TEST(FigureData, OfAnEmptySeriesHasARow) {
  Figure figure = test::small_figure(Kind::lines, "f");
  figure.series[0] = {.label = "nothing finished", .x = {}, .y = {}, .low = {}, .high = {}, .x_low = {}, .x_high = {}};
  EXPECT_THAT(figure_data(figure), HasSubstr("# index 0: nothing finished\nNaN\tNaN\tNaN\tNaN\n"));
}

TEST(FigureScript, IsTheSameForTheSameFigureAndNamesNoFolder) {
  for (const Figure& figure : test::figures_of_every_kind()) {
    EXPECT_EQ(figure_script(figure), figure_script(figure));
    EXPECT_EQ(figure_data(figure), figure_data(figure));
    EXPECT_THAT(figure_script(figure), Not(HasSubstr("/tmp")));
  }
}

TEST(FigureScript, RefusesWhatCheckRefuses) {
  Figure figure = test::small_figure(Kind::lines, "f");
  figure.series.resize(8, figure.series[0]);
  EXPECT_THROW(figure_script(figure), std::logic_error);
}

TEST(FigureScript, TellsCurvesApartWithoutColour) {
  Figure figure = test::small_figure(Kind::lines, "f");
  figure.series.resize(7, figure.series[0]);
  const std::string script = figure_script(figure);
  std::vector<std::string> dashes, markers;
  for (int i = 1; i <= 7; ++i) {
    const std::size_t at = script.find("set style line " + std::to_string(i) + " ");
    ASSERT_NE(at, script.npos);
    const std::string line = script.substr(at, script.find('\n', at) - at);
    const std::size_t dash = line.find(" dt "), marker = line.find(" pt ");
    dashes.push_back(line.substr(dash, marker - dash));
    markers.push_back(line.substr(marker, line.find(" ps ") - marker));
  }
  std::sort(dashes.begin(), dashes.end());
  std::sort(markers.begin(), markers.end());
  EXPECT_EQ(std::unique(dashes.begin(), dashes.end()), dashes.end());
  EXPECT_EQ(std::unique(markers.begin(), markers.end()), markers.end());
}

TEST(FigureScript, OfAScatterDrawsLinesWhereTheyAreAskedFor) {
  Figure figure = test::small_figure(Kind::scatter, "f");
  Series& line = figure.series[1];
  line.line = true;
  for (std::vector<double>* ends : {&line.low, &line.high, &line.x_low, &line.x_high}) ends->clear();
  const std::string script = figure_script(figure);
  EXPECT_THAT(script, HasSubstr("with points ls 1"));
  EXPECT_THAT(script, HasSubstr("with lines ls 2"));
  EXPECT_THAT(script, HasSubstr("nohead ls 2"));                  // its sample in the legend
  EXPECT_THAT(script, testing::Not(HasSubstr("nohead ls 1\n")));  // that of the markers has none
}

TEST(FigureScript, LeavesOutAndClipsWhatALogarithmicAxisCannotShow) {
  Figure figure = test::small_figure(Kind::lines, "f");
  EXPECT_THAT(figure_script(figure), Not(HasSubstr("shown(")));
  figure.log_y = figure.log_x = true;
  EXPECT_THAT(figure_script(figure),
              AllOf(HasSubstr("shown(y) = y > 0 ? y : NaN"), HasSubstr("clipped(y) = y > edge ? y : edge"),
                    HasSubstr("place(x) = x > 0 ? x : x == 0 ? zero : NaN"), HasSubstr("'0' 1,"),
                    HasSubstr("using (place($1)):(clipped($3)):(clipped($4)) with filledcurves"),
                    HasSubstr("using (place($1)):(shown($2)) with linespoints")));
}

TEST(FigureLayout, HasTheLegendBelowTheAxesWithinThePage) {
  Figure figure = test::small_figure(Kind::lines, "f");
  figure.series.resize(7, figure.series[0]);
  for (int i = 0; i < 7; ++i) figure.series[i].label = "Online Plug-in Weitzman " + std::string(5 * i, 'x');
  figure.series[6].label = "a label that is much longer than the page of one column is wide, so that it must be broken";
  for (const double width : {8.5, 17.}) {
    figure.width_cm = width;
    const FigureLayout layout = figure_layout(figure);
    ASSERT_EQ(layout.legend.size(), 7u);
    double last = layout.below_cm;
    for (const LegendEntry& entry : layout.legend) {
      EXPECT_GE(entry.x_cm, 0.1);
      EXPECT_LT(entry.x_cm, width / 2);
      EXPECT_LT(entry.y_cm, last);
      EXPECT_GT(entry.y_cm, 0.1);
      last = entry.y_cm;
    }
  }
  figure.width_cm = 8.5;
  EXPECT_EQ(figure_layout(figure).legend[6].lines.size(), 2u);
}

TEST(FigureLayout, HasShortLabelsInColumns) {
  const FigureLayout layout = figure_layout(test::small_figure(Kind::lines, "f"));
  EXPECT_EQ(layout.legend[0].y_cm, layout.legend[1].y_cm);
  EXPECT_LT(layout.legend[0].x_cm, layout.legend[1].x_cm);
}

TEST(FigureLayout, LaysBarsWhereTheirNamesDoNotFitBelow) {
  EXPECT_FALSE(figure_layout(test::small_figure(Kind::bars, "f")).horizontal);
  const FigureLayout lying = figure_layout(test::figures_of_every_kind().back());
  EXPECT_TRUE(lying.horizontal);
  EXPECT_EQ(lying.x_label, std::vector<std::string>{"regret ± 95%"});
}

}  // namespace
}  // namespace pandora
