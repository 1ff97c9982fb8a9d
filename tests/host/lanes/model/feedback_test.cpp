// When rewards are told. Compares the lists with a naive scan, and tests their laws and their keys in studies.
#include "host/lanes/model/feedback.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "pandora/error.hpp"
#include "tests/reference/naive_draws.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

constexpr int kToldPeriods = 3000;

FeedbackRules rules_of(const std::string& delay, double share = 1.0, double flip = 0.0) {
  FeedbackRules rules;
  rules.delay = parse_delay(delay);
  rules.share = share;
  rules.flip = flip;
  return rules;
}

struct Told {
  Tape tape;
  Stream stream{9, Purpose::feedback, 3, 1, 5};
  explicit Told(const FeedbackRules& rules, int periods = kToldPeriods)
      : tape(test::small_replication(test::small_dimensions(3, 3, 2), Regime::A, 4, periods, 5).tape) {
    draw_feedback(stream, rules, tape);
  }
  double uniform(int t, std::size_t k) const {
    return (naive::block(stream, 0, static_cast<std::uint32_t>(t), 0)[k] + 0.5) / 4294967296.0;
  }
};

// The period at whose end the reward of period t is told. Beyond the last period, it is never told.
double naive_time(const Told& told, const FeedbackRules& rules, int t) {
  if (told.uniform(t, 0) >= rules.share) return 1e18;
  const double u = told.uniform(t, 2), mean = rules.delay.mean;
  if (rules.delay.kind == DelayLaw::Kind::constant) return t + mean;
  if (rules.delay.kind == DelayLaw::Kind::geometric) {
    int k = 0;  // a quantile of the law P(D >= k) = (mean / (1 + mean))^k
    for (double beyond = mean / (1.0 + mean), p = beyond; u < p; p *= beyond) ++k;
    return t + k;
  }
  const naive::Words words = naive::block(told.stream, 0, static_cast<std::uint32_t>(t), 0);
  float z, other;
  two_normals(words[2], words[3], z, other);
  return t + std::floor(mean * std::exp(rules.delay.sigma * z - 0.5 * rules.delay.sigma * rules.delay.sigma));
}

TEST(Feedback, ListsAreThoseOfANaiveScan) {
  for (const FeedbackRules& rules : {rules_of("1"), rules_of("100"), rules_of("2999"), rules_of("4000"),
                                     rules_of("0", 0.3), rules_of("geometric:30"), rules_of("lognormal:30:1.5", 0.8)}) {
    const Told told(rules);
    std::vector<double> time;
    for (int t = 0; t < kToldPeriods; ++t) time.push_back(naive_time(told, rules, t));
    for (int t = 0; t < kToldPeriods; ++t) {
      std::vector<int> wanted;
      for (int s = 0; s <= t; ++s)
        if (time[static_cast<std::size_t>(s)] == t) wanted.push_back(s);
      ASSERT_EQ(told.tape.feedback.told_at(t), wanted) << delay_text(rules.delay) << " at " << t;
    }
    EXPECT_TRUE(told.tape.feedback.told.empty());
  }
}

TEST(Feedback, MeansAreThoseAskedFor) {
  const int n = 40000;
  for (const char* delay : {"geometric:7", "lognormal:7:0.8"}) {
    const FeedbackRules rules = rules_of(delay);
    const Told told(rules, n);
    double sum = 0.0, squares = 0.0;
    for (int t = 0; t < n; ++t)
      for (const int s : told.tape.feedback.told_at(t)) {
        sum += t - s;
        squares += (t - s) * static_cast<double>(t - s);
      }
    const double mean = sum / n, error = std::sqrt((squares / n - mean * mean) / n);
    EXPECT_NEAR(mean, rules.delay.kind == DelayLaw::Kind::geometric ? 7.0 : 6.5, 3.0 * error + 0.05) << delay;
  }
  const Told seldom(rules_of("0", 0.3), n);
  EXPECT_NEAR(static_cast<double>(seldom.tape.feedback.period.size()) / n, 0.3, 3.0 * std::sqrt(0.21 / n));
}

TEST(Feedback, FlipsAndPoisonAreOfWhatIsToldAlone) {
  FeedbackRules rules = rules_of("0", 1.0, 0.1);
  rules.poison_from = 100;
  rules.poison_to = 299;
  const Told told(rules);
  const Tape& tape = told.tape;
  EXPECT_TRUE(tape.feedback.at_once());
  int flipped = 0;
  for (int row = 0; row < tape.contexts.rows; ++row) {
    const int t = row - tape.online_row(0);
    const bool poisoned = t + 1 >= 100 && t + 1 <= 299, wrong = t >= 0 && (poisoned || told.uniform(t, 1) < 0.1);
    flipped += wrong && !poisoned ? 1 : 0;
    for (int a = 0; a < 3; ++a) {
      const std::size_t at = tape.at(row, a);
      ASSERT_EQ(tape.told(at), wrong ? 1.0f - tape.reward[at] : tape.reward[at]);
    }
  }
  EXPECT_NEAR(flipped / 2800.0, 0.1, 3.0 * std::sqrt(0.09 / 2800));
}

// The restart loses periods 61 to 100. A reward that comes in one of them is told first, and lost at the restart.
TEST(Feedback, WhatIsLostInARestartIsNotToldAfterIt) {
  FeedbackRules rules = rules_of("30", 1.0);
  rules.restart_at = 100;
  rules.lost = 40;
  const Told told(rules), plain(rules_of("30", 1.0));
  EXPECT_TRUE(told.tape.feedback.restarts);
  for (int t = 0; t < told.tape.online_rows; ++t) {
    const bool of_lost = t >= 100 && t - 30 < 100 && t - 30 >= 60;
    EXPECT_EQ(told.tape.feedback.told_at(t), of_lost ? std::vector<int>{} : plain.tape.feedback.told_at(t)) << t;
  }
}

TEST(Feedback, PlainRulesLeaveATapeAlone) {
  const Told told{FeedbackRules{}};
  EXPECT_TRUE(told.tape.feedback.at_once());
  EXPECT_TRUE(told.tape.feedback.told.empty());
  EXPECT_EQ(told.tape.feedback.told_at(17), std::vector<int>{17});
}

TEST(Feedback, IsWrittenAsItIsRead) {
  for (const char* text : {"0", "100", "geometric:100", "geometric:0.5", "lognormal:100:1.5"})
    EXPECT_EQ(delay_text(parse_delay(text)), text);
  EXPECT_EQ(delay_text(parse_delay("constant:5")), "5");
  for (const char* text : {"", "-1", "1.5", "geometric", "geometric:0", "lognormal:5", "lognormal:5:6", "weibull:5",
                           "geometric:inf", "nan", "5:5"})
    EXPECT_THROW((void)parse_delay(text), Error) << text;
  FeedbackRules rules;
  for (const char* text : {"", "5:5", "2000:3000"}) {
    parse_poison(text, rules);
    EXPECT_EQ(poison_text(rules), text);
  }
  for (const char* text : {"5", "0:5", "6:5", "1:2:3", "a:b", "1.5:2"})
    EXPECT_THROW(parse_poison(text, rules), Error) << text;
  for (const char* text : {"", "5:5", "500:2000"}) {
    parse_restart(text, rules);
    EXPECT_EQ(restart_text(rules), text);
  }
  for (const char* text : {"5", "0:5", "5:0", "1:2:3", "a:b"}) EXPECT_THROW(parse_restart(text, rules), Error) << text;
}

}  // namespace
}  // namespace pandora
