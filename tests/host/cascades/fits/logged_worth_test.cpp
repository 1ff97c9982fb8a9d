// Cascades by logs and by tables with unknown qualities, whose truth is known by their law.
#include "host/cascades/fits/logged_worth.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "host/cascades/fits/judge_cascade.hpp"
#include "host/outcomes/logs/labels.hpp"
#include "pandora/error.hpp"
#include "tests/host/cascades/fits/fitted_cascades.hpp"

namespace pandora {
namespace {

using test::Random;
using test::TraceLaw;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kLoggedPrice = 1.0;

// Quality is known of 30% of the answers.
TraceTable with_holes(TraceTable table, Random& random) {
  for (double& quality : table.quality)
    if (random.uniform(0.0, 1.0) > 0.3) quality = NAN;
  return table;
}

// Each model is called by a toss of its own, in the order of the table; of a call's quality 70% are known.
TraceTable logged(TraceTable table, const std::vector<double>& probability, Random& random) {
  table.log.emplace();
  table.label_propensity.assign(table.quality.size(), 0.7);
  for (std::size_t at = 0, models = table.models.size(), place = 0; at < table.quality.size(); ++at) {
    if (at % models == 0) place = 0;
    const bool called = random.uniform(0.0, 1.0) < probability[at % models], known = random.uniform(0.0, 1.0) < 0.7;
    table.log->propensity.push_back(called ? probability[at % models] : NAN);
    table.log->place.push_back(called ? static_cast<double>(++place) : NAN);
    if (!called) table.cost[at] = table.scores[0].values[at] = NAN;
    if (!called || !known) table.quality[at] = NAN;
  }
  return table;
}

CascadeOptions thresholds() {
  CascadeOptions out;
  out.models = {TraceLaw(0.3).atoms().models[0], TraceLaw(0.3).atoms().models[1], TraceLaw(0.3).atoms().models[2]};
  out.price = kLoggedPrice;
  out.evaluator = "score";
  out.order = {0, 1, 2};
  out.thresholds = {0.8, 0.4};
  return out;
}

struct HeldIntervals {
  int tables = 0, utility = 0, gain = 0, dollars = 0, quality = 0;
  double width = 0.0;

