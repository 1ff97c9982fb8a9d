// Routers against the most obvious computations: normal equations by elimination, prompts really left out, all
// distances sorted.
#include "host/outcomes/routing/router.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "host/ground/files/sealed_file.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using Row = std::vector<double>;
using Learner = Router::Learner;

// Prompts with two numbers, and two plans.
struct SmallPrompts {
  std::size_t rows = 0;
  std::vector<float> psi;  // 1 and two numbers
  PlanWorths worths{2, {}, {}};

  std::span<const float> of(std::size_t row) const { return std::span(psi).subspan(3 * row, 3); }
  double number(std::size_t row, std::size_t j) const { return psi[3 * row + j]; }
};

// quality_of(x, y, plan) and noise.
template <class QualityOf>
SmallPrompts prompts(std::size_t rows, std::uint64_t seed, const QualityOf& quality_of) {
  test::Random random(seed);
  SmallPrompts out;
  out.rows = rows;
  for (std::size_t row = 0; row < rows; ++row) {
    const double x = random.uniform(-1.0, 1.0), y = random.uniform(-1.0, 1.0);
    out.psi.insert(out.psi.end(), {1.0f, static_cast<float>(x), static_cast<float>(y)});
    for (int plan = 0; plan < 2; ++plan) {
      out.worths.quality.push_back(std::clamp(quality_of(x, y, plan) + random.uniform(-0.2, 0.2), 0.0, 1.0));
      out.worths.dollars.push_back(0.01 * (1.0 + plan + 0.5 * x + random.uniform(-0.2, 0.2)));
    }
  }
  return out;
}

SmallPrompts linear_prompts(std::size_t rows) {
  return prompts(rows, 3, [](double x, double y, int plan) { return 0.5 + 0.3 * (plan == 0 ? x : y); });
}

Row solved(std::vector<Row> a, Row b) {  // Gauss with pivots
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t most = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[most][k])) most = i;
    std::swap(a[k], a[most]);
    std::swap(b[k], b[most]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double f = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= f * a[k][j];
      b[i] -= f * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

constexpr std::size_t kAll = static_cast<std::size_t>(-1);

// Minimises sum over rows but `without` of (y - w'psi)^2 + ridge x |slopes|^2.
Row naive_ridge(const SmallPrompts& p, const Row& y, double ridge, std::size_t without = kAll) {
  std::vector<Row> a(3, Row(3, 0.0));
  Row b(3, 0.0);
  for (std::size_t row = 0; row < p.rows; ++row)
    for (std::size_t i = 0; i < 3 && row != without; ++i) {
      for (std::size_t j = 0; j < 3; ++j) a[i][j] += p.number(row, i) * p.number(row, j);
      b[i] += p.number(row, i) * y[row];
    }
  a[1][1] += ridge;
  a[2][2] += ridge;
  return solved(a, b);
}

// Newton's method on the log loss with that ridge, from `w`.
Row naive_logistic(const SmallPrompts& p, const Row& y, double ridge, Row w, std::size_t without = kAll) {
  for (int step = 0; step < 30; ++step) {
    std::vector<Row> a(3, Row(3, 0.0));
    Row b(3, 0.0);
    for (std::size_t row = 0; row < p.rows; ++row) {
      if (row == without) continue;
      double eta = 0.0;
      for (std::size_t j = 0; j < 3; ++j) eta += w[j] * p.number(row, j);
      const double share = 1.0 / (1.0 + std::exp(-eta));
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) a[i][j] += share * (1.0 - share) * p.number(row, i) * p.number(row, j);
        b[i] += (y[row] - share) * p.number(row, i);
      }
    }
    for (std::size_t j = 1; j < 3; ++j) {
      a[j][j] += ridge;
      b[j] -= ridge * w[j];
    }
    const Row move = solved(a, b);
    for (std::size_t j = 0; j < 3; ++j) w[j] += move[j];
  }
  return w;
}

double at(const Row& w, const SmallPrompts& p, std::size_t row) {
  return w[0] * p.number(row, 0) + w[1] * p.number(row, 1) + w[2] * p.number(row, 2);
}

Row of_plan(const Row& numbers, std::size_t plan) {
  Row out;
  for (std::size_t k = plan; k < numbers.size(); k += 2) out.push_back(numbers[k]);
  return out;
}

// A unit of ridge: the mean over the features of the sum of squares about their means.
double unit_of(const SmallPrompts& p) {
  double sum = 0.0;
  for (std::size_t j = 1; j < 3; ++j) {
    double mean = 0.0;
    for (std::size_t row = 0; row < p.rows; ++row) mean += p.number(row, j) / static_cast<double>(p.rows);
    for (std::size_t row = 0; row < p.rows; ++row) sum += std::pow(p.number(row, j) - mean, 2) / 2.0;
  }
  return sum;
}

const Router& of_learner(const PlanPredictors& fitted, Learner learner, std::size_t& place) {
  place = 0;
  while (fitted.routers()[place].learner != learner) ++place;
  return fitted.routers()[place];
}

