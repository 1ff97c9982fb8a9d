// The building blocks of include/pandora/weitzman.hpp: custom policies that equal built-in ones in every digit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "host/lanes/estimator/reference_engine.hpp"
#include "pandora/weitzman.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// Compares tallies without the parts of the regret, because a policy by code does not say what it would open next.
void expect_same(LaneTally own, const LaneTally& wanted) {
  own.regret = wanted.regret;
  std::copy(wanted.regret_curve, wanted.regret_curve + kMostCheckpoints, own.regret_curve);
  EXPECT_EQ(own, wanted);
}

LaneSpec rules_of(const char* policy, const char* reward, const Replication& replication, int T0) {
  for (const PolicyVariant& variant : find_policy(policy)->variants({0.2}))
    if (variant.reward == reward) return variant.lane(replication, T0);
  throw std::logic_error("no such variant");
}

// DOW (alg:DOW:detailed), written with the estimator alone.
class DowTwin : public CustomPolicy {
 public:
  DowTwin(const Replication& replication, const LaneSpec& rules, const EstimationOptions& options)
      : estimator_(replication, rules, options), sigma_(replication.tape.boxes()) {}
  void calibrate(const Request& request, const Output& output, std::optional<double> reward) override {
    estimator_.calibrate(request, output, reward);
  }
  void begin(const Request& request) override {
    estimator_.begin(request);
    for (std::size_t a = 0; a < sigma_.size(); ++a) sigma_[a] = estimator_.index(static_cast<int>(a));
    open_.clear();
    best_ = -1.0;
  }
  int next() override {
    const auto box = std::max_element(sigma_.begin(), sigma_.end());
    return best_ >= *box ? kStop : static_cast<int>(box - sigma_.begin());
  }
  void opened(const Output& output) override {
    const double mu = estimator_.reward(output);
    if (mu > best_) best_ = mu, deployed_ = output.box;
    sigma_[output.box] = -2.0;
    open_.push_back(output);
  }
  int deploy() override { return deployed_; }
  void learn(double reward) override { estimator_.learn(open_, deployed_, reward); }

 private:
  WeitzmanEstimator estimator_;
  std::vector<double> sigma_;
  std::vector<Output> open_;
  double best_ = -1.0;
  int deployed_ = 0;
};

