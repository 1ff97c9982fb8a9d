// Choices between candidates of which every row is made up.
#include <gtest/gtest.h>

#include <cmath>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/worth.hpp"

namespace pandora {
namespace {

using Aim = CascadeAim::Kind;

constexpr std::size_t kPrompts = 100;

// Candidates with a mean and a spread of quality, and dollars that do not vary.
class MadeUpCandidates {
 public:
  MadeUpCandidates() {
    for (std::size_t row = 0; row < kPrompts; ++row) judged_.groups.of_row.push_back(row);
    judged_.groups.count = kPrompts;
  }
  // `pattern`: after how many rows the sign of the spread changes; candidates of one pattern move together.
  void add(const CascadeCandidate& candidate, double quality, double usd, double spread = 0.0, int pattern = 1) {
    candidates_.push_back(candidate);
    Routed routed = empty_rows(kPrompts);
    for (std::size_t row = 0; row < kPrompts; ++row) {
      routed.quality[row] = quality + ((row / static_cast<std::size_t>(pattern)) % 2 == 0 ? spread : -spread);
      routed.dollars[row] = usd;
      routed.calls[row] = 1;
    }
    judged_.routed.push_back(routed);
  }
  CascadeChoice choice(Aim kind, double value) const { return choose(candidates_, judged_, {kind, value}); }

