// The policy restarting_dow starts again when its moments change. Until then it is DOW, and afterwards DOW without
// samples.
#include <gtest/gtest.h>

#include <algorithm>

#include "host/lanes/estimator/reference_engine.hpp"
#include "host/lanes/model/box_changes.hpp"
#include "host/lanes/model/drift.hpp"
#include "host/lanes/model/feedback.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "pandora/weitzman.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

constexpr int kSwap = 1500;

Replication drifting(const std::string& drift, Regime regime, std::uint32_t replication, int periods) {
  Environment environment = test::cheap_environment();
  environment.drift = parse_drift(drift);
  return prepare_on_cpu({{test::small_dimensions(3, 6, 3), environment, regime, replication, 32, test::kCalibration,
                          periods, test::small_oracle()}},
                        nullptr, nullptr);
}

PolicyVariant restarting(std::size_t reward) {  // 0: known, 1: unknown
  Grids grids({0.1});
  grids.set("restart_window", {100.0});
  return find_policy("restarting_dow")->variants(grids)[reward];
}

LaneSpec dow_of(std::size_t reward, const Replication& replication) {
  return find_policy("dow")->variants({0.1})[reward].lane(replication, test::kCalibration);
}

// Plays another policy, and notes the periods from which on it must open every box.
class RestartWatch : public CustomPolicy {
 public:
  explicit RestartWatch(CustomPolicy& policy) : policy_(policy) {}
  void calibrate(const Request& request, const Output& output, std::optional<double> reward) override {
    policy_.calibrate(request, output, reward);
  }
  void begin(const Request& request) override {
    policy_.begin(request);
    const std::vector<double> scores = policy_.scores();
    const bool forced = std::count(scores.begin(), scores.end(), kForcedScore) == std::ssize(scores);
    if (forced && !forced_) restarts.push_back(request.period);
    forced_ = forced;
  }
  int next() override { return policy_.next(); }
  void opened(const Output& output) override { policy_.opened(output); }
  int deploy() override { return policy_.deploy(); }
  std::vector<int> ranking() const override { return policy_.ranking(); }
  void learn(double reward) override { policy_.learn(reward); }
  bool waits_for_rewards() const override { return policy_.waits_for_rewards(); }
  void learn_late(int period, double reward) override { policy_.learn_late(period, reward); }

  std::vector<int> restarts;

 private:
  CustomPolicy& policy_;
  bool forced_ = false;
};

struct Played {
  std::vector<int> restarts;
  std::vector<PeriodOutcome> outcomes;
};

Played play_restarting(std::size_t reward, const Replication& replication) {
  Played out;
  const auto policy = restarting(reward).custom(replication, test::kCalibration, {});
  RestartWatch watch(*policy);
  const Shown shown{reward == 0, false};
  EXPECT_EQ(run_custom_lane(replication, watch, test::kCalibration, nullptr, &out.outcomes, shown).failure,
            Failure::none);
  out.restarts = watch.restarts;
  return out;
}

void expect_same(const PeriodOutcome& one, const PeriodOutcome& other, auto t) {
  ASSERT_EQ(one.queried, other.queried) << t;
  ASSERT_TRUE(std::equal(one.order, one.order + one.queried, other.order)) << t;
  ASSERT_EQ(one.deployed, other.deployed) << t;
}

TEST(RestartingDow, IsDowToTheLastDigitWhereNothingChanges) {
  for (const Regime regime : {Regime::A, Regime::B})
    for (const std::size_t reward : {0u, 1u})
      for (const char* schedule : {"geometric:1.5", "tracking"}) {
        const Replication replication = drifting("", regime, 0, 1500);
        const EstimationOptions options{parse_refit(schedule)};
        const auto policy = restarting(reward).custom(replication, test::kCalibration, options);
        EXPECT_EQ(run_custom_lane(replication, *policy, test::kCalibration),
                  run_reference_lane(replication, dow_of(reward, replication), options))
            << schedule;
      }
}

