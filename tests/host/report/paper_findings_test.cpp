// The paper's findings as statements, on regrets that are made to agree or not; the price of an unknown reward.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "host/ground/statistics/statistics.hpp"
#include "tests/host/report/made_up_panels.hpp"

namespace pandora {
namespace {

constexpr std::size_t kPanelReplications = 40;

// All rows at T_0 = 0, 50 and 1000 with regrets that scatter by about 0.1 around their means, oracle's utility 500.
Panel panel_of(const std::string& regime, const std::map<std::string, double>& means) {
  std::mt19937_64 random(9);
  Panel panel = test::made_up_panel(random, regime, "uniform", kPanelReplications, {0, 50, 1000});
  std::normal_distribution<double> normal(0.0, 0.1);
  for (RegretEntry& entry : panel.entries) {
    const auto own = means.find(entry.row.name()), at = means.find(entry.row.name() + " " + std::to_string(entry.T0));
    const double mean = at != means.end() ? at->second : own != means.end() ? own->second : 100.0;
    entry.choices.assign(1, std::vector<double>(kPanelReplications));
    for (double& value : entry.choices[0]) value = mean + normal(random);
    entry.choose();
  }
  for (double& utility : panel.utility) utility = 500.0 + normal(random);
  return panel;
}

// What the paper says, in both regimes.
const std::map<std::string, double> kAsInThePaper = {
    {"online_plugin/known", 9.0}, {"online_plugin/unknown", 9.3},    {"dow/known", 7.0},
    {"dow/unknown", 7.3},         {"online_plugin/known 1000", 5.6}, {"online_plugin/unknown 1000", 5.8},
    {"dow/known 1000", 5.0},      {"dow/unknown 1000", 5.2},         {"static_plugin", 60.0},
    {"frugalgpt/known 50", 30.0}, {"frugalgpt/known 1000", 6.0}};

std::map<std::string, double> with(std::map<std::string, double> means, const std::map<std::string, double>& changes) {
  for (const auto& [name, mean] : changes) means[name] = mean;
  return means;
}

Finding finding(const std::vector<Finding>& all, const std::string& label) {
  for (const Finding& f : all)
    if (f.label() == label) return f;
  ADD_FAILURE() << "no finding " << label;
  return all.front();
}

std::vector<std::size_t> counts(const std::vector<Finding>& all, const std::string& label) {
  const Finding f = finding(all, label);
  return {f.cells.size(), f.count(Holds::yes), f.count(Holds::open), f.count(Holds::no)};
}

TEST(PaperFindings, HoldWhereTheyAreMadeTo) {
  std::map<std::string, double> in_b = with(kAsInThePaper, {{"frugalgpt/known 1000", 20.0},
                                                            {"online_plugin/known", 7.1},
                                                            {"online_plugin/unknown", 7.4},
                                                            {"online_plugin/known 1000", 5.1},
                                                            {"online_plugin/unknown 1000", 5.3}});
  Panel b = panel_of("B", in_b);
  b.order = {std::vector<double>(kPanelReplications, 2.0), std::vector<double>(kPanelReplications, 0.9),
             std::vector<double>(kPanelReplications, 0.1)};
  b.order[0][3] = 3.0;
  const std::vector<Finding> all = paper_findings({panel_of("A", kAsInThePaper), b});
  using Counts = std::vector<std::size_t>;
  // In regime A at T_0 = 1000 FrugalGPT (6.0) is above the worst online policy (5.8).
  EXPECT_EQ(counts(all, "1a"), (Counts{6, 6, 0, 0}));
  EXPECT_EQ(counts(all, "2"), (Counts{4, 4, 0, 0}));
  EXPECT_EQ(counts(all, "3a"), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(counts(all, "3b"), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(counts(all, "3c"), (Counts{2, 2, 0, 0}));
  EXPECT_EQ(counts(all, "3d"), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(counts(all, "4a"), (Counts{6, 6, 0, 0}));
  EXPECT_EQ(counts(all, "4b"), (Counts{2, 2, 0, 0}));
  EXPECT_EQ(counts(all, "5"), (Counts{12, 12, 0, 0}));
  EXPECT_EQ(counts(all, "6a"), (Counts{6, 6, 0, 0}));
  EXPECT_EQ(counts(all, "6b"), (Counts{4, 4, 0, 0}));
  EXPECT_EQ(counts(all, "6c"), (Counts{6, 6, 0, 0}));
  for (const Finding& f : all)
    for (const FindingCell& cell : f.cells)
      if (f.label() != "1b") {
        EXPECT_TRUE(cell.mean_agrees) << f.label() << " " << cell.cell;
      }
  // Static Plug-in at 60 is below LinUCB at 100, and above FrugalGPT.
  EXPECT_EQ(counts(all, "1b"), (Counts{4, 0, 0, 4}));
}

TEST(PaperFindings, FailAndStayOpenWhereTheyAreMadeTo) {
  const std::vector<Finding> all = paper_findings({panel_of(
      "A", with(kAsInThePaper, {{"linucb_online 0", 8.0},        // below the plug-in, above DOW
                                {"frugalgpt/known 1000", 12.0},  // more than 1.5 times DOW's 5.0
                                {"frugalgpt/known 50", 9.32},    // less than 1.5 times the worst online policy's 9.3
                                {"dow/unknown", 7.85},           // 0.85 = 0.17% of 500 above the known one: open
                                {"dow/known 1000", 5.58}}))});   // level with the plug-in: open
  using Counts = std::vector<std::size_t>;
  EXPECT_EQ(counts(all, "1a"), (Counts{3, 1, 1, 1}));  // T_0 = 1000 holds, 50 is open
  EXPECT_EQ(counts(all, "2"), (Counts{2, 2, 0, 0}));
  EXPECT_EQ(counts(all, "3a"), (Counts{1, 0, 0, 1}));
  EXPECT_EQ(counts(all, "3b"), (Counts{1, 0, 0, 1}));
  EXPECT_EQ(counts(all, "4a"), (Counts{3, 2, 0, 1}));
  EXPECT_EQ(counts(all, "5"), (Counts{6, 4, 2, 0}));
  EXPECT_EQ(counts(all, "6a"), (Counts{6, 5, 1, 0}));
  const FindingCell cell = finding(all, "1a").cells.at(0);
  EXPECT_EQ(cell.cell, "A uniform, T0=0");
  EXPECT_EQ(cell.compared, "online_plugin/unknown less linucb_online");
  EXPECT_NEAR(cell.difference.mean, 1.3, 0.1);
}

// What is shown is the paired difference with Student's t, and the published means are the paper's own.
TEST(PaperFindings, DifferencesArePaired) {
  const Panel panel = panel_of("A", kAsInThePaper);
  const Finding ahead = finding(paper_findings({panel}), "6a");
  const FindingCell& cell = ahead.cells.at(0);
  const PairedDifference expected =
      paired_difference(panel.find("dow/known", 0)->regrets(), panel.find("online_plugin/known", 0)->regrets());
  EXPECT_NEAR(cell.difference.mean, expected.difference.mean, 1e-12);
  EXPECT_NEAR(cell.difference.half_width_95, expected.difference.half_width_95, 1e-12);
  EXPECT_EQ(cell.published, std::optional(true));  // 7.59 < 9.31
  // 0.86 of 522.53 is below 0.17%.
  for (const FindingCell& price : finding(paper_findings({panel}), "5").cells)
    EXPECT_EQ(price.published, std::optional(true)) << price.cell;
}

TEST(PaperFindings, ByTheirMeansThePublishedNumbersAgreeAsTheyDo) {
  std::vector<Panel> panels;
  std::mt19937_64 random(10);
  for (const char* regime : {"A", "B"})
    for (const char* environment : {"uniform", "gaussian", "student_t5"})
      panels.push_back(test::made_up_panel(random, regime, environment, 4));
  const auto published = [&](const std::string& label) {
    std::size_t agree = 0;
    for (const FindingCell& cell : finding(paper_findings(panels), label).cells) agree += *cell.published ? 1 : 0;
    return std::to_string(agree) + " of " + std::to_string(finding(paper_findings(panels), label).cells.size());
  };
  // Counted by hand in Tables 1 and 2.
  EXPECT_EQ(published("5"), "48 of 48");
  EXPECT_EQ(published("6a"), "24 of 24");
  EXPECT_EQ(published("4a"), "24 of 24");
  EXPECT_EQ(published("3a"), "3 of 3");
  // The worst online policy has 6.13, 5.40, 6.80 in A at T_0 = 1000, FrugalGPT 5.55, 6.20, 5.13.
  EXPECT_EQ(published("1a"), "22 of 24");
}

// The price over the cells of a regime, its errors from replications whose T_0 share draws.
TEST(PriceOfUnknown, IsTheMeanOverCellsWithErrorsByReplication) {
  std::mt19937_64 random(11);
  const Panel one = test::made_up_panel(random, "A", "uniform", 100),
              two = test::made_up_panel(random, "A", "gaussian", 80);
  const std::vector<PriceOfUnknown> prices = prices_of_unknown({one, two});
  ASSERT_EQ(prices.size(), 2u);
  const PriceOfUnknown& price = prices[0];
  EXPECT_EQ(price.policy, "online_plugin");
  EXPECT_EQ(price.cells, 8u);
  double mean = 0.0, variance = 0.0, published = 0.0, theirs = 0.0;
  for (const Panel* panel : {&one, &two}) {
    std::vector<double> by_replication(panel->n());
    for (const int T0 : {0, 50, 100, 1000}) {
      for (std::size_t r = 0; r < panel->n(); ++r)
        by_replication[r] += (panel->find("online_plugin/unknown", T0)->regrets()[r] -
                              panel->find("online_plugin/known", T0)->regrets()[r]) /
                             8.0;
      published += (published_regret("A", panel->environment, T0, "online_plugin", "unknown")->value -
                    published_regret("A", panel->environment, T0, "online_plugin", "known")->value) /
                   8.0;
    }
    const Estimate e = estimate(by_replication);
    mean += e.mean;
    variance += std::pow(e.half_width_95, 2);
    theirs += std::pow(e.half_width_95, 2) * static_cast<double>(panel->n()) / 50.0;
  }
  EXPECT_NEAR(price.ours.mean, mean, 1e-9);
  EXPECT_NEAR(price.ours.half_width_95, std::sqrt(variance), 1e-9);
  EXPECT_NEAR(price.published->mean, published, 1e-9);
  EXPECT_NEAR(price.published->half_width_95, std::sqrt(theirs), 1e-9);
  EXPECT_NEAR(price.z, 1.96 * (mean - published) / std::sqrt(variance + theirs), 1e-9);
  EXPECT_NEAR(price.p, std::erfc(std::abs(price.z) / std::sqrt(2.0)), 1e-12);
  // Of a horizon that is not the paper's there is no published price.
  Panel other = one;
  other.comparable = false;
  EXPECT_FALSE(prices_of_unknown({other})[0].published.has_value());
  EXPECT_TRUE(std::isnan(prices_of_unknown({other})[0].z));
}

}  // namespace
}  // namespace pandora
