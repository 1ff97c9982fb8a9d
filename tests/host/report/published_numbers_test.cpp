// The published numbers against made-up replications: naive twins of z, counts and ratios, and coverage.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "tests/host/report/made_up_panels.hpp"

namespace pandora {
namespace {

using test::made_up_panel;

double naive_mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double naive_half_width(const std::vector<double>& values) {
  const double mean = naive_mean(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double n = static_cast<double>(values.size());
  return 1.96 * std::sqrt(squares / (n - 1.0)) / std::sqrt(n);
}

std::vector<std::size_t> from_to(std::size_t first, std::size_t last) {
  std::vector<std::size_t> out(last - first);
  std::iota(out.begin(), out.end(), first);
  return out;
}

TEST(PublishedNumbers, EveryNumberHasItsZ) {
  std::mt19937_64 random(1);
  const Panel panel = made_up_panel(random, "A", "uniform", 60);
  const std::vector<JudgedNumber> numbers = judge(panel, published_panel(panel));
  ASSERT_EQ(numbers.size(), 29u + 2u);  // the paper's regime A, uniform: 29 regrets, utility, boxes
  int inside = 0, regrets = 0;
  for (const JudgedNumber& number : numbers) {
    const std::vector<double>& values = number.kind == NumberKind::regret
                                            ? panel.find(number.row.name(), number.T0)->regrets()
                                        : number.kind == NumberKind::utility ? panel.utility
                                                                             : panel.boxes;
    const double ours = naive_mean(values), own = naive_half_width(values), difference = ours - number.published.value;
    if (number.kind == NumberKind::regret) {
      ++regrets;
      inside += inside_joint_95(ours, own, number.published) ? 1 : 0;
      const std::string reward = number.row.policy == std::string("static_plugin") ? "unknown" : number.row.reward;
      EXPECT_EQ(number.published.value, published_regret("A", "uniform", number.T0, number.row.policy, reward)->value);
      EXPECT_EQ(number.plain.inside, inside_joint_95(ours, own, number.published)) << number.name();
    }
    // The paper gives the boxes without an error: that of 50 replications that scatter as ours.
    const double theirs =
        number.kind == NumberKind::boxes ? own * std::sqrt(60.0 / 50.0) : number.published.half_width_95;
    EXPECT_NEAR(number.plain.ours.mean, ours, 1e-9) << number.name();
    EXPECT_NEAR(number.plain.ours.half_width_95, own, 1e-9) << number.name();
    EXPECT_NEAR(number.plain.z, 1.96 * difference / std::hypot(own, theirs), 1e-9) << number.name();
  }
  EXPECT_EQ(regrets, 29);
  const std::vector<CountVerdict> counts = count_verdicts({panel}, numbers);
  ASSERT_EQ(counts.size(), 4u);
  EXPECT_EQ(counts[0].of, 29u);
  EXPECT_EQ(counts[0].published, inside);
  EXPECT_EQ(counts[2].of, 31u);
  EXPECT_TRUE(counts[0].sets.empty());  // 60 replications make no two sets
}

// The best choice is the one with the least mean, and each set of 50 makes its own.
TEST(PublishedNumbers, ASetOfFiftyChoosesItsOwnHyperparameters) {
  std::mt19937_64 random(2);
  Panel panel = made_up_panel(random, "B", "gaussian", 150, {0});
  RegretEntry& dow = panel.entries.at(2);
  ASSERT_EQ(dow.row.name(), "dow/known");
  for (std::size_t r = 0; r < 150; ++r) {  // 0 is best over all, 1 in the first fifty
    dow.choices[0][r] = r < 50 ? 8.0 : 2.0;
    dow.choices[1][r] = r < 50 ? 5.0 : 4.0;
    dow.choices[2][r] = 9.0;
  }
  dow.choose();
  EXPECT_EQ(dow.best, 0u);
  const Panel few = panel.of(from_to(0, 50));
  EXPECT_EQ(few.find("dow/known", 0)->best, 1u);
  const PublishedPanel set = as_published(few, published_panel(panel));
  EXPECT_NEAR(set.regrets.at(2)->value, 5.0, 1e-12);
  EXPECT_NEAR(set.oracle->utility_x1000.value, std::round(100.0 * naive_mean(few.utility)) / 100.0, 1e-9);
  EXPECT_NEAR(set.regrets.at(0)->half_width_95, std::round(100.0 * naive_half_width(few.entries[0].regrets())) / 100.0,
              1e-9);
}

// A panel's regrets inside, counted from nothing, if the replications in sets `theirs` had been published and those in
// `ours` were ours; without `theirs` the paper's.
int naive_inside(const Panel& panel, const std::function<bool(std::size_t)>& ours,
                 const std::function<bool(std::size_t)>& theirs) {
  int inside = 0;
  for (const RegretEntry& entry : panel.entries) {
    double means[2] = {}, widths[2] = {};
    for (const int side : {0, 1})
      for (const std::vector<double>& choice : entry.choices) {
        std::vector<double> own;
        for (std::size_t r = 0; r < choice.size(); ++r)
          if (side == 0 ? ours(r / 50) : theirs && theirs(r / 50)) own.push_back(choice[r]);
        if (own.empty()) continue;
        if (&choice == &entry.choices[0] || naive_mean(own) < means[side]) {
          means[side] = naive_mean(own);
          widths[side] = naive_half_width(own);
        }
      }
    if (theirs) {
      for (double* number : {&means[1], &widths[1]}) *number = std::round(100.0 * *number) / 100.0;
    } else {
      const PublishedValue published = *published_value(panel, entry);
      means[1] = published.value;
      widths[1] = published.half_width_95;
    }
    inside += std::abs(means[0] - means[1]) <= std::hypot(widths[0], widths[1]) ? 1 : 0;
  }
  return inside;
}

// Sets of 50 in the place of the paper, against all other replications and against one other set.
TEST(PublishedNumbers, CountsOfSetsAreThoseOfTheirTwin) {
  std::mt19937_64 random(3);
  const std::vector<Panel> panels = {made_up_panel(random, "A", "uniform", 170),
                                     made_up_panel(random, "B", "student_t5", 160)};
  std::vector<JudgedNumber> numbers;
  for (const Panel& panel : panels)
    for (JudgedNumber& number : judge(panel, published_panel(panel))) numbers.push_back(std::move(number));
  const std::vector<CountVerdict> counts = count_verdicts(panels, numbers);
  ASSERT_EQ(counts.at(0).sets.size(), 3u);
  ASSERT_EQ(counts.size(), 6u);
  EXPECT_EQ(counts[4].what, "regrets, 50 of ours");
  double paper = 0.0;
  for (std::size_t set = 0; set < 3; ++set) {
    using Sets = std::function<bool(std::size_t)>;
    const Sets own = [set](std::size_t s) { return s == set; }, others = [set](std::size_t s) { return s != set; },
               next = [set](std::size_t s) { return s == (set + 1) % 3; };
    int inside = 0, of_two = 0;
    for (const Panel& panel : panels) {
      inside += naive_inside(panel, others, own);
      of_two += naive_inside(panel, next, own);
      paper += naive_inside(panel, own, {}) / 3.0;
    }
    EXPECT_EQ(counts[0].sets[set], inside) << set;
    EXPECT_EQ(counts[4].sets[set], of_two) << set;
    EXPECT_GT(counts[0].sets_rms_z[set], 0.0);
  }
  EXPECT_NEAR(counts[4].published, paper, 1e-9);
}

// Means of rows: errors of the published numbers move together over T_0, which a sum of independent ones would not see.
TEST(PublishedNumbers, RatiosOfRowsAreCoveredWhereInstancesAreShared) {
  std::mt19937_64 random(4);
  constexpr int kTrials = 300;
  int covered[2] = {}, rows = 0, too_narrow = 0;
  double widths[2] = {};
  for (int trial = 0; trial < kTrials; ++trial) {
    const Panel panel = made_up_panel(random, "A", "gaussian", 200);
    const std::vector<JudgedNumber> numbers =
        judge(panel.of(from_to(50, 200)), as_published(panel.of(from_to(0, 50)), published_panel(panel)));
    const RowVerdict row = row_verdicts(numbers).at(0);  // without a choice of hyperparameters
    ASSERT_EQ(row.cells, 4u);
    ++rows;
    covered[0] += std::abs(row.ratio.mean - 1.0) <= row.ratio.half_width_95 ? 1 : 0;
    covered[1] += std::abs(row.adjusted_ratio.mean - 1.0) <= row.adjusted_ratio.half_width_95 ? 1 : 0;
    widths[0] += row.ratio.half_width_95;
    widths[1] += row.adjusted_ratio.half_width_95;
    double independent = 0.0;  // as if the four cells shared nothing
    for (const JudgedNumber& number : numbers)
      if (number.kind == NumberKind::regret && number.row.name() == "online_plugin/known")
        independent += std::pow(std::hypot(number.plain.ours.half_width_95, number.published.half_width_95) /
                                    (4.0 * number.published.value),
                                2);
    too_narrow += std::abs(row.ratio.mean - 1.0) > std::sqrt(independent) ? 1 : 0;
  }
  // The published half-width is an estimate from 50 replications: t with 49 degrees of freedom takes half a percent.
  const double error = std::sqrt(0.95 * 0.05 / rows);
  for (const int adjusted : {0, 1})
    EXPECT_NEAR(static_cast<double>(covered[adjusted]) / rows, 0.945, 3.0 * error) << adjusted;
  EXPECT_GT(static_cast<double>(too_narrow) / rows, 0.12);
  EXPECT_LT(widths[1], 0.9 * widths[0]);
}

// The header of the sample that was published explains part of its luck: adjusted z scatter as they should.
TEST(PublishedNumbers, AdjustedNumbersHaveZOfVarianceOne) {
  std::mt19937_64 random(5);
  constexpr int kTrials = 400;
  double squares[2] = {};
  for (int trial = 0; trial < kTrials; ++trial) {
    const Panel panel = made_up_panel(random, "A", "uniform", 150, {0});
    const JudgedNumber number =
        judge(panel.of(from_to(50, 150)), as_published(panel.of(from_to(0, 50)), published_panel(panel))).at(0);
    squares[0] += number.plain.z * number.plain.z / kTrials;
    squares[1] += number.adjusted.z * number.adjusted.z / kTrials;
    ASSERT_LT(number.adjusted.published_half_width_95, number.plain.published_half_width_95);
  }
  // z^2 of estimated errors has a mean of about 1 + 2 / 50 and, as 1 for normal z, a standard deviation of sqrt(2).
  for (const double mean : squares) EXPECT_NEAR(mean, 1.04, 3.0 * std::sqrt(2.0 / kTrials));
}

TEST(PublishedNumbers, OfFewReplicationsLessIsSaid) {
  std::mt19937_64 random(6);
  const Panel nine = made_up_panel(random, "A", "uniform", 9);
  for (const JudgedNumber& number : judge(nine, published_panel(nine))) {
    EXPECT_TRUE(std::isnan(number.plain.z));
    EXPECT_TRUE(std::isnan(number.adjusted.ours.mean));
  }
  const Panel ten = made_up_panel(random, "A", "uniform", 10);
  EXPECT_FALSE(std::isnan(judge(ten, published_panel(ten))[0].plain.z));
}

}  // namespace
}  // namespace pandora
