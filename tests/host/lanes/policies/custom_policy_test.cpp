// Policies by code: their values, the rules that they must keep, and their agreement with the same rules in a LaneSpec.
#include "pandora/custom_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>
#include <tuple>

#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

const Replication& custom_replication() {
  static const Replication one = test::small_replication(test::small_dimensions(3, 4, 2), Regime::B, 7, 90, 41);
  return one;
}

// Weitzman's rule with the oracle's indices, as the lane of the policy `oracle` has it.
class OracleAsCode : public CustomPolicy {
 public:
  void begin(const Request& request) override {
    sigma_.assign(request.sigma.begin(), request.sigma.end());
    open_.assign(sigma_.size(), false);
    best_ = -1;
  }
  int next() override {
    int box = -1;
    for (std::size_t a = 0; a < sigma_.size(); ++a)
      if (!open_[a] && (box < 0 || sigma_[a] > sigma_[box])) box = static_cast<int>(a);
    return best_ >= 0 && best_mu_ >= sigma_[box] ? kStop : box;
  }
  void opened(const Output& output) override {
    open_[output.box] = true;
    if (best_ >= 0 && output.mu <= best_mu_) return;
    best_ = output.box;
    best_mu_ = output.mu;
  }
  int deploy() override { return best_; }

 private:
  std::vector<double> sigma_;
  std::vector<bool> open_;
  int best_ = -1;
  double best_mu_ = 0.0;
};

TEST(CustomPolicy, TheOracleAsCodeIsTheOracle) {
  OracleAsCode policy;
  const LaneTally own = run_custom_lane(custom_replication(), policy, 5);
  LaneSpec lane;
  lane.T0 = 5;
  lane.score = Score::oracle_index;
  EXPECT_EQ(own, run_reference_lane(custom_replication(), lane, {}));
  EXPECT_EQ(own.periods, 90);
  EXPECT_EQ(own.curve[own.recorded - 1], own.utility);
}

// Opens box 1 alone, and records everything that it is shown.
class Recorder : public CustomPolicy {
 public:
  struct Calibration {
    int period, box;
    std::optional<double> reward;
  };
  std::vector<Calibration> calibrations;
  std::vector<double> rewards, costs;
  std::vector<int> periods;
  std::size_t m = 0, d = 0;

  void calibrate(const Request& request, const Output& output, std::optional<double> reward) override {
    calibrations.push_back({request.period, output.box, reward});
    EXPECT_TRUE(request.sigma.empty());
  }
  void begin(const Request& request) override {
    periods.push_back(request.period);
    m = request.psi.size();
    EXPECT_EQ(request.psi[0], 1.0f);
    opened_ = false;
  }
  int next() override { return opened_ ? kStop : 1; }
  void opened(const Output& output) override {
    opened_ = true;
    costs.push_back(output.cost);
    d = output.phi.size();
  }
  int deploy() override { return 1; }
  void learn(double reward) override { rewards.push_back(reward); }

 private:
  bool opened_ = false;
};

TEST(CustomPolicy, SeesTheCalibrationInRoundRobinAndThePeriodsInOrder) {
  Recorder policy;
  run_custom_lane(custom_replication(), policy, 7);
  const Tape& tape = custom_replication().tape;
  ASSERT_EQ(policy.calibrations.size(), 7u);
  for (int k = 0; k < 7; ++k) {
    EXPECT_EQ(policy.calibrations[k].period, k + 1);
    EXPECT_EQ(policy.calibrations[k].box, k % 3);
    EXPECT_EQ(policy.calibrations[k].reward, static_cast<double>(tape.reward[tape.at(tape.calibration_row(k), k % 3)]));
  }
  ASSERT_EQ(policy.rewards.size(), 90u);
  for (int t = 0; t < 90; ++t) {
    const std::size_t at = tape.at(tape.online_row(t), 1);
    EXPECT_EQ(policy.periods[t], t + 1);
    EXPECT_EQ(policy.costs[t], tape.cost[at]);
    EXPECT_EQ(policy.rewards[t], tape.reward[at]);
  }
  EXPECT_EQ(policy.m, 5u);
  EXPECT_EQ(policy.d, 2u);
}

TEST(CustomPolicy, WithoutCalibrationSeesEveryBoxOnceAndNoReward) {
  Recorder policy;
  run_custom_lane(custom_replication(), policy, 0);
  ASSERT_EQ(policy.calibrations.size(), 3u);
  for (int a = 0; a < 3; ++a) {
    EXPECT_EQ(policy.calibrations[a].box, a);
    EXPECT_EQ(policy.calibrations[a].period, 0);
    EXPECT_FALSE(policy.calibrations[a].reward);
  }
}

