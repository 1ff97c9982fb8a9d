#include <gmock/gmock.h>

#include "host/studies/results/other_tables.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;

SummaryRow row(const char* regime, const char* environment, int T0, const char* policy, const char* reward,
               double regret) {
  SummaryRow out;
  out.regime = regime;
  out.environment = environment;
  out.T0 = T0;
  out.policy = policy;
  out.reward = reward;
  out.regret = {regret, 0.1};
  const double shares[] = {0.5, 0.25, 0.15, 0.1};
  for (int k = 0; k < kCountOfParts; ++k) out.parts[k] = {shares[k] * regret, 0.1};
  out.replications = 10;
  out.best = true;
  return out;
}

std::vector<std::string> texts(const Row& row) {
  std::vector<std::string> out;
  for (const Cell& cell : row.cells) out.push_back(cell.text);
  return out;
}

SettingSummary made_up() {
  SettingSummary s;
  s.summary.rows = {row("A", "uniform", 0, "dow", "known", 8.0),    row("A", "gaussian", 0, "dow", "known", 4.0),
                    row("A", "uniform", 0, "mine", "known", 2.0),   row("A", "gaussian", 0, "mine", "known", 3.0),
                    row("A", "uniform", 0, "mine", "unknown", 5.0), row("B", "uniform", 0, "mine", "known", 1.0)};
  s.summary.rows[0].published = PublishedValue{10.0, 0.1};
  SummaryRow worse = s.summary.rows[2];  // another hyperparameter
  worse.best = false;
  worse.regret.mean = 100.0;
  s.summary.rows.push_back(worse);
  return s;
}

// A custom environment, for which the paper has no values.
TEST(OverviewTable, HasNoColumnOfPublishedValuesWhereThereAreNone) {
  SettingSummary s = made_up();
  s.summary.rows[0].published.reset();
  const Table table = overview_table({s}, "dow");
  EXPECT_EQ(table.columns.back(), "of dow");
  for (const Row& row : table.rows) EXPECT_TRUE(row.cells.empty() || row.cells.size() == table.columns.size());
}

TEST(OverviewTable, HasMeansPartsAndRatios) {
  const Table table = overview_table({made_up()}, "dow");
  ASSERT_EQ(table.rows.size(), 6u);
  EXPECT_EQ(table.rows[0].heading, "regime A");
  EXPECT_THAT(texts(table.rows[1]), ElementsAre("DOW, known", "2", "6.00 (4.00 to 8.00)", "3.00", "1.50", "0.90",
                                                "0.60", "1.00 (1.00 to 1.00)", "0.80"));
  EXPECT_THAT(texts(table.rows[2]), ElementsAre("mine, known", "2", "2.50 (2.00 to 3.00)", "1.25", "0.62", "0.38",
                                                "0.25", "0.50 (0.25 to 0.75)", "0.20"));
  EXPECT_EQ(table.rows[2].cells[7].exact, "0.5");
  // The same reward would be compared, but DOW has no such row.
  EXPECT_THAT(texts(table.rows[3]),
              ElementsAre("mine, unknown", "1", "5.00", "2.50", "1.25", "0.75", "0.50", "---", "---"));
  EXPECT_EQ(table.rows[4].heading, "regime B");
  EXPECT_EQ(table.rows[5].cells[0].text, "mine, known");
}

TEST(OverviewTable, NeedsNoBaseAndSaysNothingOfWhatIsNotThere) {
  SettingSummary s = made_up();
  s.setting.varied = {{"periods", "10"}};
  s.summary.rows[0].regret.mean = std::numeric_limits<double>::quiet_NaN();
  const Table table = overview_table({s}, "");
  EXPECT_EQ(table.columns.back(), "wrong deployment");
  EXPECT_EQ(table.rows[0].heading, "periods=10, regime A");
  EXPECT_EQ(table.rows[1].cells[2].text, "---");
  for (const Row& r : table.rows) EXPECT_EQ(r.cells.size(), r.heading.empty() ? table.columns.size() : 0);
  EXPECT_TRUE(overview_table({{}}, "dow").rows.empty());
}

}  // namespace
}  // namespace pandora