 private:
  std::vector<CascadeCandidate> candidates_;
  JudgedCandidates judged_;
};

TEST(ChooseCascade, TheSimplerKindUnlessTheOtherIsBetterByItsError) {
  // A difference with a spread of 0.2 over 100 prompts: 0.02 and a little, times 1.5 for the fit.
  for (const auto& [lead, kind] : {std::pair{0.025, CascadeKind::thresholds}, {0.035, CascadeKind::indices}}) {
    MadeUpCandidates candidates;
    candidates.add({CascadeKind::single, 1.0}, 0.5, 0.0);
    candidates.add({CascadeKind::thresholds, 1.0}, 0.7, 0.0);
    candidates.add({CascadeKind::indices, 1.0}, 0.7 + lead, 0.0, 0.2);
    const CascadeChoice choice = candidates.choice(Aim::price, 1.0);
    EXPECT_EQ(choice.rival, kind == CascadeKind::indices ? CascadeKind::thresholds : CascadeKind::indices);
    EXPECT_NEAR(choice.difference.value, lead, 1e-12);
    EXPECT_NEAR(choice.difference_error, 0.0302, 0.0001);
    EXPECT_EQ(choice.kind, kind) << lead;
  }
}

// Of the kinds that are simpler than the best one and perhaps as good, the better one; it is held against the best.
TEST(ChooseCascade, TheBestOfThoseThatNeedLess) {
  for (const auto& [router, thresholds, kind] : {std::tuple{0.705, 0.7, CascadeKind::router},
                                                 {0.7, 0.705, CascadeKind::thresholds},
                                                 {0.65, 0.66, CascadeKind::routed}}) {
    MadeUpCandidates candidates;
    candidates.add({CascadeKind::single, 1.0}, 0.5, 0.0);
    candidates.add({CascadeKind::router, 1.0}, router, 0.0);
    candidates.add({CascadeKind::thresholds, 1.0}, thresholds, 0.0);
    candidates.add({CascadeKind::routed, 1.0}, 0.73, 0.0, 0.2);  // a standard error of 0.0302
    const CascadeChoice choice = candidates.choice(Aim::price, 1.0);
    EXPECT_EQ(choice.kind, kind);
    EXPECT_EQ(choice.rival, kind == CascadeKind::routed ? CascadeKind::thresholds : CascadeKind::routed);
    EXPECT_NEAR(choice.difference.value, 0.73 - (kind == CascadeKind::router ? router : thresholds), 1e-12);
  }
}

// One needs a context and no judge, the other a judge and no context: neither is the simpler one.
TEST(ChooseCascade, ARouterAndThresholdsGoByTheirWorth) {
  for (const double lead : {-0.001, 0.001}) {
    MadeUpCandidates candidates;
    candidates.add({CascadeKind::single, 1.0}, 0.5, 0.0);
    candidates.add({CascadeKind::router, 1.0}, 0.7, 0.0);
    candidates.add({CascadeKind::thresholds, 1.0}, 0.7 + lead, 0.0, 0.2);
    EXPECT_EQ(candidates.choice(Aim::price, 1.0).kind, lead > 0.0 ? CascadeKind::thresholds : CascadeKind::router);
  }
}

TEST(ChooseCascade, OneModelWhereTheGainMayBeNothing) {
  for (const auto& [gain, kind] : {std::pair{0.05, CascadeKind::single}, {0.07, CascadeKind::thresholds}}) {
    MadeUpCandidates candidates;
    candidates.add({CascadeKind::single, 10.0}, 0.5, 0.01);
    candidates.add({CascadeKind::thresholds, 10.0}, 0.5 + gain, 0.01, 0.2);
    const CascadeChoice choice = candidates.choice(Aim::price, 10.0);  // the interval: 0.06 to both sides
    EXPECT_NEAR(choice.gain.value, gain, 1e-12);
    EXPECT_NEAR(choice.gain.high - choice.gain.low, 0.12, 0.001);
    EXPECT_EQ(choice.kind, kind) << gain;
    EXPECT_EQ(choice.cascade, CascadeKind::thresholds);
  }
}

TEST(ChooseCascade, PricesAreTriedUntilOneDoesNotKeepTheBound) {
  MadeUpCandidates candidates;
  candidates.add({CascadeKind::single, 1.0, 0}, 0.4, 0.001);
  candidates.add({CascadeKind::single, 1.0, 1}, 0.6, 0.01);
  candidates.add({CascadeKind::thresholds, 4.0}, 0.5, 0.001);
  candidates.add({CascadeKind::thresholds, 2.0}, 0.6, 0.002);
  candidates.add({CascadeKind::thresholds, 1.0}, 0.8, 0.004);
  candidates.add({CascadeKind::thresholds, 0.5}, 0.9, 0.002);  // after a failure nothing is believed
  CascadeChoice choice = candidates.choice(Aim::most_usd, 0.003);
  EXPECT_EQ(choice.best_of(CascadeKind::thresholds).candidate, 3u);
  EXPECT_TRUE(choice.best_of(CascadeKind::thresholds).met);
  EXPECT_NEAR(choice.best_of(CascadeKind::thresholds).bound, 0.002, 1e-12);
  EXPECT_EQ(choice.single().candidate, 0u);  // the other one is too dear
  EXPECT_EQ(choice.kind, CascadeKind::thresholds);
  EXPECT_NEAR(choice.gain.value, 0.2, 1e-12);  // in quality
  choice = candidates.choice(Aim::most_usd, 0.02);
  EXPECT_EQ(choice.best_of(CascadeKind::thresholds).candidate, 5u);
  EXPECT_EQ(choice.single().candidate, 1u);
}

TEST(ChooseCascade, ABoundOnQualityIsKeptByTheCheapestWithConfidence) {
  MadeUpCandidates candidates;
  candidates.add({CascadeKind::single, 1.0, 0}, 0.9, 0.02);
  candidates.add({CascadeKind::thresholds, 0.0}, 0.9, 0.009, 0.2);
  candidates.add({CascadeKind::thresholds, 1.0}, 0.85, 0.005, 0.2);
  candidates.add({CascadeKind::thresholds, 2.0}, 0.82, 0.001, 0.2);  // 0.82 - 1.66 x 0.0302 is below 0.79
  const CascadeChoice choice = candidates.choice(Aim::least_quality, 0.79);
  EXPECT_EQ(choice.best_of(CascadeKind::thresholds).candidate, 2u);
  EXPECT_NEAR(choice.best_of(CascadeKind::thresholds).bound, 0.85 - 1.6604 * 0.2 / std::sqrt(99.0) * 1.5, 1e-4);
  EXPECT_EQ(choice.kind, CascadeKind::thresholds);
  EXPECT_NEAR(choice.gain.value, 15.0, 1e-9);  // dollars saved on 1,000 prompts
}

TEST(ChooseCascade, WhereNothingKeepsTheBoundTheNearestIsTaken) {
  MadeUpCandidates candidates;
  candidates.add({CascadeKind::single, 1.0, 0}, 0.6, 0.002);
  candidates.add({CascadeKind::single, 1.0, 1}, 0.7, 0.003);
  candidates.add({CascadeKind::thresholds, 0.0}, 0.8, 0.004);
  candidates.add({CascadeKind::thresholds, 1.0}, 0.75, 0.003);
  CascadeChoice choice = candidates.choice(Aim::least_quality, 0.9);
  EXPECT_FALSE(choice.chosen().met);
  EXPECT_EQ(choice.kind, CascadeKind::thresholds);
  EXPECT_EQ(choice.chosen().candidate, 2u);
  choice = candidates.choice(Aim::most_usd, 0.001);
  EXPECT_FALSE(choice.chosen().met);
  EXPECT_EQ(choice.kind, CascadeKind::single);
  EXPECT_EQ(choice.chosen().candidate, 0u);
}

TEST(ChooseCascade, ACascadeThatAloneKeepsTheBoundNeedsNoGain) {
  MadeUpCandidates candidates;
  candidates.add({CascadeKind::single, 1.0, 0}, 0.6, 0.002);
  candidates.add({CascadeKind::thresholds, 0.0}, 0.8, 0.004);
  EXPECT_EQ(candidates.choice(Aim::least_quality, 0.75).kind, CascadeKind::thresholds);
}

}  // namespace
}  // namespace pandora
