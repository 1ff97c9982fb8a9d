// What becomes of prompts under a cascade and under indices, and Weitzman's indices of outcomes.
#include "host/outcomes/routing/routing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/reference/small_problem.hpp"

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

TEST(Routing, IndicesStopWhereTheBestSeenReachesTheNext) {
  const TwoModels two;
  const Routed routed = evaluate(two.outcomes(), ModelIndices{{1, 0}, {0.7, 0.5}}, all_rows(3));
  EXPECT_EQ(routed.calls, (std::vector<double>{1, 2, 1}));
  EXPECT_EQ(routed.quality, (Numbers{0.2, 0.3, 0.6}));
  // The first model is opened whatever its index is.
  EXPECT_EQ(evaluate(two.outcomes(), ModelIndices{{1, 0}, {-3.0, -4.0}}, all_rows(3)).calls[1], 1.0);
}

TEST(Routing, TheBoundOpensTheBestAnswerAlone) {
  const TwoModels two;
  const Routed dear = best_answers(two.outcomes(), 10.0, all_rows(3));
  EXPECT_EQ(dear.quality, (Numbers{0.1, 0.3, 0.5}));
  EXPECT_EQ(best_answers(two.outcomes(), 0.0, all_rows(3)).quality, (Numbers{0.2, 0.4, 0.6}));
  EXPECT_EQ(dear.calls, (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(best_single_model(two.outcomes(), 10.0, all_rows(3)), 0u);
  EXPECT_EQ(best_single_model(two.outcomes(), 0.0, all_rows(3)), 1u);
  EXPECT_EQ(best_single_model(two.outcomes(), 1.0, all_rows(3)), 0u);
  EXPECT_EQ(best_single_model(two.outcomes(), 1.0, std::vector<std::size_t>{0}), 1u);
}

// E[(value - sigma)^+] - cost falls with sigma.
double bisected_index(const Numbers& values, double cost) {
  double low = -100.0, high = 100.0;
  for (int step = 0; step < 200; ++step) {
    const double sigma = (low + high) / 2.0;
    double mean = 0.0;
    for (const double value : values) mean += std::max(0.0, value - sigma) / static_cast<double>(values.size());
    (mean > cost ? low : high) = sigma;
  }
  return low;
}

TEST(ReservationValue, SolvesItsEquation) {
  test::Random random(3);
  for (int table = 0; table < 200; ++table) {
    Numbers values;
    for (int i = 1 + random.below(20); i > 0; --i) values.push_back(random.below(6) / 5.0);
    const double cost = random.uniform(0.0, table % 2 == 0 ? 0.2 : 2.0);
    EXPECT_NEAR(reservation_value(values, cost), bisected_index(values, cost), 1e-10) << "table " << table;
  }
}

TEST(ReservationValue, AtItsEnds) {
  const Numbers values = {0.3, 0.9, 0.6};
  EXPECT_NEAR(reservation_value(values, 0.0), 0.9, 1e-12);
  EXPECT_NEAR(reservation_value(values, 0.5), 0.1, 1e-12);  // mean - cost: all values are above
  EXPECT_NEAR(reservation_value(Numbers{0.4, 0.4}, 0.0), 0.4, 1e-12);
}

TEST(ModelIndices, OrderModelsByWhatIsSeenAndTheMeanCost) {
  const TwoModels two;
  const ModelIndices fitted = fit_model_indices(two.outcomes(), 2.0, std::vector<std::size_t>{0, 1});
  EXPECT_EQ(fitted.order, (std::vector<std::size_t>{0, 1}));
  EXPECT_NEAR(fitted.indices[0], bisected_index({0.5, 0.8}, 0.03), 1e-10);
  EXPECT_NEAR(fitted.indices[1], bisected_index({0.9, 0.2}, 0.3), 1e-10);
  EXPECT_EQ(fit_model_indices(two.outcomes(), 0.0, all_rows(3)).order, (std::vector<std::size_t>{1, 0}));
}

}  // namespace
}  // namespace pandora
