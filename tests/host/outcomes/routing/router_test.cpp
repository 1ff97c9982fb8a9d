// What routers predict, against the most obvious computations, and routers as JSON.
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

// Of two plans and psi of three numbers: weights, or 60 prompts with what the plans brought.
Router made_up(Learner learner) {
  test::Random random(3);
  const std::size_t rows = learner == Learner::neighbours ? 60 : 3;
  Router out{learner, 3, {2, {}, {}}, {}, 0};
  for (std::size_t k = 0; k < 2 * rows; ++k) {
    out.known.quality.push_back(random.uniform(-1.0, 1.0));
    out.known.dollars.push_back(random.uniform(0.0, 0.1));
  }
  for (std::size_t k = 0; learner == Learner::neighbours && k < 3 * rows; ++k)
    out.prompts.push_back(k < rows ? 1.0 : random.uniform(-1.0, 1.0));
  if (learner == Learner::neighbours) out.nearest = 10;
  return out;
}

constexpr float kPsi[] = {1.0f, 0.5f, -0.25f};

TEST(Router, PredictsByWeights) {
  for (const Learner learner : {Learner::ridge, Learner::logistic}) {
    const Router router = made_up(learner);
    const PlanWorths found = router.predict(kPsi);
    for (std::size_t plan = 0; plan < 2; ++plan) {
      const auto sum = [&](const std::vector<double>& w) { return w[plan] + 0.5 * w[2 + plan] - 0.25 * w[4 + plan]; };
      const double z = sum(router.known.quality);
      EXPECT_NEAR(found.quality[plan], learner == Learner::ridge ? z : 1.0 / (1.0 + std::exp(-z)), 1e-15);
      EXPECT_NEAR(found.dollars[plan], sum(router.known.dollars), 1e-15);
      EXPECT_EQ(found.utility(plan, 5.0), found.quality[plan] - 5.0 * found.dollars[plan]);
    }
  }
}

TEST(Router, NeighboursAreTheNearestPrompts) {
  const Router router = made_up(Learner::neighbours);
  std::vector<std::pair<double, std::size_t>> all;
  for (std::size_t row = 0; row < 60; ++row)
    all.emplace_back(std::hypot(router.prompts[60 + row] - 0.5, router.prompts[120 + row] + 0.25), row);
  std::sort(all.begin(), all.end());
  for (std::size_t plan = 0; plan < 2; ++plan) {
    double sum = 0.0;
    for (std::size_t k = 0; k < 10; ++k) sum += router.known.quality[2 * all[k].second + plan];
    EXPECT_NEAR(router.predict(kPsi).quality[plan], sum / 10.0, 1e-12);
  }
}

TEST(Router, IsReadAsItWasWritten) {
  for (const Learner learner : {Learner::ridge, Learner::logistic, Learner::neighbours}) {
    const Router router = made_up(learner);
    const nlohmann::json json = nlohmann::json::parse(router.to_json().dump());
    EXPECT_EQ(Router::from_json(json, 2, 3), router) << json["learner"];
    EXPECT_THROW(Router::from_json(json, 5, 3), Damaged);
    EXPECT_THROW(Router::from_json(json, 2, 4), Damaged);
    for (const auto& [name, value] : json.items()) {
      nlohmann::json without = json, other = json;
      without.erase(name);
      EXPECT_THROW(Router::from_json(without, 2, 3), Damaged) << name;
      other[name] = {{"a", "b"}};
      EXPECT_THROW(Router::from_json(other, 2, 3), Damaged) << name;
    }
  }
  EXPECT_THROW(Router::from_json(nlohmann::json(1), 2, 3), Damaged);
}

}  // namespace
}  // namespace pandora