// Values that a policy did not ask for are NaN: mu* unless its reward setting is "known", the oracle's indices unless
// it is a yardstick, and everything of outputs that it has not opened.
TEST(CustomPolicy, IsShownWhatItSaidThatItMaySee) {
  struct Looks : Recorder {
    bool sees_mu = true, sees_sigma = true;
    int asked = 0;

    void calibrate(const Request& r, const Output& output, std::optional<double> reward) override {
      EXPECT_EQ(std::isnan(output.mu), !sees_mu);
      Recorder::calibrate(r, output, reward);
    }
    void begin(const Request& request) override {
      for (const double sigma : request.sigma) EXPECT_EQ(std::isnan(sigma), !sees_sigma);
      EXPECT_EQ(request.sigma.size(), 3u);
      Recorder::begin(request);
    }
    void opened(const Output& output) override {
      EXPECT_EQ(std::isnan(output.mu), !sees_mu);
      EXPECT_FALSE(std::isnan(output.cost));
      Recorder::opened(output);
    }
    std::optional<int> opens_of(std::span<const Output> outputs, std::span<const double> worth) override {
      const Tape& tape = custom_replication().tape;
      EXPECT_EQ(outputs.size(), 3u);
      for (const Output& output : outputs) {
        const bool seen = output.box == 1;
        EXPECT_EQ(std::isnan(output.mu), !(seen && sees_mu));
        EXPECT_EQ(std::isnan(output.cost), !seen);
        EXPECT_EQ(std::isnan(output.phi[0]), !seen);
        EXPECT_EQ(worth[output.box], tape.mu[tape.at(tape.online_row(asked), output.box)]);
      }
      ++asked;
      return {};
    }
  };
  LaneTally first;
  for (const Shown shown : {Shown{true, true}, Shown{false, true}, Shown{true, false}, Shown{false, false}}) {
    Looks policy;
    policy.sees_mu = shown.mu;
    policy.sees_sigma = shown.sigma;
    const LaneTally tally = run_custom_lane(custom_replication(), policy, 4, nullptr, nullptr, shown);
    EXPECT_EQ(policy.asked, 90);
    if (first.periods == 0) first = tally;
    EXPECT_EQ(tally, first);
  }

  Policy policy;
  PlannedLane lane{&policy, {}, 0};
  for (const char* reward : {"known", "unknown", "none"})
    EXPECT_EQ((lane.variant.reward = reward, shown_to(lane).mu), std::string(reward) == "known");
  EXPECT_FALSE(shown_to(lane).sigma);
  policy.group = PolicyGroup::yardstick;
  EXPECT_TRUE(shown_to(lane).sigma);
}

// If a policy does not describe its stopping rule, it counts as opening the same number of boxes in the oracle's order.
TEST(CustomPolicy, PartsOfItsRegretAreThoseOfItsRules) {
  Recorder policy;
  LaneSpec rules;
  rules.order = Order::listed;
  rules.list[0] = rules.length = 1;
  rules.stop = Stop::after_first;
  const LaneTally own = run_custom_lane(custom_replication(), policy, 0);
  EXPECT_EQ(own, run_reference_lane(custom_replication(), rules, {}));
  EXPECT_NE(own.regret.wrong_order_gap, 0.0);
}

// Breaks one rule in period 4.
struct Cheat : Recorder {
  std::function<int()> chooses = nullptr;
  int deploys = 1;

  int next() override { return periods.back() == 4 && chooses ? chooses() : Recorder::next(); }
  int deploy() override { return periods.back() == 4 ? deploys : 1; }
};

TEST(CustomPolicy, ALaneThatBreaksTheRulesFailsThere) {
  const auto throws = []() -> int { throw std::runtime_error("cheat"); };
  const std::tuple<std::function<int()>, int, const char*> cases[] = {
      {[] { return CustomPolicy::kStop; }, 1, "next() stopped before any box was open"},
      {[] { return 1; }, 1, "which is open already"},
      {[] { return 3; }, 1, "returned 3, and the indices of boxes are 0 to 2"},
      {nullptr, 0, "0, the index of box 1, which is not open"},
      {throws, 1, "cheat"}};
  for (const auto& [chooses, deploys, what] : cases) {
    Cheat policy;
    policy.chooses = chooses;
    policy.deploys = deploys;
    std::string why;
    const LaneTally tally = run_custom_lane(custom_replication(), policy, 2, &why);
    EXPECT_THAT(why, testing::HasSubstr(what));
    EXPECT_EQ(tally.failure, Failure::policy) << what;
    EXPECT_EQ(tally.failed_period, 4);
    EXPECT_EQ(tally.periods, 3);
  }
  struct : Recorder {
    void calibrate(const Request&, const Output&, std::optional<double>) override { throw std::runtime_error("cheat"); }
  } early;
  const LaneTally tally = run_custom_lane(custom_replication(), early, 2);
  EXPECT_EQ(tally.failure, Failure::policy);
  EXPECT_EQ(tally.failed_period, 0);
  EXPECT_EQ(tally.periods, 0);
}

