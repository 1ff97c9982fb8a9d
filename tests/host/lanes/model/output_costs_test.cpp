// Environments in which costs depend on outputs, or in which mu* is linear in the context.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "host/lanes/model/draw_instance.hpp"
#include "oracle/oracle.hpp"
#include "pandora/paper_setting.hpp"
#include "tests/reference/naive_draws.hpp"
#include "tests/reference/naive_index.hpp"
#include "tests/reference/statistics.hpp"

namespace pandora {
namespace {

constexpr Dimensions kTwelveOutputs{3, 10, 12, 4, IndexFeatures::affine, 3000};

Environment centred(Environment environment, Slopes slopes = Slopes::common) {
  environment.output_costs = OutputCostLaw::centred;
  environment.slopes = slopes;
  if (environment.law != Law::uniform) environment.truncation_radius = 4.5f;
  return environment;
}

TEST(CentredOutputCosts, HaveCoefficientsThatSumToZero) {
  const Environment environment = centred(paper_environments()[1]);
  Environment of_paper = environment;
  of_paper.output_costs = OutputCostLaw::paper;
  Instance paper = draw_instance(kTwelveOutputs, of_paper, Regime::B, 3, 7);
  const Instance instance = draw_instance(kTwelveOutputs, environment, Regime::B, 3, 7);
  for (std::uint32_t a = 0; a < 3; ++a) {
    const std::vector<double> row = naive::centred_row(instance.stream(Purpose::output_cost_coefficients), a, 12);
    for (std::size_t j = 0; j < 12; ++j) EXPECT_NEAR(instance.beta1[a * 12 + j], row[j], 1e-13);
  }
  paper.beta1 = instance.beta1;
  paper.environment = environment;
  EXPECT_EQ(instance, paper);  // everything else is the paper's
  EXPECT_EQ(draw_instance(kTwelveOutputs, environment, Regime::A, 3, 7).beta1, std::vector<double>(36, 0.0));
}

TEST(CentredOutputCosts, KeepTheCoordinatesOfABox) {
  for (const Slopes slopes : {Slopes::unrelated, Slopes::random_sign}) {
    const Instance instance = draw_instance(kTwelveOutputs, centred(paper_environments()[0], slopes), Regime::B, 3, 7);
    for (int a = 0; a < 3; ++a) {
      double sum = 0.0, square = 0.0;
      for (int j = 0; j < 12; ++j) {
        const double value = instance.beta1[static_cast<std::size_t>(a * 12 + j)];
        EXPECT_EQ(value != 0.0, slopes == Slopes::random_sign || j % 3 == a);
        sum += value;
        square += value * value;
      }
      EXPECT_NEAR(sum, 0.0, 1e-13);
      EXPECT_NEAR(square, 64.0, 1e-12);
    }
  }
}

// The standard deviation of a box's cost given x, divided by its mean, averaged over boxes, contexts and replications.
// It uses the oracle's shocks.
statistics::Mean spread_of_costs(const Environment& environment) {
  constexpr int kShocks = 500, kContexts = 10;
  Dimensions dim;
  dim.radius_draws = 100;
  std::vector<double> ratios;
  for (std::uint32_t r = 0; r < 20; ++r) {
    const Instance instance = draw_instance(dim, environment, Regime::B, r, 5);
    const ShockSample sample = draw_shock_sample(instance, kShocks);
    const Contexts contexts = draw_contexts(instance, {{Purpose::online_context, 0, kContexts}});
    double of_replication = 0.0;
    for (std::size_t at = 0; at < contexts.scale.size(); ++at) {
      double sum = 0.0, squares = 0.0;
      for (const float term : sample.cost_terms[at % 3]) {
        const double cost = contexts.context_cost[at] + instance.c1[at % 3] * naive::G(contexts.scale[at] * term);
        sum += cost / kShocks;
        squares += cost * cost / kShocks;
      }
      of_replication +=
          std::sqrt(std::max(0.0, squares - sum * sum)) / sum / static_cast<double>(contexts.scale.size());
    }
    ratios.push_back(of_replication);
  }
  return statistics::mean(ratios);
}

// docs/model.md has the numbers of all three environments, over more replications.
TEST(CentredOutputCosts, SpreadByAFifthOfTheirMeanGivenTheRequest) {
  for (const Environment& paper : paper_environments()) {
    Environment environment = paper;
    environment.output_costs = OutputCostLaw::centred;
    const statistics::Mean spread = spread_of_costs(environment), of_paper = spread_of_costs(paper);
    EXPECT_GT(spread.value - 4.0 * spread.standard_error, 0.2) << paper.name;
    EXPECT_LT(of_paper.value, 0.01) << paper.name;
  }
}

// The oracle's expected cost, from its table in s, is the mean of the costs over the sample. A heavy tail does not
// change it, because the factor has mean 1.
TEST(CentredOutputCosts, TheOracleKnowsTheirExpectation) {
  constexpr int kSamples = 1500;
  for (const Environment& paper : paper_environments())
    for (const double tail : {kNoTail * 10.0, 1.5}) {
      Environment environment = centred(paper);
      environment.cost_tail = tail;
      const Instance instance = draw_instance(kTwelveOutputs, environment, Regime::B, 1, 1);
      const Contexts contexts = draw_contexts(instance, {{Purpose::online_context, 0, 6}});
      const IndexInputs inputs = index_inputs(instance, draw_shock_sample(instance, kSamples), contexts);
      std::vector<double> sums(inputs.cost.size(), 0.0);
      for (std::uint32_t i = 0; i < kSamples; ++i) {
        const std::vector<float> xi = naive::shock(environment, 12, instance.stream(Purpose::oracle_shock), i, 0).xi;
        for (std::size_t at = 0; at < sums.size(); ++at) {
          double magnitude = 0.0;
          for (std::size_t j = 0; j < 12; ++j)
            magnitude += instance.beta1[at % 3 * 12 + j] * std::abs(contexts.scale[at] * static_cast<double>(xi[j]));
          sums[at] += instance.c1[at % 3] * naive::G(magnitude) / kSamples;
        }
      }
      for (std::size_t at = 0; at < sums.size(); ++at)
        EXPECT_NEAR(inputs.cost[at], contexts.context_cost[at] + sums[at], 1e-6) << paper.name;
    }
}

// With a tail, every cost is the cost without a tail, times a factor of its own.
TEST(CentredOutputCosts, HaveAHeavyTailWhereItIsAskedFor) {
  Environment environment = centred(paper_environments()[1]);
  const Tape plain = draw_tape(draw_instance(kTwelveOutputs, environment, Regime::B, 1, 1), 3, 4000);
  environment.cost_tail = 3.0;
  const Tape tailed = draw_tape(draw_instance(kTwelveOutputs, environment, Regime::B, 1, 1), 3, 4000);
  EXPECT_EQ(tailed.mu, plain.mu);
  double sum = 0.0;
  for (std::size_t at = 0; at < plain.cost.size(); ++at) {
    const double factor = tailed.cost[at] / plain.cost[at];
    EXPECT_GT(factor, 2.0 / 3.0 - 1e-6);
    sum += factor;
  }
  const double n = static_cast<double>(plain.cost.size());
  EXPECT_NEAR(sum / n, 1.0, 4.0 * std::sqrt(1.0 / 3.0 / n));
}

// The assumption of `liu`: the mu* of a box is a linear function of x plus a residual, whose law does not depend on x.
TEST(LinearRewards, AreALinearMeanAndAResidualThatDoesNotDependOnTheContext) {
  constexpr int kPeriods = 4000;
  Environment environment = paper_environments()[1];
  environment.truncation_radius = 4.5f;
  environment.reward_link = RewardLink::linear;
  environment.output_scales = OutputScales::constant;
  environment.location = Location::own;
  const Instance instance = draw_instance(kTwelveOutputs, environment, Regime::B, 2, 3);
  EXPECT_EQ(instance.alpha, std::vector<double>(30, 0.0));
  const Tape tape = draw_tape(instance, 0, kPeriods);
  std::vector<double> products;
  int clipped = 0;
  for (std::uint32_t t = 0; t < kPeriods; ++t)
    for (std::uint32_t a = 0; a < 3; ++a) {
      const std::vector<float> x = naive::context(instance.stream(Purpose::online_context), t, 10),
                               xi = naive::shock(environment, 12, instance.stream(Purpose::online_shock), t, a).xi;
      double mean = 0.5, residual = 0.0;
      for (std::size_t k = 0; k < 4; ++k) {
        for (std::size_t j = 0; j < 10; ++j) mean += 0.1 * instance.theta[k] * instance.Q[(a * 4 + k) * 10 + j] * x[j];
        for (std::size_t j = 0; j < 12; ++j) residual += 0.1 * instance.theta[k] * instance.D[k * 12 + j] * xi[j];
      }
      const std::size_t at = tape.at(tape.online_row(static_cast<int>(t)), static_cast<int>(a));
      ASSERT_EQ(tape.contexts.scale[at], 1.0);
      EXPECT_NEAR(tape.mu[at], std::clamp(mean + residual, 0.0, 1.0), 1e-6);
      clipped += mean + residual < 0.0 || mean + residual > 1.0 ? 1 : 0;
      products.push_back((mean - 0.5) * residual * residual);  // does the spread depend on the mean?
    }
  EXPECT_LT(clipped, 3 * kPeriods / 500);
  const statistics::Mean product = statistics::mean(products);
  EXPECT_LT(std::abs(product.value), 4.0 * product.standard_error);
}

}  // namespace
}  // namespace pandora
