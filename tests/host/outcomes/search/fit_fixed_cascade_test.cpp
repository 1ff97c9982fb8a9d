// Compares fitted cascades with an enumeration of all orders, and of all observed values as thresholds.
#include "host/outcomes/search/fit_fixed_cascade.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/host/outcomes/search/naive_cascade.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::mean_utility;

struct SmallOutcomes {
  std::size_t models = 0;
  std::vector<double> seen, quality, dollars;
  Outcomes view() const { return {models, seen, quality, dollars}; }
};

// Outcomes in which the observed scores have few values, and depend on the quality.
SmallOutcomes small_outcomes(std::size_t models, int rows, std::uint64_t seed) {
  test::Random random(seed);
  SmallOutcomes out;
  out.models = models;
  for (int row = 0; row < rows; ++row)
    for (std::size_t m = 0; m < models; ++m) {
      out.seen.push_back(random.below(5) / 4.0);
      out.quality.push_back(0.6 * out.seen.back() + random.uniform(0.0, 0.4));
      out.dollars.push_back(0.02 * random.uniform(0.5, 1.5) * static_cast<double>(m + 1));
    }
  return out;
}

// The greatest mean utility of all cascades; with `first`, of those of two models or more that begin with it and do not
// accept all of its answers.
double best_of_all(const Outcomes& outcomes, double price, std::optional<std::size_t> first = {}) {
  const std::vector<std::vector<double>> thresholds(outcomes.models, {0.0, 0.25, 0.5, 0.75, 1.0});
  double best = -std::numeric_limits<double>::infinity();
  for (const FixedCascade& cascade : test::all_cascades(thresholds))
    if (!first || (cascade.order[0] == *first && cascade.order.size() > 1 && cascade.thresholds[0] > 0.0))
      best = std::max(best, mean_utility(outcomes, cascade, price));
  return best;
}

TEST(CascadeFit, FindsTheBestCascade) {
  std::size_t longest = 0;
  for (const std::size_t models : {1, 2, 3})
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      for (const double price : {0.0, 1.0, 4.0}) {
        const SmallOutcomes small = small_outcomes(models, 40, seed);
        const FixedCascade fitted = fit_fixed_cascade(small.view(), price);
        EXPECT_NEAR(mean_utility(small.view(), fitted, price), best_of_all(small.view(), price), 1e-8)
            << models << " models, seed " << seed << ", price " << price;
        longest = std::max(longest, fitted.order.size());
      }
  EXPECT_EQ(longest, 3u);
}

// Cascades of two models or more with a given first model. The search also runs as a beam search, as with little
// effort.
TEST(CascadeFit, BeginsWithTheModelThatIsNamed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (std::size_t first = 0; first < 3; ++first) {
      const SmallOutcomes small = small_outcomes(3, 40, seed);
      const double best = best_of_all(small.view(), 4.0, first);
      const FixedCascade fitted = fit_fixed_cascade(small.view(), 4.0, {}, first);
      EXPECT_EQ(fitted.order[0], first);
      EXPECT_GE(fitted.order.size(), 2u);
      EXPECT_NEAR(mean_utility(small.view(), fitted, 4.0), best, 1e-8) << "seed " << seed << ", first " << first;
      const FixedCascade beam = fit_fixed_cascade(small.view(), 4.0, {.most_steps = 1}, first);
      EXPECT_EQ(beam.order[0], first);
      EXPECT_GE(beam.order.size(), 2u);
      EXPECT_LE(mean_utility(small.view(), beam, 4.0), best + 1e-9);
    }
}

// A threshold may be any observed value, and not only a quantile at which the search looks.
TEST(CascadeFit, ThresholdsGoToTheBestValueThatIsSeen) {
  test::Random random(8);
  SmallOutcomes out;
  out.models = 2;
  for (int row = 0; row < 400; ++row) {
    const double seen = random.uniform(0.0, 1.0);
    out.seen.insert(out.seen.end(), {seen, 0.8});
    out.quality.insert(out.quality.end(), {seen < 0.411 ? 0.2 : 0.9, 0.8});
    out.dollars.insert(out.dollars.end(), {0.0, 0.1});
  }
  const FixedCascade fitted = fit_fixed_cascade(out.view(), 1.0);
  ASSERT_EQ(fitted.order, (std::vector<std::size_t>{0, 1}));
  double least = 1.0;  // the least score that is worth accepting
  for (int row = 0; row < 400; ++row)
    if (out.seen[2 * row] >= 0.411) least = std::min(least, out.seen[2 * row]);
  EXPECT_EQ(fitted.thresholds[0], least);
}

TEST(CascadeFit, ABeamOfManyModelsIsNearToTheSearchOfAll) {
  const CascadeEffort beam{.most_steps = 0};
  int equal = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SmallOutcomes small = small_outcomes(4, 60, 100 + seed);
    const double found = mean_utility(small.view(), fit_fixed_cascade(small.view(), 2.0, beam), 2.0);
    const double all = mean_utility(small.view(), fit_fixed_cascade(small.view(), 2.0), 2.0);
    EXPECT_LE(found, all + 1e-8);
    EXPECT_GE(found, all - 0.005) << "seed " << seed;
    equal += found >= all - 1e-8 ? 1 : 0;
  }
  EXPECT_GE(equal, 15);
}

TEST(CascadeFit, TheBetterOfTwoSearchesIsTaken) {
  int by_all = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SmallOutcomes small = small_outcomes(5, 60, 200 + seed);
    const auto found = [&](const CascadeEffort& effort) {
      return mean_utility(small.view(), fit_fixed_cascade(small.view(), 2.0, effort), 2.0);
    };
    const double beam = found({.most_steps = 0}), all = found({}), both = found({.both = true});
    EXPECT_NEAR(both, std::max(beam, all), 2e-9) << "seed " << seed;
    EXPECT_EQ(found({.most_steps = 0, .both = true}), beam);
    by_all += all > beam + 1e-8;
  }
  EXPECT_GT(by_all, 0);
}

TEST(CascadeFit, AModelWithoutAnythingToSeeIsAlwaysAccepted) {
  SmallOutcomes small = small_outcomes(2, 50, 5);
  for (std::size_t at = 0; at < small.seen.size(); at += 2) small.seen[at] = 0.5;
  for (const std::uint64_t steps : {std::uint64_t{0}, CascadeEffort().most_steps})
    for (const double price : {0.0, 1.0, 100.0}) {
      const FixedCascade fitted = fit_fixed_cascade(small.view(), price, {.most_steps = steps});
      if (fitted.order.size() > 1) {
        EXPECT_EQ(fitted.order[0], 1u);
      }
    }
}

// A fit that may look at half of the prompts looks at every second row.
TEST(CascadeFit, LooksAtNoMorePromptsThanItMay) {
  SmallOutcomes small = small_outcomes(2, 100, 6), even{2, {}, {}, {}};
  for (std::size_t at = 0; at < 200; ++at)
    if (at % 4 < 2) {
      even.seen.push_back(small.seen[at]);
      even.quality.push_back(small.quality[at]);
      even.dollars.push_back(small.dollars[at]);
    } else {
      small.quality[at] = 1.0 - small.quality[at];
    }
  EXPECT_EQ(fit_fixed_cascade(small.view(), 2.0, {.most_prompts = 50}), fit_fixed_cascade(even.view(), 2.0));
}

}  // namespace
}  // namespace pandora
