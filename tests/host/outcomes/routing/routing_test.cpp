// What becomes of prompts under a cascade.
#include "host/outcomes/routing/routing.hpp"

#include <gtest/gtest.h>

namespace pandora {
namespace {

using Numbers = std::vector<double>;

// Three prompts, two models. What is seen is not what it is worth.
struct TwoModels {
  Numbers seen = {0.5, 0.9, 0.8, 0.2, 0.5, 0.5}, quality = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6},
          dollars = {0.01, 0.1, 0.02, 0.2, 0.03, 0.3};
  Outcomes outcomes() const { return {2, seen, quality, dollars}; }
};

TEST(Routing, ACascadeAcceptsAtTheThresholdPaysAllAndDeploysTheBestSeen) {
  const TwoModels two;
  const Routed routed = evaluate(two.outcomes(), FixedCascade{{0, 1}, {0.8}}, all_rows(3));
  EXPECT_EQ(routed.quality, (Numbers{0.2, 0.3, 0.5}));  // the better seen; accepted; the first of equal ones
  EXPECT_EQ(routed.dollars, (Numbers{0.01 + 0.1, 0.02, 0.03 + 0.3}));
  EXPECT_EQ(routed.calls, (std::vector<double>{2, 1, 2}));
  const Numbers utility = routed.utility(10.0);
  EXPECT_DOUBLE_EQ(utility[0], 0.2 - 1.1);
}

TEST(Routing, RowsAreWhatIsAskedFor) {
  const TwoModels two;
  const Routed routed = evaluate(two.outcomes(), FixedCascade{{1}, {}}, std::vector<std::size_t>{2, 0, 2});
  EXPECT_EQ(routed.quality, (Numbers{0.6, 0.2, 0.6}));
}

}  // namespace
}  // namespace pandora