// The window has 100 outputs of a box, and every fiftieth output brings a test. In regime A every box has its own cost,
// so that a trade is always found. In B it may remain hidden, if the two boxes are alike in most contexts or seldom
// opened.
TEST(RestartingDow, FindsThatTwoBoxesTradedPlacesWithin250Periods) {
  constexpr int kReplications = 6;
  for (const Regime regime : {Regime::A, Regime::B})
    for (const std::size_t reward : {0u, 1u}) {
      SCOPED_TRACE(testing::Message() << (regime == Regime::A ? "A" : "B") << ", reward " << reward);
      int found = 0;
      for (std::uint32_t k = 0; k < kReplications; ++k) {
        const Replication replication = drifting("swap:" + std::to_string(kSwap), regime, k, kSwap + 300);
        const Played played = play_restarting(reward, replication);
        const int first = played.restarts.empty() ? kSwap + 301 : played.restarts[0];
        EXPECT_GT(first, kSwap) << k;
        found += first <= kSwap + 250;
        LaneRecord dow;
        run_reference_lane(replication, dow_of(reward, replication), {}, &dow);
        for (int t = 0; t + 1 < first && t < kSwap + 300; ++t)
          expect_same(played.outcomes[static_cast<std::size_t>(t)], dow.outcomes[static_cast<std::size_t>(t)], t);
      }
      EXPECT_GE(found, regime == Regime::A ? kReplications : kReplications - 2);
    }
}

// A DOW that learns nothing from periods before `first`, and first opens every box five times.
class DowFrom : public WeitzmanPolicy {
 public:
  DowFrom(int first, const Replication& replication, LaneSpec rules)
      : WeitzmanPolicy(replication, with_forced(rules), {}), first_(first) {}
  void calibrate(const Request&, const Output&, std::optional<double>) override {}

 protected:
  bool learns_from(std::span<const Output>) override { return request().period >= first_; }

 private:
  static LaneSpec with_forced(LaneSpec rules) {
    rules.forced = 5;
    return rules;
  }
  const int first_;
};

// Here rewards come late. Rewards from before the restart come after it.
TEST(RestartingDow, AfterARestartIsDowThatStartsThen) {
  for (const std::size_t reward : {0u, 1u}) {
    Replication replication = drifting("swap:" + std::to_string(kSwap), Regime::B, 0, kSwap + 400);
    FeedbackRules rules;
    rules.delay = parse_delay("geometric:40");
    draw_feedback(replication.instance.stream(Purpose::feedback), rules, replication.tape);
    const Played played = play_restarting(reward, replication);
    ASSERT_FALSE(played.restarts.empty());
    const std::size_t first = static_cast<std::size_t>(played.restarts[0]) - 1;
    const std::size_t end =
        played.restarts.size() > 1 ? static_cast<std::size_t>(played.restarts[1]) - 1 : played.outcomes.size();
    ASSERT_GT(end, first + 100);
    DowFrom fresh(played.restarts[0], replication, dow_of(reward, replication));
    std::vector<PeriodOutcome> outcomes;
    run_custom_lane(replication, fresh, test::kCalibration, nullptr, &outcomes);
    for (std::size_t t = first; t < end; ++t) expect_same(played.outcomes[t], outcomes[t], t);
  }
}

TEST(RestartingDow, TakesBoxesThatComeAndGoWithRewardsThatComeLateOrNever) {
  for (const Regime regime : {Regime::A, Regime::B})
    for (const std::size_t reward : {0u, 1u}) {
      Replication replication = drifting("swap:" + std::to_string(kSwap), regime, 1, kSwap + 600);
      Environment changing = replication.instance.environment;
      changing.arrives = parse_box_changes("box 3:400,box 1:1300");
      changing.leaves = parse_box_changes("box 1:900");
      apply_box_changes(changing, false, replication);
      FeedbackRules rules;
      rules.delay = parse_delay("50");
      rules.share = 0.5;
      draw_feedback(replication.instance.stream(Purpose::feedback), rules, replication.tape);
      const Played played = play_restarting(reward, replication);
      EXPECT_EQ(played.outcomes.size(), static_cast<std::size_t>(kSwap + 600));
      EXPECT_FALSE(played.restarts.empty());
    }
}

TEST(RestartingDow, HasAVariantPerWindowAndBonus) {
  Grids grids({0.1, 0.2});
  grids.set("restart_window", {50.0, 100.0, 200.0});
  std::vector<std::string> names;
  for (const PolicyVariant& variant : find_policy("restarting_dow")->variants(grids))
    names.push_back(variant.reward + " " + variant.hyperparameter);
  EXPECT_EQ(names.size(), 2u * 3u + 2u * 2u * 3u);
  EXPECT_EQ(std::count(names.begin(), names.end(), "known c_rho=0.2;restart_window=50"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "unknown c_rho=0.1;c_theta=0.2;restart_window=200"), 1);
}

}  // namespace
}  // namespace pandora
