// Cascades from what a log says of each model by itself.
#include "host/cascades/fits/apart.hpp"

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
using testing::Contains;
using testing::HasSubstr;

constexpr double kPriceApart = 20.0;

// All combinations of calls, one of each model, each with its probability.
ApartMeans means_by_hand(const FixedCascade& cascade, const ModelLaws& laws, double judge_usd) {
  ApartMeans out;
  std::vector<double> total(laws.size(), 0.0);
  for (std::size_t m = 0; m < laws.size(); ++m)
    for (const LawCall& call : laws[m]) total[m] += call.weight;
  for (const LawCall& a : laws[0])
    for (const LawCall& b : laws[1])
      for (const LawCall& c : laws[2]) {
        const LawCall* const calls[] = {&a, &b, &c};
        const double probability = a.weight / total[0] * b.weight / total[1] * c.weight / total[2];
        double best = -1.0, quality = 0.0;
        for (std::size_t k = 0; k < cascade.order.size(); ++k) {
          const LawCall& call = *calls[cascade.order[k]];
          out.calls += probability;
          out.dollars += probability * (call.dollars + (cascade.order.size() > 1 ? judge_usd : 0.0));
          if (call.seen > best) best = call.seen, quality = call.quality;
          if (k < cascade.thresholds.size() && call.seen >= cascade.thresholds[k]) break;
        }
        out.quality += probability * quality;
      }
  return out;
}

TEST(Apart, MeansAreThoseOfAllCombinations) {
  Random random(3);
  for (int t = 0; t < 300; ++t) {
    ModelLaws laws(3);
    for (std::vector<LawCall>& law : laws) {
      for (std::size_t k = 0; k < 6; ++k)  // with ties
        law.push_back({k, std::floor(random.uniform(0.0, 5.0)) / 4.0, random.uniform(-0.1, 1.1),
                       random.uniform(0.0, 1.0), random.uniform(0.1, 2.0)});
      std::ranges::stable_sort(law, {}, &LawCall::seen);
    }
    FixedCascade cascade{{0, 1, 2}, {}};
    std::rotate(cascade.order.begin(), cascade.order.begin() + t % 3, cascade.order.end());
    cascade.order.resize(static_cast<std::size_t>(1 + t % 4 / 2 + t % 2));
    for (std::size_t k = 0; k + 1 < cascade.order.size(); ++k)
      cascade.thresholds.push_back(std::floor(random.uniform(0.0, 6.0)) / 4.0);
    const ApartMeans found = means_of(cascade, laws, 0.01), hand = means_by_hand(cascade, laws, 0.01);
    ASSERT_NEAR(found.quality, hand.quality, 1e-12);
    ASSERT_NEAR(found.dollars, hand.dollars, 1e-12);
    ASSERT_NEAR(found.calls, hand.calls, 1e-12);
  }
}

// Prompts whose answers are independent: a column of each of three tables.
TraceTable unrelated(const TraceLaw& law, std::size_t rows, Random& random) {
  TraceTable out = law.draw(rows, random);
  for (std::size_t m = 1; m < out.models.size(); ++m) {
    const TraceTable other = law.draw(rows, random);
    for (std::size_t at = m; at < out.quality.size(); at += out.models.size()) {
      out.quality[at] = other.quality[at];
      out.cost[at] = other.cost[at];
      out.scores[0].values[at] = other.scores[0].values[at];
    }
  }
  return out;
}

// One call a decision, of a model that is drawn; 70% of the qualities are known.
TraceTable one_call_log(TraceTable table, Random& random) {
  constexpr double kOf[] = {0.6, 0.25, 0.15};
  table.log.emplace();
  table.label_propensity.assign(table.quality.size(), 0.7);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double toss = random.uniform(0.0, 1.0);
    const std::size_t called = toss < kOf[0] ? 0 : toss < kOf[0] + kOf[1] ? 1 : 2;
    const bool known = random.uniform(0.0, 1.0) < 0.7;
    for (std::size_t m = 0; m < 3; ++m) {
      const std::size_t at = 3 * row + m;
      table.log->propensity.push_back(m == called ? kOf[m] : NAN);
      table.log->place.push_back(m == called ? 1.0 : NAN);
      if (m != called) table.cost[at] = table.scores[0].values[at] = NAN;
      if (m != called || !known) table.quality[at] = NAN;
    }
  }
  return table;
}

