// A cascade that runs: the decisions of the reference engine, requests that interleave, feedback that is late.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "host/lanes/estimator/reference_engine.hpp"
#include "tests/host/cascades/live/play.hpp"
#include "tests/reference/lane_specs.hpp"

namespace pandora {
namespace {

class LiveCascade : public testing::Test {
 protected:
  const Replication replication_ = test::small_replication(test::small_dimensions(3, 6, 3), Regime::B, 12, 320, 21);
};

TEST_F(LiveCascade, EqualsTheReferenceEngineInEveryDigit) {
  for (const char* schedule : {"geometric:1.5", "tracking", "every:5"}) {
    const EstimationOptions options{parse_refit(schedule), 0.4, 2.0};
    for (const char* policy : {"dow", "online_plugin", "shrunk_weitzman", "thompson_weitzman",
                               "epsilon_greedy_weitzman", "empirical_weitzman", "linucb_online"})
      for (const char* reward : {"known", "unknown", "none"})
        for (const int T0 : {0, 12}) {
          if ((std::string(policy) == "linucb_online") != (std::string(reward) == "none")) continue;
          SCOPED_TRACE(std::string(schedule) + " " + policy + " " + reward + " " + std::to_string(T0));
          const LaneSpec rules = test::spec_of(policy, reward, replication_, T0);
          LaneRecord wanted;
          ASSERT_EQ(run_reference_lane(replication_, rules, options, &wanted).failure, Failure::none);
          Cascade cascade(test::options_of_lane(replication_, rules, options));
          test::calibrate(cascade, replication_, rules);
          test::expect_same_lane(test::play(std::move(cascade), replication_, rules), wanted);
        }
  }
}

TEST_F(LiveCascade, SavedAndLoadedAtAHundredPlacesGoesOnToTheSameBytes) {
  const EstimationOptions options{parse_refit("tracking"), 0.4, 2.0};
  for (const auto& [policy, reward] :
       {std::pair{"dow", "known"}, {"dow", "unknown"}, {"shrunk_weitzman", "unknown"}, {"linucb_online", "none"}}) {
    SCOPED_TRACE(std::string(policy) + " " + reward);
    const LaneSpec rules = test::spec_of(policy, reward, replication_, 12);
    const auto played = [&](int every, std::string& last) {
      Cascade cascade(test::options_of_lane(replication_, rules, options));
      cascade.set_epoch(0);
      test::calibrate(cascade, replication_, rules);
      int steps = 0, saved = 0;
      const LaneRecord record = test::play(std::move(cascade), replication_, rules, [&](Cascade& now) {
        if (++steps % every == 0 && saved < 100) {
          now = Cascade::parse(now.text(), "memory");
          now.set_epoch(0);  // which is no part of what is learned
          ++saved;
        }
        if (steps > 1200) last = now.text();
      });
      EXPECT_TRUE(saved == 100 || every > 100000) << saved << " of " << steps;
      return record;
    };
    std::string undisturbed, interrupted;
    const LaneRecord wanted = played(1000000, undisturbed);
    test::expect_same_lane(played(11, interrupted), wanted);
    EXPECT_TRUE(interrupted == undisturbed);
  }
}

// What a study's file says of ridges, balls and the schedule of theta_hat a cascade keeps in its own, and one that has
// none of it says nothing.
TEST_F(LiveCascade, KeepsRidgesOnSlopesBallsAndTheScheduleOfTheta) {
  EstimationOptions options{parse_refit("geometric:1.5"), 0.4, 2.0};
  options.ridge_slopes = 3.0;
  options.ridge_loss = 0.05;
  options.radius_rho = 0.5;
  options.radius_theta = 1.0;
  options.refit_reward = parse_reward_refit("geometric:1.3");
  const LaneSpec rules = test::spec_of("dow", "unknown", replication_, 12);
  const auto played = [&](const EstimationOptions& with) {
    Cascade cascade(test::options_of_lane(replication_, rules, with));
    EXPECT_EQ(cascade.text().find("radius_rho") != std::string::npos, with.radius_rho > 0.0);
    EXPECT_EQ(cascade.text().find("refit_reward") != std::string::npos, !with.refit_reward.steps);
    test::calibrate(cascade, replication_, rules);
    return test::play(Cascade::parse(cascade.text(), "memory"), replication_, rules);
  };
  LaneRecord wanted, plain;
  run_reference_lane(replication_, rules, options, &wanted);
  test::expect_same_lane(played(options), wanted);
  options.ridge_slopes = options.ridge_loss = options.radius_rho = options.radius_theta = 0.0;
  options.refit_reward = {};
  run_reference_lane(replication_, rules, options, &plain);
  test::expect_same_lane(played(options), plain);
  EXPECT_NE(plain.scores, wanted.scores);
  options.ridge_payoff = 25.0;
  const CascadeOptions linucb = test::options_of_lane(replication_, test::linucb_lane(12), options);
  EXPECT_EQ(Cascade::parse(Cascade(linucb).text(), "memory").options().estimation.ridge_payoff, 25.0);
}

// Where the quality is known nothing waits for the feedback.
TEST_F(LiveCascade, FeedbackThatIsLateChangesNothingWhereTheQualityIsKnown) {
  const LaneSpec rules = test::spec_of("dow", "known", replication_, 12);
  LaneRecord wanted;
  run_reference_lane(replication_, rules, {}, &wanted);
  Cascade cascade(test::options_of_lane(replication_, rules, {}));
  test::calibrate(cascade, replication_, rules);
  std::vector<std::uint64_t> waiting;
  for (int t = 0; t < replication_.tape.online_rows; ++t) {
    const int row = replication_.tape.online_row(t);
    const std::uint64_t request = cascade.begin(test::psi_of(replication_, row));
    for (int k = 0; const auto box = cascade.next(request); ++k) {
      ASSERT_EQ(static_cast<int>(*box), wanted.outcomes[t].order[k]);
      cascade.observe(request, *box, test::observed(replication_, rules, row, *box));
    }
    ASSERT_EQ(static_cast<int>(cascade.deploy(request)), wanted.outcomes[t].deployed);
    waiting.push_back(request);
    if (t % 7 == 0)
      cascade.feedback(waiting[waiting.size() / 2], 0.5), waiting.erase(waiting.begin() + waiting.size() / 2);
  }
  EXPECT_EQ(cascade.counts().feedbacks, 46u);
}

// theta_hat after each of the first twenty samples is the exact estimate, whatever their order was.
TEST_F(LiveCascade, LearnsTheRewardFromFeedbackInAnyOrder) {
  LaneSpec rules = test::spec_of("online_plugin", "unknown", replication_, 0);
  const auto estimates = [&](bool backwards) {
    Cascade cascade(test::options_of_lane(replication_, rules, {}));
    std::vector<std::pair<std::uint64_t, int>> waiting;
    for (int t = 0; t < 20; ++t) {
      const int row = replication_.tape.online_row(t);
      const std::uint64_t request = cascade.begin(test::psi_of(replication_, row));
      const std::size_t box = *cascade.next(request);
      cascade.observe(request, box, test::observed(replication_, rules, row, t % 3));
      cascade.deploy(request);
      waiting.emplace_back(request, t);
    }
    if (backwards) std::reverse(waiting.begin(), waiting.end());
    for (const auto& [request, t] : waiting) cascade.feedback(request, t % 4 / 3.0);
    const std::uint64_t probe = cascade.begin(test::psi_of(replication_, 5));
    cascade.observe(probe, *cascade.next(probe), test::observed(replication_, rules, 5, 0));
    return cascade.explain(probe).calls[0].quality;
  };
  const double forwards = estimates(false);
  EXPECT_NEAR(estimates(true), forwards, 1e-9);
  EXPECT_GT(std::abs(forwards - 0.5), 1e-3);  // which is what is known without feedback
}

TEST_F(LiveCascade, RequestsThatAreNeverFinishedCostBoundedMemory) {
  LaneSpec rules = test::spec_of("dow", "unknown", replication_, 0);
  CascadeOptions options = test::options_of_lane(replication_, rules, {});
  options.most_requests = 4;
  Cascade cascade(options);
  cascade.set_epoch(0);
  std::vector<std::uint64_t> requests;
  for (int t = 0; t < 10; ++t) {
    const int row = replication_.tape.online_row(t);
    requests.push_back(cascade.begin(test::psi_of(replication_, row)));
    const std::size_t box = *cascade.next(requests.back());
    cascade.observe(requests.back(), box, test::observed(replication_, rules, row, box));
    if (t % 2 == 0) cascade.deploy(requests.back());
  }
  EXPECT_EQ(cascade.counts().dropped_open, 3u);
  EXPECT_EQ(cascade.counts().dropped_waiting, 3u);
  test::expect_refused([&] { cascade.feedback(requests[0], 0.5); }, "request 1 is forgotten");
  cascade.feedback(requests[8], 0.5);
  test::expect_refused([&] { cascade.feedback(requests[8], 0.5); }, "is forgotten: it has had its feedback");
}

TEST_F(LiveCascade, AStepOutOfTurnIsRefusedAndChangesNothing) {
  Cascade cascade(test::two_thresholds());
  cascade.set_epoch(0);
  const float psi[] = {1.0f};
  test::expect_refused([&] { cascade.next(1); }, "there was no request 1");
  const std::uint64_t request = cascade.begin(psi);
  const std::string before = cascade.text();
  test::expect_refused([&] { cascade.deploy(request); }, "has called no model yet");
  test::expect_refused([&] { cascade.feedback(request, 1.0); }, "is not deployed yet");
  test::expect_refused(
      [&] {
        cascade.observe(request, 0, {0.1, {0.5}});
      },
      "model dear is not the one to call next, cheap");
  test::expect_refused([&] { cascade.observe(request, 1, {-0.1, {0.5}}); }, "-0.1 dollars");
  test::expect_refused([&] { cascade.observe(request, 1, {0.1, {1.5}}); }, "score 1.5: give one in [0, 1]");
  test::expect_refused(
      [&] {
        cascade.observe(request, 1, {0.1, {0.5, 0.5}});
      },
      "2 scores; the evaluator quality shows 1");
  const float wide[] = {1.0f, 0.0f};
  test::expect_refused([&] { cascade.begin(wide); }, "psi has 2 numbers; this cascade takes 1");
  test::expect_refused([&] { cascade.calibrate(1, psi, 0, {0.1, {0.5}}, 1.0); }, "do not learn");
  EXPECT_TRUE(cascade.text() == before);
  cascade.observe(request, 1, {0.1, {0.7}});
  EXPECT_FALSE(cascade.next(request).has_value());
  EXPECT_EQ(cascade.explain(request).stopped, "the response of cheap, 0.7000, reaches the threshold 0.7");
  test::expect_refused([&] { cascade.observe(request, 0, {0.1, {0.5}}); }, "calls no further model");
  EXPECT_EQ(cascade.deploy(request), 1u);
  test::expect_refused([&] { cascade.deploy(request); }, "is deployed already");
  test::expect_refused([&] { cascade.feedback(request, 1.1); }, "quality 1.1");
}

TEST_F(LiveCascade, APromptNeedsFeatures) {
  Cascade cascade(test::options_of_lane(replication_, test::spec_of("dow", "known", replication_, 0), {}));
  Prompt prompt;
  prompt.text = "hello";
  test::expect_refused([&] { cascade.begin(prompt); }, "a request begins with psi, 7 numbers");
  Cascade thresholds(test::two_thresholds());
  thresholds.begin(prompt);
  prompt.columns["sorce"] = 1.0;
  test::expect_refused([&] { thresholds.begin(prompt); }, "no feature is made of a column sorce");
}

TEST_F(LiveCascade, ThresholdsGoByTheCalibratedScore) {
  CascadeOptions options = test::two_thresholds();
  options.evaluator = "score";
  options.calibration = {{{0.0, 1.0}, {0.4, 0.6}}, {{0.0, 0.5, 1.0}, {0.1, 0.3, 0.9}}};
  Cascade cascade(options);
  const float psi[] = {1.0f};
  const std::uint64_t request = cascade.begin(psi);
  cascade.observe(request, 1, {0.001, {0.75}});  // 0.6, below 0.7
  EXPECT_EQ(cascade.next(request), 0u);
  cascade.observe(request, 0, {0.1, {0.95}});  // 0.59: the cheap one stays the best
  EXPECT_EQ(cascade.deploy(request), 1u);
  const CascadeExplanation explained = cascade.explain(request);
  EXPECT_DOUBLE_EQ(explained.calls[0].quality, 0.6);
  EXPECT_DOUBLE_EQ(explained.calls[1].quality, 0.59);
  EXPECT_DOUBLE_EQ(explained.models[1].score, 0.7);
  EXPECT_EQ(explained.stopped, "every box is open");
}

// Under `make sanitize` with the thread sanitiser.
TEST_F(LiveCascade, FourThreadsShareACascade) {
  const LaneSpec rules = test::spec_of("dow", "unknown", replication_, 0);
  Cascade cascade(test::options_of_lane(replication_, rules, {}));
  const auto work = [&](int thread) {
    for (int k = 0; k < 100; ++k) {
      const int row = replication_.tape.online_row((thread * 100 + k) % 320);
      const std::uint64_t request = cascade.begin(test::psi_of(replication_, row));
      while (const auto box = cascade.next(request))
        cascade.observe(request, *box, test::observed(replication_, rules, row, *box));
      (void)cascade.explain_json(request);
      const std::size_t deployed = cascade.deploy(request);
      if (k % 5 != 0) cascade.feedback(request, replication_.tape.reward[replication_.tape.at(row, deployed)]);
      if (k % 50 == 0) (void)cascade.text();
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  const CascadeCounts counts = cascade.counts();
  EXPECT_EQ(counts.requests, 400u);
  EXPECT_EQ(counts.deployed, 400u);
  EXPECT_EQ(counts.feedbacks, 320u);
  EXPECT_GE(counts.calls, 400u);
}

}  // namespace
}  // namespace pandora