  void see(const LoggedWorth& found, const test::LawWorth& truth, const test::LawWorth& alone) {
    const auto holds = [](const Interval& interval, double value) {
      return interval.low <= value && value <= interval.high;
    };
    ++tables;
    utility += holds(found.worth.utility, truth.utility);
    gain += holds(found.worth.gain, truth.utility - alone.utility);
    dollars += holds(found.worth.usd_per_1000, 1000.0 * truth.dollars);
    quality += holds(found.worth.quality, truth.quality);
    width += found.worth.quality.high - found.worth.quality.low;
  }
  void expect_kept(const std::string& where) const {
    const double least = 0.95 - 3.0 * std::sqrt(0.05 * 0.95 / tables);
    for (const auto& [what, held] :
         {std::pair("utility", utility), {"gain", gain}, {"dollars", dollars}, {"quality", quality}})
      EXPECT_GE(held, least * tables) << where << ", " << what;
  }
};

class LoggedWorthTest : public testing::Test {
 protected:
  template <class Make>
  HeldIntervals covered(Make&& make, Estimator how, Openings openings) {
    HeldIntervals out;
    Random random(11);
    Cascade cascade(thresholds());
    const test::LawWorth truth = test::worth_under(law_, cascade), alone = test::worth_alone(law_, 2, kLoggedPrice);
    for (int t = 0; t < 200; ++t) {
      const TraceTable table = make(law_.draw(400, random), random);
      out.see(logged_worth(cascade, cascade_input(cascade.options(), table, 0.0), 2, how, openings), truth, alone);
    }
    return out;
  }
  static std::string refusal(const TraceTable& table, std::size_t single = 0) {
    Cascade cascade(thresholds());
    try {
      (void)logged_worth(cascade, cascade_input(cascade.options(), table, 0.0), single, Estimator::dr,
                         Openings::independent);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const TraceLaw law_{0.3};
};

TEST_F(LoggedWorthTest, IntervalsHoldTheTruthWhereQualitiesAreKnownInPart) {
  std::map<Estimator, double> width;
  for (const Estimator how : {Estimator::ips, Estimator::snips, Estimator::dr}) {
    const HeldIntervals found = covered(with_holes, how, Openings::in_order);
    found.expect_kept(kEstimatorNames[static_cast<int>(how)]);
    width[how] = found.width;
  }
  EXPECT_LT(width[Estimator::dr], width[Estimator::ips]);
  EXPECT_LT(width[Estimator::dr], width[Estimator::snips]);
}

TEST_F(LoggedWorthTest, IntervalsHoldTheTruthOfLogs) {
  const auto make = [](const TraceTable& table, Random& random) { return logged(table, {1.0, 0.5, 0.6}, random); };
  std::map<Estimator, double> width;
  for (const Estimator how : {Estimator::ips, Estimator::snips, Estimator::dr}) {
    const HeldIntervals found = covered(make, how, Openings::independent);
    found.expect_kept(kEstimatorNames[static_cast<int>(how)]);
    width[how] = found.width;
  }
  EXPECT_LT(width[Estimator::dr], width[Estimator::ips]);
}

// A log in which all is called and known says what the full table says.
TEST_F(LoggedWorthTest, OfALogWithoutHolesTheyAreThePlainMeans) {
  Random random(3);
  TraceTable table = law_.draw(300, random), log = logged(table, {1.0, 1.0, 1.0}, random);
  log.quality = table.quality;
  log.label_propensity.clear();
  Cascade cascade(thresholds());
  const JudgedCascade plain = judge_cascade(cascade, "c", table, table.models[2]);
  EXPECT_EQ(plain.estimator, Estimator::plugin);
  for (const Estimator how : {Estimator::ips, Estimator::snips, Estimator::dr}) {
    const JudgedCascade found = judge_cascade(cascade, "c", log, table.models[2], "", {}, how, Openings::independent);
    EXPECT_NEAR(found.worth.utility.value, plain.worth.utility.value, 1e-12);
    EXPECT_NEAR(found.worth.gain.value, plain.worth.gain.value, 1e-12);
    EXPECT_NEAR(found.worth.saving.value, plain.worth.saving.value, 1e-12);
    EXPECT_NEAR(found.worth.calls.value, plain.worth.calls.value, 1e-12);
    EXPECT_NEAR(found.effective_prompts, 300.0, 1e-9);
  }
  // In order all three stand behind one another as the cascade calls them, but single models stand where they stand.
  EXPECT_NEAR(judge_cascade(cascade, "c", log, table.models[0], "", {}, Estimator::dr).worth.utility.value,
              plain.worth.utility.value, 1e-12);
  EXPECT_THAT(refusal(log, 2), "");
  try {
    (void)judge_cascade(cascade, "c", log, table.models[2], "", {}, Estimator::dr);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no decision calls what " + table.models[2] + " alone calls"));
  }
}

// Answers that were passed over are deployed, and told of, by exploring alone: few of them carry much.
TEST_F(LoggedWorthTest, RareLabelsThatWereNotDrawnAreNoWrongPropensities) {
  Random random(4);
  const std::size_t rows = 600;
  int refused = 0, wrong = 0;
  for (int t = 0; t < 300; ++t) {
    std::vector<double> p, weights, twice;
    PromptGroups groups{{}, rows};
    for (std::size_t row = 0; row < rows; ++row) {
      p.push_back(row % 5 < 2 ? 0.025 : 0.975);
      weights.push_back(random.uniform(0.0, 1.0) < p.back() ? 1.0 / p.back() : 0.0);
      twice.push_back(random.uniform(0.0, 1.0) < std::min(1.0, 2.0 * p.back()) ? 1.0 / p.back() : 0.0);
      groups.of_row.push_back(row);
    }
    const std::vector<double> before(rows, 1.0);
    const auto is_refused = [](const LogSupport& s) { return std::abs(s.mean - 1.0) > 3.5 * s.mean_error; };
    refused += is_refused(support_of_labels(before, p, weights, groups));
    wrong += is_refused(support_of_labels(before, p, twice, groups));
  }
  EXPECT_LE(refused, 1);
  EXPECT_GE(wrong, 50);
}

// Where few great weights were drawn by chance, their mean and its error are small together.
TEST_F(LoggedWorthTest, TheErrorOfAMeanBelowOneIsThatOfMoreWeights) {
  PromptGroups groups{{}, 100};
  std::vector<double> weights(100, 0.0);
  weights[7] = 25.0;
  for (std::size_t row = 0; row < 100; ++row) groups.of_row.push_back(row);
  const LogSupport support = support_of(weights, groups);
  EXPECT_DOUBLE_EQ(support.mean, 0.25);
  EXPECT_NEAR(support.mean_error, 0.25 / std::sqrt(0.25), 1e-9);
}

TEST_F(LoggedWorthTest, WhatIsRarelyKnownIsUnsureAlsoWhereNoneIsKnown) {
  EXPECT_EQ(LabelNoise::of(3.0, 1.0, true, 0.4).unseen(), 0.0);
  LabelNoise none, many;
  for (int i = 0; i < 4; ++i) none += LabelNoise::of(2.0, 0.25, false, NAN);
  EXPECT_DOUBLE_EQ(none.expected, 4 * 4.0 * 0.75 / 0.25);
  EXPECT_DOUBLE_EQ(none.unseen(), none.expected * LabelNoise::kPriorResidual);
  for (int i = 0; i < 4000; ++i) many += LabelNoise::of(2.0, 0.25, i % 4 == 0, i % 4 == 0 ? 0.5 : NAN);
  EXPECT_NEAR(many.unseen() / many.residual, 0.0, 1e-9);  // as expected: what is known shows it
}

TEST_F(LoggedWorthTest, WhatALogCannotTellIsRefusedWithTheReason) {
  Random random(5);
  const TraceTable table = law_.draw(300, random);
  EXPECT_THAT(refusal(logged(table, {1.0, 0.06, 0.06}, random)),
              HasSubstr("effective prompts do what the cascade does, too few"));
  TraceTable wrong = logged(table, {1.0, 0.8, 0.8}, random);
  for (double& p : wrong.log->propensity) p = p == 1.0 ? 0.5 : p;
  EXPECT_THAT(refusal(wrong), HasSubstr("and not 1: propensities are wrong"));
  Cascade cascade(thresholds());
  for (const auto& [against, how, said] : {std::tuple("", Estimator::dr, "name one with --against"),
                                           {"m", Estimator::plugin, "identifies ips, snips, dr"}})
    try {
      (void)judge_cascade(cascade, "c", logged(table, {1.0, 0.5, 0.5}, random), *against == '\0' ? "" : table.models[0],
                          "", {}, how);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(said));
    }
}

// Where good answers are rated more seldom than bad ones, what corrects the judge can pass every bound.
TEST_F(LoggedWorthTest, AQualityAboveOneIsRefused) {
  const TraceTable log = law_.atoms();
  EXPECT_NO_THROW(require_possible({1.02, 0.92, 1.13}, log, "a"));
  for (const Interval impossible : {Interval{1.45, 1.40, 1.45}, Interval{-0.2, -0.3, -0.1}})
    EXPECT_THROW(require_possible(impossible, log, "a"), Error);
  Random random(3);
  TraceTable above = logged(law_.draw(600, random), {1.0, 0.5, 0.6}, random);
  for (double& quality : above.quality) quality += 1.0;
  EXPECT_THAT(refusal(above), HasSubstr("says that the quality of the cascade is 1."));
  CascadeFitSettings settings = test::settings_at(kLoggedPrice, "score");
  settings.openings = Openings::independent;
  EXPECT_THAT([&] { (void)fit_cascade(above, settings); },
              testing::ThrowsMessage<Error>(HasSubstr("answers whose quality is known are not like the others")));
}

TEST_F(LoggedWorthTest, WhatATableIdentifies) {
  Random random(7);
  const TraceTable table = law_.draw(50, random);
  EXPECT_THAT(estimator_names(identified(table)), ElementsAre("plugin"));
  EXPECT_THAT(estimator_names(identified(with_holes(table, random))), ElementsAre("ips", "snips", "dr"));
  const Identified one = identified(logged(table, {1.0, 0.0, 0.0}, random));
  EXPECT_THAT(estimator_names(one), ElementsAre("ips", "snips", "dr"));
  EXPECT_THAT(one.reasons, testing::Contains(HasSubstr("every decision made one call")));
}

// The fit is that of the table with estimated qualities, and the cascade remembers the table that it is of.
TEST_F(LoggedWorthTest, AFitTakesATableWithHoles) {
  Random random(9);
  const TraceTable table = with_holes(law_.draw(1500, random), random);
  const CascadeFit fit = fit_cascade(table, test::settings_at(kLoggedPrice, "score"));
  EXPECT_EQ(fit.digest, content_digest(table));
  EXPECT_THAT(fit.notes, testing::Contains(HasSubstr("augmented inverse propensity weighting")));
  EXPECT_TRUE(judge_cascade(*fit.cascade, "c", table, "").same_table);
  const double truth = test::worth_under(law_, *fit.cascade).utility;
  EXPECT_LE(fit.promise.utility.low, truth);
  EXPECT_GE(fit.promise.utility.high, truth);
  EXPECT_THROW((void)fit_cascade(table, test::settings_at(kLoggedPrice, "quality")), Error);
}

// What is fitted to a log is nearly as good as what is fitted to all answers, and keeps its promise.
TEST_F(LoggedWorthTest, AFitToALogKeepsItsPromise) {
  Random random(21);
  int kept = 0;
  double by_log = 0.0, by_table = 0.0;
  constexpr int kTables = 40;
  for (int t = 0; t < kTables; ++t) {
    const TraceTable table = law_.draw(1200, random);
    CascadeFitSettings settings = test::settings_at(kLoggedPrice, "score");
    const CascadeFit whole = fit_cascade(table, settings);
    settings.openings = Openings::independent;
    const CascadeFit fit = fit_cascade(logged(table, {1.0, 0.5, 0.6}, random), settings);
    const double truth = test::worth_under(law_, *fit.cascade).utility;
    kept += fit.promise.utility.low <= truth && truth <= fit.promise.utility.high;
    by_log += truth - test::worth_alone(law_, 0, kLoggedPrice).utility;
    by_table += test::worth_under(law_, *whole.cascade).utility - test::worth_alone(law_, 0, kLoggedPrice).utility;
    EXPECT_THAT(fit.notes, testing::Contains(HasSubstr("fitted to a log by importance weights")));
  }
  EXPECT_GE(kept, (0.95 - 3.0 * std::sqrt(0.05 * 0.95 / kTables)) * kTables);
  EXPECT_GE(by_log, 0.9 * by_table);
  CascadeFitSettings bound = test::settings_at(kLoggedPrice, "score");
  bound.aim = {CascadeAim::Kind::most_usd, 0.1};
  EXPECT_THROW((void)fit_cascade(logged(law_.draw(100, random), {1.0, 0.5, 0.5}, random), bound), Error);
}

// g + L (q - g) / p, with g by hand: two scores, so that the map is two means.
TEST(EstimatedQuality, IsTheJudgesWordCorrectedWhereTheTruthIsKnown) {
  TraceTable table;
  table.models = {"m"};
  table.scores = {{"score", {}}};
  for (int row = 0; row < 60; ++row) {
    table.prompts.push_back(std::to_string(row));
    table.cost.push_back(1.0);
    table.scores[0].values.push_back(row % 2 == 0 ? 0.2 : 0.8);
    table.quality.push_back(row % 3 == 0 ? NAN : (row % 2 == 0 ? 0.1 : 0.6) + 0.01 * (row % 5));
  }
  const std::optional<TraceTable> out = with_estimated_quality(table, "score");
  ASSERT_TRUE(out);
  const std::vector<std::size_t> folds = folds_by_appearance(group_prompts(table));
  for (std::size_t row = 0; row < 60; ++row) {
    EXPECT_EQ(folds[row], row % 5);
    double sum = 0.0, count = 0.0;
    for (std::size_t other = row % 2; other < 60; other += 2)
      if (other % 5 != row % 5 && other % 3 != 0) {
        sum += table.quality[other];
        count += 1.0;
      }
    const double g = sum / count, known = row % 3 == 0 ? 0.0 : (table.quality[row] - g) / (40.0 / 60.0);
    EXPECT_NEAR(out->quality[row], g + known, 1e-12) << row;
  }
  EXPECT_EQ(content_digest(*out), content_digest(table));
  EXPECT_FALSE(with_estimated_quality(*out, "score"));
  EXPECT_THROW((void)with_estimated_quality(table, "quality"), Error);
}

}  // namespace
}  // namespace pandora
