#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "host/cascades/fits/trained_table.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// A cheap model whose answers vary between 0 and 1, and a dear one whose answers are worth `dear` on average.
struct TwoModels {
  std::vector<double> quality, dollars;

  TwoModels(std::size_t rows, double dear, double noise = 0.0) {
    test::Random random(1);
    for (std::size_t row = 0; row < rows; ++row) {
      quality.insert(quality.end(), {random.uniform(0.0, 1.0), dear + random.uniform(-noise, noise)});
      dollars.insert(dollars.end(), {0.0, 0.1});
    }
  }
  double threshold(double fitted) const {
    const Outcomes outcomes{2, quality, quality, dollars};
    return with_readable_thresholds({{0, 1}, {fitted}}, outcomes, 1.0, all_rows(outcomes.rows())).thresholds[0];
  }
};

TEST(ReadableThresholds, FewDigitsWhereTheyDoAsWell) {
  // Going on pays below dear - 0.1, where the curve is flat.
  EXPECT_EQ(TwoModels(400, 0.85).threshold(0.74837), 0.75);
  EXPECT_EQ(TwoModels(400, 0.85).threshold(0.75163), 0.75);
  EXPECT_EQ(TwoModels(400, 0.85).threshold(0.75), 0.75);
}

TEST(ReadableThresholds, MoreDigitsWhereTheyCount) {
  // With 100,000 prompts 0.75 and 0.8 are told apart from 0.7785, and 0.78 is not.
  EXPECT_EQ(TwoModels(100'000, 0.8785, 0.1).threshold(0.7785), 0.78);
}

TEST(ReadableThresholds, TheFittedOneWhereEveryOtherLoses) {
  std::vector<double> quality, dollars;
  for (int row = 0; row < 200; ++row) {  // at 0.123 the dear one is much worse, at 0.122 much better
    quality.insert(quality.end(), {row % 2 == 0 ? 0.123 : 0.122, row % 2 == 0 ? 0.0 : 1.0});
    dollars.insert(dollars.end(), {0.0, 0.1});
  }
  const Outcomes outcomes{2, quality, quality, dollars};
  const FixedCascade kept = with_readable_thresholds({{0, 1}, {0.123}}, outcomes, 1.0, all_rows(200));
  EXPECT_EQ(kept.thresholds[0], 0.123);
}

}  // namespace
}  // namespace pandora