class Twins : public testing::TestWithParam<const char*> {
 protected:
  const Replication replication_ = test::small_replication(test::small_dimensions(3, 6, 3), Regime::B, 12, 320, 21);
  EstimationOptions options_{parse_refit(GetParam()), 0.4, 2.0};
};
INSTANTIATE_TEST_SUITE_P(WeitzmanPolicy, Twins, testing::Values("geometric:1.5", "tracking", "every:5"),
                         [](const auto& schedule) {
                           std::string name = schedule.param;
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

TEST_P(Twins, OfDowEqualsItInEveryDigit) {
  for (const char* reward : {"known", "unknown"})
    for (const int T0 : {0, 12}) {
      const LaneSpec rules = rules_of("dow", reward, replication_, T0);
      DowTwin twin(replication_, rules, options_);
      expect_same(run_custom_lane(replication_, twin, T0), run_reference_lane(replication_, rules, options_));
    }
}

TEST_P(Twins, OfEveryPolicyThatLearnsAnIndexAndKeepsItsOrderAndStop) {
  for (const char* name :
       {"online_plugin", "static_plugin", "dow", "shrunk_weitzman", "thompson_weitzman", "atsidakou"})
    for (const char* reward : {"known", "unknown"}) {
      SCOPED_TRACE(std::string(name) + " " + reward);
      const LaneSpec rules = rules_of(name, reward, replication_, 12);
      WeitzmanPolicy twin(replication_, rules, options_);
      EXPECT_EQ(run_custom_lane(replication_, twin, 12), run_reference_lane(replication_, rules, options_));
    }
}

// Each policy overrides one function and is compared with the rule that does the same.
TEST_P(Twins, WithAHookEqualTheRuleThatSaysTheSame) {
  const LaneSpec rules = rules_of("dow", "unknown", replication_, 12);
  const auto check = [&](auto make, const LaneSpec& wanted) {
    auto policy = make();
    EXPECT_EQ(run_custom_lane(replication_, policy, 12), run_reference_lane(replication_, wanted, options_));
  };

  struct Bonus1 : WeitzmanPolicy {  // c / sqrt(t)
    using WeitzmanPolicy::WeitzmanPolicy;
    double bonus(int) override { return 0.2 * (1.0 / std::sqrt(12.0 + request().period)); }
  };
  LaneSpec wanted = rules;
  wanted.bonus.kind = Bonus::inverse_sqrt;
  check([&] { return Bonus1(replication_, rules, options_); }, wanted);

  struct Score1 : WeitzmanPolicy {  // boxes without a sample are opened
    using WeitzmanPolicy::WeitzmanPolicy;
    double score(int box) override { return estimator().samples(box) < 9 ? 3.0 : estimator().index(box); }
  };
  wanted = rules;
  wanted.forced = 9;
  check([&] { return Score1(replication_, rules, options_); }, wanted);

  struct Order1 : WeitzmanPolicy {
    using WeitzmanPolicy::WeitzmanPolicy;
    std::vector<int> order(std::span<const double>) override { return {2, 0, 1}; }
  };
  wanted = rules;
  wanted.order = Order::listed;
  wanted.length = 3;
  const int list[] = {2, 0, 1};
  std::copy(list, list + 3, wanted.list);
  check([&] { return Order1(replication_, rules, options_); }, wanted);

  struct Stop1 : WeitzmanPolicy {
    using WeitzmanPolicy::WeitzmanPolicy;
    bool stops(std::span<const Output>, double, double) override { return false; }
  };
  wanted = rules;
  wanted.stop = Stop::never;
  check([&] { return Stop1(replication_, rules, options_); }, wanted);

  struct Learns1 : WeitzmanPolicy {
    using WeitzmanPolicy::WeitzmanPolicy;
    bool learns_from(std::span<const Output>) override { return false; }
  };
  wanted = rules;
  wanted.learning = Learning::calibration;
  check([&] { return Learns1(replication_, rules, options_); }, wanted);

  struct Reward1 : WeitzmanPolicy {  // mu* is known for deploying and stopping
    using WeitzmanPolicy::WeitzmanPolicy;
    double reward_of(const Output& output) override { return output.mu; }
  };
  Reward1 knows(replication_, rules, options_);
  const LaneTally tally = run_custom_lane(replication_, knows, 12);
  EXPECT_EQ(tally.failure, Failure::none);
  EXPECT_EQ(tally.regret.wrong_deployment, 0.0);
}

TEST(WeitzmanEstimator, AnswersWhatItIsAsked) {
  const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::B, 4, 20, 3);
  const Tape& tape = replication.tape;
  LaneSpec rules = rules_of("dow", "unknown", replication, 4);
  rules.c_theta = 0.5;
  WeitzmanEstimator estimator(replication, rules, {});
  const auto request = [&](int period, int row) { return Request{period, {tape.contexts.psi_row(row), 4}, {}}; };
  const auto output = [&](int row, int a) {
    return Output{a, {tape.phi_of(row, a), 2}, tape.cost[tape.at(row, a)], tape.mu[tape.at(row, a)]};
  };
  for (int k = 0; k < 4; ++k)
    estimator.calibrate(request(k + 1, 1 + k), output(1 + k, k % 2), tape.reward[tape.at(1 + k, k % 2)]);
  estimator.begin(request(1, 5));
  EXPECT_EQ(estimator.samples(0), 2);
  EXPECT_EQ(estimator.samples(1), 2);
  EXPECT_GT(estimator.width(0), 0.0);
  EXPECT_EQ(estimator.bonus(0), 0.2);
  double z = 0.0;
  for (int k = 0; k < 4; ++k) z += estimator.rho(1)[k] * tape.contexts.psi_row(5)[k];
  EXPECT_NEAR(estimator.linear(1), z, 1e-12);
  EXPECT_NEAR(estimator.index(1), std::tanh(z + 0.2 * estimator.width(1)), 1e-12);
  EXPECT_NEAR(estimator.index(1, 2.0), std::tanh(z + 2.0 * estimator.width(1)), 1e-12);
  const Output seen = output(5, 0);
  const double theta = estimator.theta()[0] * seen.phi[0] + estimator.theta()[1] * seen.phi[1];
  EXPECT_NEAR(estimator.reward(seen), 1.0 / (1.0 + std::exp(-theta - 0.5 * estimator.reward_width(seen.phi))), 1e-12);
  const Output opened[] = {seen};
  estimator.learn(opened, 0, 1.0);
  EXPECT_EQ(estimator.samples(0), 3);
  EXPECT_EQ(estimator.samples(1), 2);
}

}  // namespace
}  // namespace pandora
