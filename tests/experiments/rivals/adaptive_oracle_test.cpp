// The adaptive oracle as a policy on tapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "pandora/environment.hpp"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

Replication replication_of(const Environment& environment, int boxes, Regime regime, int periods,
                           std::uint32_t number = 0) {
  Replication out;
  out.instance = draw_instance(test::small_dimensions(boxes, 10, 3), environment, regime, number, 71);
  OracleOptions options = test::small_oracle();
  options.samples = 40000;
  options.bins = 2000;
  options.grid = {31, 15, 31};
  out.tape = draw_tape(out.instance, 0, periods);
  out.sigma =
      oracle_indices(out.instance, draw_shock_sample(out.instance, options.samples), out.tape.contexts, options);
  return out;
}

std::unique_ptr<CustomPolicy> adaptive(const Replication& replication) {
  const PolicyVariant variant = find_policy("adaptive_oracle")->variants({})[0];
  EXPECT_EQ(variant.reward, "known");
  return variant.custom(replication, 0, {});
}

double utility_of(const PeriodOutcome& outcome, const Tape& tape, int period) {
  double utility = tape.mu[tape.at(tape.online_row(period), outcome.deployed)];
  for (int k = 0; k < outcome.queried; ++k) utility -= tape.cost[tape.at(tape.online_row(period), outcome.order[k])];
  return utility;
}

// The utility of the adaptive oracle minus that of the oracle, in each period.
std::vector<double> advantages(const Replication& replication) {
  const LaneSpec rules = find_policy("oracle")->variants({})[0].lane(replication, 0);
  LaneRecord oracle;
  run_reference_lane(replication, rules, {}, &oracle);
  std::vector<PeriodOutcome> own;
  const LaneTally tally = run_custom_lane(replication, *adaptive(replication), 0, nullptr, &own);
  EXPECT_EQ(tally.failure, Failure::none);
  EXPECT_EQ(own.size(), oracle.outcomes.size());
  std::vector<double> out;
  for (int t = 0; t < static_cast<int>(own.size()); ++t)
    out.push_back(utility_of(own[t], replication.tape, t) - utility_of(oracle.outcomes[t], replication.tape, t));
  return out;
}

struct Mean {
  double value = 0.0, error = 0.0;
};
Mean mean_of(const std::vector<double>& values) {
  double sum = 0.0, squares = 0.0;
  const double n = static_cast<double>(values.size());
  for (const double x : values) sum += x, squares += x * x;
  return {sum / n, std::sqrt((squares / n - sum * sum / n / n) / n)};
}

Environment gaussian() {
  Environment environment = *find_environment("gaussian");
  environment.cost_level = 0.1;
  return environment;
}

// With independent boxes it does the same as the oracle, except where one more box makes next to no difference.
TEST(AdaptiveOracle, DoesAsTheOracleWhereBoxesAreIndependent) {
  for (const Regime regime : {Regime::A, Regime::B})
    for (const int boxes : {1, 2, 3})
      for (const RewardLink link : {RewardLink::logistic, RewardLink::algebraic}) {
        Environment environment = gaussian();
        environment.reward_link = link;
        environment.shock_scale = boxes == 2 ? 1.5f : 1.0f;
        const std::vector<double> more = advantages(replication_of(environment, boxes, regime, 2000));
        const auto differ = std::count_if(more.begin(), more.end(), [](double x) { return x != 0.0; });
        EXPECT_LT(differ, 60) << boxes;
        const Mean mean = mean_of(more);
        EXPECT_NEAR(mean.value, 0.0, std::max(1e-12, 3.0 * mean.error)) << boxes;
      }
}

// If boxes depend on each other, its utility is greater than the oracle's, whose rule takes boxes for independent.
TEST(AdaptiveOracle, HasMoreThanTheOracleWhereBoxesDependOnEachOther) {
  Environment environment = gaussian();
  environment.correlation = 0.8;
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Mean mean = mean_of(advantages(replication_of(environment, 3, regime, 3000)));
    EXPECT_GT(mean.value, 4.0 * mean.error);
  }
}

// On average it gets the utility that it expects at the start of each period. So the draws have the assumed dependence.
TEST(AdaptiveOracle, BringsWhatItExpects) {
  struct Watched : CustomPolicy {
    explicit Watched(CustomPolicy& watched) : policy(watched) {}
    void begin(const Request& request) override {
      policy.begin(request);
      expected.push_back(std::ranges::max(policy.scores()));
    }
    int next() override { return policy.next(); }
    void opened(const Output& output) override { policy.opened(output); }
    int deploy() override { return policy.deploy(); }
    CustomPolicy& policy;
    std::vector<double> expected;
  };
  Environment environment = gaussian();
  for (const double r : {0.0, 0.6})
    for (const Regime regime : {Regime::A, Regime::B}) {
      environment.correlation = r;
      const Replication replication = replication_of(environment, 3, regime, 4000);
      const auto policy = adaptive(replication);
      Watched watched(*policy);
      std::vector<PeriodOutcome> outcomes;
      run_custom_lane(replication, watched, 0, nullptr, &outcomes);
      std::vector<double> excess;
      for (int t = 0; t < 4000; ++t)
        excess.push_back(utility_of(outcomes[t], replication.tape, t) - watched.expected[t]);
      const Mean mean = mean_of(excess);
      EXPECT_NEAR(mean.value, 0.0, 3.0 * mean.error) << r;
    }
}

TEST(AdaptiveOracle, RefusesWhatItDoesNotKnow) {
  const auto refusal = [](const Environment& environment, int boxes) -> std::string {
    try {
      (void)adaptive(replication_of(environment, boxes, Regime::A, 5));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(gaussian(), 4), testing::HasSubstr("at most 3 boxes, not 4"));
  EXPECT_THAT(refusal(*find_environment("uniform"), 3),
              testing::HasSubstr("gaussian law, with boxes and parameters that do not change"));
  Environment drifting = gaussian();
  drifting.drift.kind = ParameterDrift::Kind::walk;
  drifting.drift.speed = 0.01;
  EXPECT_THAT(refusal(drifting, 3), testing::HasSubstr("parameters that do not change"));
}

// A box's score is the value of the best search that begins with this box. So it begins with the greatest score.
TEST(AdaptiveOracle, BeginsWithTheBoxOfTheGreatestScore) {
  const Replication replication = replication_of(gaussian(), 3, Regime::B, 50);
  const auto policy = adaptive(replication);
  for (int period = 1; period <= 50; ++period) {
    Request request;
    request.period = period;
    policy->begin(request);
    const std::vector<double> scores = policy->scores();
    ASSERT_EQ(scores.size(), 3u);
    EXPECT_EQ(policy->next(), std::max_element(scores.begin(), scores.end()) - scores.begin());
  }
}

}  // namespace
}  // namespace pandora