TEST(Router, RidgesAreTheNormalEquationsWithTheLeastErrorOfPromptsThatAreLeftOut) {
  const SmallPrompts p = linear_prompts(60);
  const PlanPredictors fitted(p.psi, 3, p.worths);
  std::size_t place = 0;
  const Router& router = of_learner(fitted, Learner::ridge, place);
  ASSERT_EQ(fitted.asked().size(), p.rows);
  for (const bool dollars : {false, true})
    for (std::size_t plan = 0; plan < 2; ++plan) {
      const Row y = of_plan(dollars ? p.worths.dollars : p.worths.quality, plan);
      double least = HUGE_VAL;
      Row best, best_left_out;
      for (const double share : {1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0}) {
        Row left_out;
        double error = 0.0;
        for (std::size_t row = 0; row < p.rows; ++row) {
          left_out.push_back(at(naive_ridge(p, y, share * unit_of(p), row), p, row));
          error += std::pow(y[row] - left_out[row], 2);
        }
        if (!(error < least)) continue;
        least = error;
        best = naive_ridge(p, y, share * unit_of(p));
        best_left_out = left_out;
      }
      const PlanWorths& told = fitted.left_out()[place];
      for (std::size_t row = 0; row < p.rows; ++row) {
        const PlanWorths now = router.predict(p.of(row));
        EXPECT_NEAR((dollars ? now.dollars : now.quality)[plan], at(best, p, row), 1e-9);
        EXPECT_NEAR((dollars ? told.dollars : told.quality)[2 * row + plan], best_left_out[row], 1e-9);
      }
    }
}

TEST(Router, LogisticRegressionIsNewtonsToTheEnd) {
  const SmallPrompts p = linear_prompts(60);
  const PlanPredictors fitted(p.psi, 3, p.worths);
  std::size_t place = 0;
  const Router& router = of_learner(fitted, Learner::logistic, place);
  for (std::size_t plan = 0; plan < 2; ++plan) {
    const Row y = of_plan(p.worths.quality, plan);
    double nearest = HUGE_VAL, left_out_error = 0.0;  // by one of the ridges
    for (const double share : {10.0, 1.0, 0.1, 0.01}) {
      const Row w = naive_logistic(p, y, share * unit_of(p), Row(3, 0.0));
      double away = 0.0, error = 0.0;
      for (std::size_t row = 0; row < p.rows; ++row) {
        const auto share_of = [&](const Row& v) { return 1.0 / (1.0 + std::exp(-at(v, p, row))); };
        away = std::max(away, std::abs(router.predict(p.of(row)).quality[plan] - share_of(w)));
        const Row without = naive_logistic(p, y, share * unit_of(p), w, row);
        error = std::max(error, std::abs(fitted.left_out()[place].quality[2 * row + plan] - share_of(without)));
      }
      if (away < nearest) {
        nearest = away;
        left_out_error = error;
      }
    }
    EXPECT_LT(nearest, 2e-5);
    EXPECT_LT(left_out_error, 2e-3);  // one step without the prompt, not the fit to the end
  }
}

TEST(Router, NeighboursAreTheNearestPrompts) {
  const SmallPrompts p = linear_prompts(60);
  const PlanPredictors fitted(p.psi, 3, p.worths);
  std::size_t place = 0;
  const Router& router = of_learner(fitted, Learner::neighbours, place);
  EXPECT_EQ(router.nearest, 10u);
  const auto mean = [&](std::size_t asked, bool own, std::size_t plan) {
    std::vector<std::pair<double, std::size_t>> all;
    for (std::size_t row = 0; row < p.rows; ++row)
      if (own || row != asked)
        all.emplace_back(std::hypot(p.number(row, 1) - p.number(asked, 1), p.number(row, 2) - p.number(asked, 2)), row);
    std::sort(all.begin(), all.end());
    double sum = 0.0;
    for (std::size_t k = 0; k < 10; ++k) sum += p.worths.quality[2 * all[k].second + plan];
    return sum / 10.0;
  };
  for (std::size_t row = 0; row < p.rows; ++row)
    for (std::size_t plan = 0; plan < 2; ++plan) {
      EXPECT_NEAR(router.predict(p.of(row)).quality[plan], mean(row, true, plan), 1e-5);
      EXPECT_NEAR(fitted.left_out()[place].quality[2 * row + plan], mean(row, false, plan), 1e-5);
    }
}

TEST(Router, TheLearnerIsTheOneWhoseChoicesAreWorthMost) {
  const SmallPrompts steep =
      prompts(60, 4, [](double x, double y, int plan) { return 0.5 + 0.5 * (plan == 0 ? x : y); });
  EXPECT_NE(PlanPredictors(steep.psi, 3, steep.worths).best(1.0).router.learner, Learner::neighbours);
  // Which plan is right depends on whether two numbers have one sign: no weighted sum tells.
  const SmallPrompts crossed =
      prompts(400, 5, [](double x, double y, int plan) { return (x * y > 0.0) == (plan == 0) ? 0.8 : 0.2; });
  const RoutedPlans found = PlanPredictors(crossed.psi, 3, crossed.worths).best(1.0);
  EXPECT_EQ(found.router.learner, Learner::neighbours);
  EXPECT_EQ(found.plans, (std::vector<std::size_t>{0, 1}));
  const float same[] = {1.0f, 0.6f, 0.6f}, other[] = {1.0f, 0.6f, -0.6f};
  EXPECT_EQ(found.router.predict(same).best(0, 1.0), 0u);
  EXPECT_EQ(found.router.predict(other).best(0, 1.0), 1u);
  // Where dollars count for much, the dear plan is not among them.
  EXPECT_EQ(PlanPredictors(crossed.psi, 3, crossed.worths).best(1000.0).plans, (std::vector<std::size_t>{0}));
}

TEST(Router, IsReadAsItWasWritten) {
  const SmallPrompts p = linear_prompts(60);
  const PlanPredictors fitted(p.psi, 3, p.worths);
  for (const Router& router : fitted.routers()) {
    const nlohmann::json json = nlohmann::json::parse(router.to_json().dump());
    EXPECT_EQ(Router::from_json(json, 2, 3), router) << learner_text(router.learner);
    EXPECT_THROW(Router::from_json(json, 3, 3), Damaged);
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
