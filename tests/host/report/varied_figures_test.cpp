// Regret against the keys that vary, on made-up summaries.
#include <gmock/gmock.h>

#include "host/report/report.hpp"
#include "tests/host/report/found_figures.hpp"

namespace pandora {
namespace {

using test::figure_named;
using test::figure_names;
using test::labels;
using testing::ElementsAre;
using testing::HasSubstr;

SummaryRow best_row(const std::string& policy, const std::string& reward, double regret, int T0 = 7) {
  SummaryRow row;
  row.regime = "A";
  row.environment = "uniform";
  row.T0 = T0;
  row.policy = policy;
  row.reward = reward;
  row.replications = 4;
  row.regret = {regret, 0.5};
  row.best = true;
  return row;
}

SettingSummary setting_of(std::vector<std::pair<std::string, std::string>> varied, std::vector<SummaryRow> rows) {
  SettingSummary out;
  out.setting.varied = std::move(varied);
  out.summary.rows = std::move(rows);
  out.summary.oracle.push_back({"A", "uniform", 0.2, {500.0, 1.0}, {1.5, 0.1}, {}});
  return out;
}

TEST(VariedFigures, NumbersAreALine) {
  SummaryRow worse = best_row("dow", "known", 99.0), elsewhere = best_row("dow", "known", 98.0);
  worse.best = false;
  elsewhere.regime = "B";
  const std::vector<FigureGroup> groups = varied_figures(
      {setting_of({{"periods", "100"}}, {worse, best_row("dow", "known", 8.0), best_row("dow", "unknown", 9.0)}),
       setting_of({{"periods", "1e3"}}, {best_row("dow", "known", 4.0, 0), elsewhere, best_row("dow", "known", 3.0)})},
      7);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].heading, "Uniform, regime A");
  EXPECT_THAT(figure_names(groups), ElementsAre("vary-1-known-uniform-A", "vary-1-unknown-uniform-A"));
  const Figure known = figure_named(groups, "vary-1-known-uniform-A");
  EXPECT_EQ(known.kind, Figure::Kind::line_points);
  EXPECT_TRUE(known.log_x);
  EXPECT_FALSE(known.log_y);  // 3 to 8
  EXPECT_EQ(known.x_label, "horizon T (periods)");
  EXPECT_EQ(known.x_key, "periods");
  EXPECT_THAT(known.caption,
              HasSubstr("against periods of policies that see μ*, T₀ = 7, with 95% intervals. A = 3, d_x = 100, "));
  EXPECT_THAT(labels(known), ElementsAre("DOW, known"));
  EXPECT_THAT(known.series[0].x, ElementsAre(100.0, 1000.0));
  EXPECT_THAT(known.series[0].y, ElementsAre(8.0, 3.0));
  EXPECT_THAT(known.series[0].low, ElementsAre(7.5, 2.5));
  const Figure unknown = figure_named(groups, "vary-1-unknown-uniform-A");
  EXPECT_THAT(labels(unknown), ElementsAre("DOW, unknown"));
  EXPECT_THAT(unknown.series[0].x, ElementsAre(100.0));  // it has no row in the other setting
  check(known);
}

TEST(VariedFigures, WordsAreBarsOfPoliciesThatHaveThemAll) {
  const std::vector<FigureGroup> groups =
      varied_figures({setting_of({{"estimation.refit", "tracking"}},
                                 {best_row("dow", "known", 8.0), best_row("online_plugin", "known", 9.0)}),
                      setting_of({{"estimation.refit", "7"}}, {best_row("dow", "known", 4.0)})},
                     7);
  const Figure figure = figure_named(groups, "vary-1-known-uniform-A");
  EXPECT_EQ(figure.kind, Figure::Kind::bars);
  EXPECT_FALSE(figure.log_x || figure.log_y);
  EXPECT_EQ(figure.x_label, "When index estimates are solved (estimation.refit)");
  EXPECT_THAT(figure.categories, ElementsAre("tracking", "7"));
  EXPECT_THAT(labels(figure), ElementsAre("DOW, known"));  // the plug-in is not there with both
  EXPECT_THAT(figure.series[0].y, ElementsAre(8.0, 4.0));
  EXPECT_THAT(figure.series[0].high, ElementsAre(8.5, 4.5));
  EXPECT_THAT(figure.caption, HasSubstr("T₀ = 7, with 95% intervals. A = 3, d_x = 100, "));
  check(figure);
}

// Scenarios are names, also where these are numbers; a size that one of them replaces is not told of all.
TEST(VariedFigures, ScenariosAreBars) {
  std::vector<SettingSummary> settings = {setting_of({{"scenario", "1"}}, {best_row("dow", "known", 8.0)}),
                                          setting_of({{"scenario", "2"}}, {best_row("dow", "known", -4.0)})};
  settings[1].setting.study.periods = 5;
  const Figure figure = figure_named(varied_figures(settings, 7), "vary-1-known-uniform-A");
  EXPECT_EQ(figure.kind, Figure::Kind::bars);
  EXPECT_EQ(figure.x_label, "scenario");
  EXPECT_THAT(figure.categories, ElementsAre("1", "2"));
  EXPECT_THAT(figure.series[0].low, ElementsAre(7.5, -4.5));
  EXPECT_THAT(figure.caption, HasSubstr("against scenario of policies that see μ*"));
  EXPECT_THAT(figure.caption, testing::Not(HasSubstr("T = ")));
  check(figure);
}

// The first setting has the first values; others are shown against one key if they differ from it in that key alone.
TEST(VariedFigures, OtherKeysStandAtTheirFirstValues) {
  const auto at = [](const char* periods, const char* eta, double regret) {
    return setting_of({{"periods", periods}, {"estimation.eta_index", eta}}, {best_row("dow", "known", regret)});
  };
  const std::vector<FigureGroup> groups =
      varied_figures({at("100", "1", 1.0), at("100", "2", 2.0), at("200", "1", 3.0), at("200", "2", 4.0)}, 7);
  const Figure periods = figure_named(groups, "vary-1-known-uniform-A"),
               eta = figure_named(groups, "vary-2-known-uniform-A");
  EXPECT_THAT(periods.series.at(0).x, ElementsAre(100.0, 200.0));
  EXPECT_THAT(periods.series[0].y, ElementsAre(1.0, 3.0));
  EXPECT_THAT(eta.series.at(0).x, ElementsAre(1.0, 2.0));
  EXPECT_THAT(eta.series[0].y, ElementsAre(1.0, 2.0));
  EXPECT_THAT(eta.caption, HasSubstr("other keys at their first values"));
}

}  // namespace
}  // namespace pandora