// What is fitted to a log of one call a decision is as good as what is fitted to all answers; what is promised of it, and what
// such a log says of it afterwards, holds the truth.
TEST(Apart, LogsOfOneCallTellOfCascadesWhereModelsAreIndependent) {
  const TraceLaw law(0.2);
  Random random(8);
  const TraceTable world = law.draw(40'000, random);  // whose answers mix as were they independent
  const auto means = [&](const CascadeOptions& options) {
    ModelLaws laws(options.models.size());
    for (std::size_t m = 0; m < laws.size(); ++m) {
      const auto column =
          static_cast<std::size_t>(std::ranges::find(world.models, options.models[m]) - world.models.begin());
      const IsotonicMap map{options.calibration[m].scores, options.calibration[m].qualities};
      for (std::size_t at = column; at < world.quality.size(); at += 3)
        laws[m].push_back({0, map(world.scores[0].values[at]), world.quality[at], world.cost[at], 1.0});
      std::ranges::stable_sort(laws[m], {}, &LawCall::seen);
    }
    return means_of({options.order, options.thresholds}, laws, 0.0);
  };
  const auto utility = [&](const CascadeOptions& options) {
    return means(options).quality - kPriceApart * means(options).dollars;
  };
  const auto dollars = [&](const CascadeOptions& options) { return means(options).dollars; };
  const auto dollars_alone = [&](std::size_t model) {
    double sum = 0.0;
    for (std::size_t at = model; at < world.cost.size(); at += 3) sum += world.cost[at];
    return sum / static_cast<double>(world.rows());
  };
  const auto alone = [&](std::size_t model) {
    double sum = 0.0;
    for (std::size_t at = model; at < world.quality.size(); at += 3)
      sum += world.quality[at] - kPriceApart * world.cost[at];
    return sum / static_cast<double>(world.rows());
  };
  CascadeFitSettings settings = test::settings_at(kPriceApart, "score");
  int kept = 0, gains = 0, tested = 0, savings = 0;
  double by_log = 0.0, by_table = 0.0;
  constexpr int kLogs = 60;
  for (int t = 0; t < kLogs; ++t) {
    const TraceTable table = unrelated(law, 1500, random);
    settings.openings = Openings::apart;
    const CascadeFit fit = fit_cascade(one_call_log(table, random), settings);
    const double truth = utility(fit.cascade->options());
    const std::size_t single =
        static_cast<std::size_t>(std::ranges::find(world.models, fit.single_model) - world.models.begin());
    const auto holds = [](const Interval& interval, double x) { return interval.low <= x && x <= interval.high; };
    kept += holds(fit.promise.utility, truth);
    gains += holds(fit.promise.gain, truth - alone(single));
    savings += holds(fit.promise.saving, 1.0 - dollars(fit.cascade->options()) / dollars_alone(single));
    EXPECT_THAT(fit.notes, Contains(HasSubstr("assumed: models' answers to a prompt are independent")));
    EXPECT_THAT(fit.notes, testing::Not(Contains(HasSubstr("context: not used"))));
    const JudgedCascade judged = judge_cascade(*fit.cascade, "c", one_call_log(unrelated(law, 1500, random), random),
                                               "", "", {}, {}, Openings::apart);
    tested += holds(judged.worth.utility, truth);
    EXPECT_THAT(judged.verdict, testing::EndsWith("; if models' answers are independent"));
    if (t >= 10) continue;
    by_log += truth - alone(0);
    by_table += utility(fit_cascade(table, test::settings_at(kPriceApart, "score")).cascade->options()) - alone(0);
  }
  const double least = (0.95 - 3.0 * std::sqrt(0.05 * 0.95 / kLogs)) * kLogs;
  for (const int held : {kept, gains, tested, savings}) EXPECT_GE(held, least);
  EXPECT_GE(by_log, 0.97 * by_table);
}

TEST(Apart, WhatItCannotTellIsRefused) {
  Random random(9);
  const TraceLaw law(0.2);
  CascadeFitSettings settings = test::settings_at(kPriceApart, "score");
  settings.openings = Openings::apart;
  EXPECT_THROW((void)fit_cascade(one_call_log(law.draw(12, random), random), settings), Error);
  const CascadeFit fit = fit_cascade(one_call_log(law.draw(1500, random), random), settings);
  for (const auto& [decisions, said] :
       {std::pair(12, "has too few calls of model"), {20, "effective prompts, and 30"}}) {
    const TraceTable few = one_call_log(law.draw(static_cast<std::size_t>(decisions), random), random);
    EXPECT_THAT([&] { (void)judge_cascade(*fit.cascade, "c", few, "", "", {}, {}, Openings::apart); },
                testing::ThrowsMessage<Error>(HasSubstr(said)));
  }
}

// Where a second call is seldom made, weights of 0 in its place hardly move the mean of all, and the mean of the rest is better.
TEST(OneCallLog, TellsOfNoCascadeWithASecondCall) {
  Random random(21);
  const TraceLaw law(0.2);
  for (int t = 0; t < 20; ++t) {
    TraceTable table = law.draw(1500, random);
    for (std::size_t at = 0; at < table.quality.size(); at += 3 * 25)
      table.scores[0].values[at] = table.quality[at] = 0.0;
    const TraceTable log = one_call_log(table, random);
    EXPECT_EQ(fit_cascade(log, test::settings_at(kPriceApart, "score")).cascade->options().order.size(), 1u);
    CascadeOptions two;
    two.models = log.models;
    two.price = kPriceApart;
    two.evaluator = "score";
    two.order = {0, 1};
    two.thresholds = {1e-6};
    Cascade cascade(two);
    EXPECT_THAT([&] { (void)judge_cascade(cascade, "c", log, log.models[0], "", {}, Estimator::dr); },
                testing::ThrowsMessage<Error>(HasSubstr("no decision of the log makes its call number 2")));
  }
}

// Said where it has no meaning, it would change nothing without a word.
TEST(Apart, IsOfLogsAndHasAnEstimateOfItsOwn) {
  Random random(9);
  const TraceTable table = TraceLaw(0.2).draw(300, random);
  CascadeFitSettings settings = test::settings_at(kPriceApart, "score");
  const CascadeFit fit = fit_cascade(table, settings);
  const auto said = [](const auto& body) {
    try {
      body();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  settings.openings = Openings::apart;
  EXPECT_THAT(said([&] { (void)fit_cascade(table, settings); }), HasSubstr("this table is none"));
  const auto test = [&](const TraceTable& of, std::optional<Estimator> estimator) {
    (void)judge_cascade(*fit.cascade, "c", of, "", "", {}, estimator, Openings::apart);
  };
  EXPECT_THAT(said([&] { test(table, {}); }), HasSubstr("this table is none"));
  const TraceTable log = one_call_log(TraceLaw(0.2).draw(1500, random), random);
  EXPECT_THAT(said([&] { test(log, Estimator::dr); }), HasSubstr("leave out --estimator"));
  EXPECT_EQ(said([&] { test(log, {}); }), "");
}

TEST(Apart, AModelThatOneCallSpeaksForIsRefused) {
  Random random(12);
  TraceTable log = one_call_log(TraceLaw(0.2).draw(600, random), random);
  std::size_t at = 1;
  while (std::isnan(log.log->propensity[at])) at += 3;
  log.log->propensity[at] = 1e-5;
  EXPECT_THAT(faults_of_first_calls(log),
              testing::ElementsAre("", HasSubstr("effective prompts, and 30 are needed"), ""));
  EXPECT_TRUE(std::isnan(estimated_means(log, "score")[1].quality.value));
  EXPECT_THAT([&] { (void)with_estimated_first_calls(log, "none"); },
              testing::ThrowsMessage<Error>(HasSubstr("first calls of medium (1 / propensity) are those of 1.")));
}

// Where some decisions could not have called a model, or propensities are wrong, nothing is said of it.
TEST(Apart, WeightsThatAreNotOneAreRefused) {
  Random random(10);
  TraceTable log = one_call_log(TraceLaw(0.2).draw(600, random), random);
  EXPECT_THAT(faults_of_first_calls(log), testing::Each(""));
  for (std::size_t at = 1; at < log.cost.size(); at += 3)
    if (!std::isnan(log.log->propensity[at])) log.log->propensity[at] = 0.5;
  EXPECT_THAT(faults_of_first_calls(log),
              testing::ElementsAre("", HasSubstr("first calls of medium (1 / propensity) have the mean"), ""));
  CascadeFitSettings settings = test::settings_at(kPriceApart, "score");
  settings.openings = Openings::apart;
  EXPECT_THROW((void)fit_cascade(log, settings), Error);
  EXPECT_TRUE(std::isnan(estimated_means(log, "score")[1].quality.value));
  EXPECT_FALSE(std::isnan(estimated_means(log, "score")[0].quality.value));
  EXPECT_THAT(identified(log).reasons, Contains(HasSubstr("first calls of medium")));
}

}  // namespace
}  // namespace pandora
