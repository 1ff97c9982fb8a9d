// How a lane plays the arms of a period (actions.hpp): their scores, the walk over them, and what is counted. Both
// engines share it.
#pragma once

#include "kernels/rules/tally.hpp"

namespace pandora {

/// walk_period() over arms. score and permutation have a number for every arm; the outside option has the score
/// kFirstOfAll and is first in the permutation.
template <class Real, class RewardOf>
PANDORA_HD inline PeriodOutcome walk_arms(const LaneSpec& spec, const PeriodRules& rules, int arms, const Real* score,
                                          const int* permutation, RewardOf&& reward_of, unsigned there) {
  PeriodOutcome outcome;
  start_walk(spec, rules, arms, score, permutation, outcome, there);
  if (spec.unopened) {  // deploys the first box of the order, or the outside option if it is worth at least all scores
    const int first = spec.actions.has_outside() ? 1 : 0;
    outcome.queried = first;  // the outside option is open
    const bool stays =
        first > 0 && (outcome.ranked == 1 || reaches_scores_left(outcome.ranked, score, outcome.order, 0,
                                                                 static_cast<Real>(spec.actions.outside)));
    outcome.deployed = outcome.order[stays ? 0 : first];
    return outcome;
  }
  Real best = Real(0);
  for (bool done = false; !done;)
    done = take_response<true>(spec, rules.stop, score, static_cast<Real>(reward_of(outcome.order[outcome.queried])),
                               outcome, best, there);
  return outcome;
}

/// The permutation of Order::random over arms.
PANDORA_HD inline void random_arms(const Actions& actions, const Stream& stream, std::uint32_t period, int boxes,
                                   int* order) {
  const int first = actions.has_outside() ? 1 : 0;
  random_permutation(stream, period, boxes * actions.openings, order + first);
  if (first > 0) order[0] = actions.outside_arm(boxes);
}

/// The scores of the arms under Score::hindsight. The arm with the greatest value gets 2, the others -1. The value is
/// mu* - c, or mu* if the lane deploys unopened.
PANDORA_HD inline void hindsight_of_arms(const LaneSpec& spec, const ArmValues& values, unsigned there, double* score) {
  int best = -1;
  const auto value = [&](int arm) { return values.mu[arm] - (spec.unopened ? 0.0 : values.cost[arm]); };
  for (int arm = 0; arm < values.count; ++arm)
    if (holds(there, arm) && (best < 0 || value(arm) > value(best))) best = arm;
  for (int arm = 0; arm < values.count; ++arm) score[arm] = arm == best ? 2.0 : -1.0;
}

/// The numbers by which a lane decides among the arms of a period.
struct ArmPeriod {
  ArmValues values;
  unsigned there;
  double score[kMaxBoxes];
  double response[kMaxBoxes];  ///< the lane's value of the output of an opened arm; mu* of other arms
};

/// Fills in the scores and responses of `arms`, whose `values` and `there` must be filled in. An arm has the score of
/// its box, unless that is the oracle's.
PANDORA_HD inline void score_arms(const LaneSpec& spec, int boxes, const double* box_score, ArmPeriod& arms) {
  const int outside = spec.actions.outside_arm(boxes);
  for (int arm = 0; arm < arms.values.count; ++arm) {
    arms.response[arm] = arms.values.mu[arm];
    arms.score[arm] = arm == outside                      ? 0.0
                      : spec.score == Score::oracle_index ? arms.values.sigma[arm]
                                                          : box_score[spec.actions.box_of(arm)];
  }
  if (spec.score == Score::hindsight) hindsight_of_arms(spec, arms.values, arms.there, arms.score);
  if (outside >= 0) arms.score[outside] = kFirstOfAll;
}

/// Returns the lane's decisions in the period. `followed`: the decisions of the benchmark that it follows (Follow), or
/// null. `reward_of(arm)`: the lane's value of the output of an arm that it opens.
template <class RewardOf>
PANDORA_HD inline PeriodOutcome decide_arms(const LaneSpec& spec, const PeriodRules& rules, int boxes,
                                            const int* permutation, const PeriodOutcome* followed, ArmPeriod& arms,
                                            RewardOf&& reward_of) {
  if (followed != nullptr) return *followed;
  const auto respond = [&](int arm) {
    return arms.response[arm] = arm == spec.actions.outside_arm(boxes) ? spec.actions.outside : reward_of(arm);
  };
  return walk_arms(spec, rules, arms.values.count, arms.score, permutation, respond, arms.there);
}

/// Adds the period to the tally. `optimal`: the benchmark's decisions in this period where boxes may be deployed
/// unopened, else null.
PANDORA_HD inline void count_arms(const LaneSpec& spec, Stop stop, int boxes, const PeriodOutcome& outcome,
                                  const PeriodOutcome* optimal, const ArmPeriod& arms, LaneTally& tally) {
  const ArmValues& values = arms.values;
  if (optimal != nullptr)
    tally.whole_regret(*optimal, outcome, values);
  else
    tally.split_regret(
        outcome, values.count, values.mu, values.cost, values.sigma,
        [&](const int* order) {
          return opened_by_lane<true>(spec, stop, outcome.ranked, arms.score, arms.response, order, arms.there);
        },
        arms.there);
  tally.add(outcome, spec.actions, boxes, values);
}

}  // namespace pandora
