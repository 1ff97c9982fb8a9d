// Replications and made-up requests, played through a Cascade.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "pandora/cascade.hpp"
#include "pandora/error.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora::test {

inline LaneSpec spec_of(const std::string& policy, const std::string& reward, const Replication& replication, int T0) {
  for (const PolicyVariant& variant : find_policy(policy)->variants({0.2}))
    if (variant.reward == reward) return variant.lane(replication, T0);
  throw std::logic_error("no such variant");
}

/// A cascade with a lane's rules that sees what the lane sees: mu* where the rules know it, else phi.
inline CascadeOptions options_of_lane(const Replication& replication, const LaneSpec& rules,
                                      const EstimationOptions& estimation) {
  CascadeOptions options;
  for (int a = 0; a < replication.tape.boxes(); ++a) options.models.push_back("box" + std::to_string(a + 1));
  options.price = 1.0;
  options.rules = rules;
  options.estimation = estimation;
  options.index_features = replication.tape.contexts.index_size;
  options.exploration = replication.instance.stream(Purpose::exploration);
  options.random_order = replication.instance.stream(Purpose::random_order);
  if (rules.learns_reward()) {
    options.evaluator = "column:phi";
    options.reward_features = replication.tape.contexts.reward_features;
  }
  return options;
}

inline std::span<const float> psi_of(const Replication& replication, int row) {
  const Contexts& contexts = replication.tape.contexts;
  return {contexts.psi_row(row), static_cast<std::size_t>(contexts.index_size)};
}

inline Observation observed(const Replication& replication, const LaneSpec& rules, int row, std::size_t box) {
  const Tape& tape = replication.tape;
  const int a = static_cast<int>(box);
  Observation out{tape.cost[tape.at(row, a)], {}};
  if (rules.learns_reward())
    out.scores.assign(tape.phi_of(row, a), tape.phi_of(row, a) + tape.contexts.reward_features);
  else
    out.scores = {tape.mu[tape.at(row, a)]};
  return out;
}

inline void calibrate(Cascade& cascade, const Replication& replication, const LaneSpec& rules) {
  const Tape& tape = replication.tape;
  for (int a = 0; a < tape.boxes() && rules.T0 == 0; ++a)
    cascade.calibrate(0, psi_of(replication, 0), a, observed(replication, rules, 0, a), {});
  for (int k = 0; k < rules.T0; ++k) {
    const int row = tape.calibration_row(k), a = k % tape.boxes();
    cascade.calibrate(k + 1, psi_of(replication, row), a, observed(replication, rules, row, a),
                      tape.reward[tape.at(row, a)]);
  }
}

/// Called between any two steps of play().
using BetweenSteps = std::function<void(Cascade&)>;

/// The online periods in order, each with its feedback at once.
inline LaneRecord play(
    Cascade cascade, const Replication& replication, const LaneSpec& rules,
    const BetweenSteps& between = [](Cascade&) {}) {
  LaneRecord record;
  const Tape& tape = replication.tape;
  const std::size_t A = static_cast<std::size_t>(tape.boxes());
  for (int t = 0; t < tape.online_rows; ++t) {
    const int row = tape.online_row(t);
    between(cascade);
    const std::uint64_t request = cascade.begin(psi_of(replication, row));
    between(cascade);
    PeriodOutcome outcome;
    while (const auto box = cascade.next(request)) {
      cascade.observe(request, *box, observed(replication, rules, row, *box));
      outcome.order[outcome.queried++] = static_cast<int>(*box);
      between(cascade);
    }
    outcome.deployed = static_cast<int>(cascade.deploy(request));
    between(cascade);
    const CascadeExplanation explained = cascade.explain(request);
    record.rewards.resize(record.rewards.size() + A, 0.0);
    for (const CascadeExplanation::Call& call : explained.calls)
      record.rewards[record.rewards.size() - A + call.model] = call.quality;
    for (const CascadeExplanation::Model& model : explained.models) {
      record.scores.push_back(model.score);
      record.widths.push_back(model.width);
      record.predictions.push_back(model.prediction);
      record.bonuses.push_back(model.bonus);
    }
    record.outcomes.push_back(outcome);
    cascade.feedback(request, tape.reward[tape.at(row, outcome.deployed)]);
  }
  return record;
}

inline void expect_same_lane(const LaneRecord& own, const LaneRecord& wanted) {
  EXPECT_EQ(own.scores, wanted.scores);
  EXPECT_EQ(own.widths, wanted.widths);
  EXPECT_EQ(own.predictions, wanted.predictions);
  EXPECT_EQ(own.bonuses, wanted.bonuses);
  EXPECT_EQ(own.rewards, wanted.rewards);
  ASSERT_EQ(own.outcomes.size(), wanted.outcomes.size());
  for (std::size_t t = 0; t < own.outcomes.size(); ++t) {
    const PeriodOutcome &a = own.outcomes[t], &b = wanted.outcomes[t];
    ASSERT_EQ(std::vector<int>(a.order, a.order + a.queried), std::vector<int>(b.order, b.order + b.queried)) << t;
    ASSERT_EQ(a.deployed, b.deployed) << t;
  }
}

/// Two models in an order of their own: cheap first, accepted from 0.7.
inline CascadeOptions two_thresholds() {
  CascadeOptions options;
  options.models = {"dear", "cheap"};
  options.price = 2.0;
  options.order = {1, 0};
  options.thresholds = {0.7};
  return options;
}

template <class Body>
void expect_refused(const Body& body, const std::string& part, ExitCode code = ExitCode::usage) {
  try {
    body();
    FAIL() << "was not refused; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

// A cascade of models "a", "b", ... that learns from scores in [0, 1].
inline CascadeOptions learner(std::size_t models, const LaneSpec& rules) {
  CascadeOptions options;
  for (std::size_t a = 0; a < models; ++a) options.models.push_back(std::string(1, static_cast<char>('a' + a)));
  options.price = 2.0;
  options.rules = rules;
  options.evaluator = rules.learns_reward() ? "score" : "quality";
  options.index_features = 3;
  return options;
}

}  // namespace pandora::test