// Lack of memory is no fault of the policy, and the next run may finish the lane. An Error is meant for the user.
TEST(CustomPolicy, OutOfMemoryAndErrorsEndTheRunNotTheLane) {
  class Greedy : public Recorder {
    int next() override { throw std::bad_alloc(); }
  } greedy;
  EXPECT_THROW(run_custom_lane(custom_replication(), greedy, 2), std::bad_alloc);
  class Speaker : public Recorder {
    int next() override { throw Error(ExitCode::bad_data, "its table is missing"); }
  } speaker;
  EXPECT_THROW(run_custom_lane(custom_replication(), speaker, 2), Error);
}

// Runs the body and ends the process with the error's code and message. In the same process, a registration would last.
template <class Body>
void end_with_error(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s", error.what());
    std::exit(static_cast<int>(error.code()));
  }
  std::exit(0);
}

TEST(CustomPolicyDeathTest, TwoVariantsOfOneNameAreRefused) {
  const auto plan_with = [](const char* second) {
    Policy policy;
    policy.name = "twins";
    policy.variants = [second](const Grids&) {
      const auto lane = [](const Replication&, int) { return LaneSpec{}; };
      return std::vector<PolicyVariant>{{"known", "x=1", lane}, {"known", second, lane}};
    };
    register_policy(policy);
    Study study;
    study.policies = {"twins"};
    study.environments = {paper_environments()[0]};
    make_plan(study);
  };
  EXPECT_EXIT(end_with_error([&] { plan_with("x=1"); }), testing::ExitedWithCode(2), "twins.*twins/known/x=1");
  EXPECT_EXIT(end_with_error([&] { plan_with("x=2"); }), testing::ExitedWithCode(0), "");
}

TEST(CustomPolicyDeathTest, ADrawerThatThrowsIsNamedWithItsReplication) {
  const auto draw_with = [] {
    Environment environment = paper_environments()[0];
    environment.name = "broken";
    environment.id = 77;
    register_environment(environment,
                         [](const ReplicationRequest&) -> Replication { throw std::runtime_error("no such file"); });
    Study study;
    study.environments = {environment};
    study.regimes = {Regime::B};
    study.order = false;
    const Plan plan = make_plan(study);
    prepare_replication(study, plan, plan.units[3], nullptr);
  };
  EXPECT_EXIT(end_with_error(draw_with), testing::ExitedWithCode(1), "broken/B/3: .*no such file");
}

Policy named(const std::string& name) {
  Policy policy;
  policy.name = name;
  policy.variants = [](const Grids&) { return std::vector<PolicyVariant>{}; };
  return policy;
}

TEST(RegisterPolicy, RefusesWhatCannotBeNamed) {
  for (const char* name : {"", "a b", "dow", "a/b", "a,b"}) try {
      register_policy(named(name));
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
    }
  EXPECT_THROW(register_policy(Policy{.name = "without_variants"}), Error);
  Policy odd = named("odd");
  odd.hyperparameters = {{"c rho", "a blank"}};
  EXPECT_THROW(register_policy(odd), Error);
  EXPECT_FALSE(has_registered_policies());
}

TEST(Grids, GiveEachHyperparameterItsOwnValuesOrThoseOfAll) {
  Grids grids{0.5, 2.0};
  grids.set("c_rho", {7.0});
  EXPECT_EQ(grids.values("c_rho"), std::vector<double>{7.0});
  EXPECT_EQ(grids.values("c_theta"), (std::vector<double>{0.5, 2.0}));
  EXPECT_EQ(Grids().values("c_b"), kPaperHyperparameters);
  EXPECT_EQ(find_policy("dow")->variants(grids).size(), 1u + 1u * 2u);
  std::string s;
  for (const Hyperparameter& h : all_hyperparameters()) s += h.name + " ";
  EXPECT_EQ(s, "c_rho c_theta c_b c_shrunk c_shrunk_theta c_thompson epsilon c_tied c_liu c_programme restart_window ");
}

}  // namespace
}  // namespace pandora
