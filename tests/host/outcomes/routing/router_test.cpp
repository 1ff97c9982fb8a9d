#include "host/outcomes/routing/router.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/ground/files/sealed_file.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Learner = Router::Learner;
constexpr std::size_t kFeatures = 3, kPlans = 2, kPrompts = 60;

// Numbers that nobody fitted.
Router router_of(Learner learner) {
  test::Random random(3);
  const auto numbers = [&random](std::size_t n) {
    std::vector<double> out(n);
    for (double& x : out) x = random.uniform(-1.0, 1.0);
    return out;
  };
  const std::size_t rows = learner == Learner::neighbours ? kPrompts : kFeatures;
  Router out{learner, kFeatures, {kPlans, numbers(rows * kPlans), numbers(rows * kPlans)}, {}, 0};
  if (learner != Learner::neighbours) return out;
  out.prompts = numbers(kFeatures * kPrompts);
  std::fill_n(out.prompts.begin(), kPrompts, 1.0);
  out.nearest = 10;
  return out;
}

std::vector<float> some_psi(test::Random& random) {
  return {1.0f, static_cast<float>(random.uniform(-1.0, 1.0)), static_cast<float>(random.uniform(-1.0, 1.0))};
}

TEST(Router, WeightsAreSums) {
  test::Random random(4);
  for (const Learner learner : {Learner::ridge, Learner::logistic}) {
    const Router router = router_of(learner);
    const std::vector<float> psi = some_psi(random);
    const PlanWorths found = router.predict(psi);
    for (std::size_t plan = 0; plan < kPlans; ++plan) {
      double quality = 0.0, dollars = 0.0;
      for (std::size_t j = 0; j < kFeatures; ++j) {
        quality += psi[j] * router.known.quality[j * kPlans + plan];
        dollars += psi[j] * router.known.dollars[j * kPlans + plan];
      }
      EXPECT_NEAR(found.quality[plan], learner == Learner::ridge ? quality : 1.0 / (1.0 + std::exp(-quality)), 1e-12);
      EXPECT_NEAR(found.dollars[plan], dollars, 1e-12);
    }
    const std::size_t other = found.utility(1, 0.5) > found.utility(0, 0.5) ? 1 : 0;
    EXPECT_EQ(found.best(0, 0.5), other);
  }
}

TEST(Router, NeighboursAreTheNearestPrompts) {
  const Router router = router_of(Learner::neighbours);
  test::Random random(5);
  for (int k = 0; k < 20; ++k) {
    const std::vector<float> psi = some_psi(random);
    std::vector<std::pair<double, std::size_t>> all;
    for (std::size_t row = 0; row < kPrompts; ++row)
      all.emplace_back(std::hypot(router.prompts[kPrompts + row] - psi[1], router.prompts[2 * kPrompts + row] - psi[2]),
                       row);
    std::sort(all.begin(), all.end());
    for (std::size_t plan = 0; plan < kPlans; ++plan) {
      double sum = 0.0;
      for (std::size_t n = 0; n < router.nearest; ++n) sum += router.known.quality[kPlans * all[n].second + plan];
      EXPECT_NEAR(router.predict(psi).quality[plan], sum / 10.0, 1e-12);
    }
  }
}

TEST(Router, IsReadAsItWasWritten) {
  for (const Learner learner : {Learner::ridge, Learner::logistic, Learner::neighbours}) {
    const Router router = router_of(learner);
    const nlohmann::json json = nlohmann::json::parse(router.to_json().dump());
    EXPECT_EQ(Router::from_json(json, kPlans, kFeatures), router) << learner_text(learner);
    EXPECT_THROW(Router::from_json(json, 3, kFeatures), Damaged);
    EXPECT_THROW(Router::from_json(json, kPlans, 4), Damaged);
    for (const auto& [name, value] : json.items()) {
      nlohmann::json without = json, other = json;
      without.erase(name);
      EXPECT_THROW(Router::from_json(without, kPlans, kFeatures), Damaged) << name;
      other[name] = {{"a", "b"}};
      EXPECT_THROW(Router::from_json(other, kPlans, kFeatures), Damaged) << name;
    }
  }
  EXPECT_THROW(Router::from_json(nlohmann::json(1), kPlans, kFeatures), Damaged);
}

}  // namespace
}  // namespace pandora
