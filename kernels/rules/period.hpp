// One lane through one period: order, query, stop, deploy. The rules cover alg:DOW:detailed, the oracle of
// prop:oracle-weitzman, and their rivals.
#pragma once

#include "kernels/rules/spec.hpp"

namespace pandora {

/// With wider actions (actions.hpp) boxes are arms, and `deployed` may be an arm that was not opened.
struct PeriodOutcome {
  int queried = 0;       ///< |A_t|, at least 1 in the paper's problem
  int ranked = 0;        ///< the length of `order`, at least `queried`
  int order[kMaxBoxes];  ///< the queried boxes in order, then those that the lane would have opened next
  int deployed = 0;      ///< a_t
};

/// Sorts order[0..n) by descending key; ties go to the lowest box.
template <class Key>
PANDORA_HD inline void sort_boxes(int n, const Key* key, int* order) {
  for (int a = 0; a < n; ++a) {
    int k = a;
    for (; k > 0 && key[order[k - 1]] < key[a]; --k) order[k] = order[k - 1];
    order[k] = a;
  }
}

/// The permutation of Order::random in `period`: boxes sorted by one Philox word each. kMost: the most boxes.
template <int kMost = kMaxBoxes>
PANDORA_HD inline void random_permutation(const Stream& stream, std::uint32_t period, int boxes, int* order) {
  std::uint32_t key[kMost + 3];
  for (int first = 0; first < boxes; first += 4) {
    std::uint32_t words[4][1];
    const std::uint32_t block[1] = {static_cast<std::uint32_t>(first / 4)}, periods[1] = {period}, box[1] = {0};
    philox<1>(stream, block, periods, box, words);
    for (int k = 0; k < 4; ++k) key[first + k] = words[k][0];
  }
  sort_boxes(boxes, key, order);
}

/// The order and the stop of a period: the lane's own, unless the period explores.
struct PeriodRules {
  Order order;
  Stop stop;

  PANDORA_HD PeriodRules(const LaneSpec& spec) : order(spec.order), stop(spec.stop) {}  // NOLINT: implicit
  /// Each with probability epsilon: a random order, and no stop before every box is open.
  PANDORA_HD PeriodRules(const LaneSpec& spec, const Stream& exploration, std::uint32_t period) : PeriodRules(spec) {
    if (!(spec.epsilon > 0.0)) return;
    std::uint32_t words[4][1];
    const std::uint32_t block[1] = {0}, periods[1] = {period}, box[1] = {1};
    philox<1>(exploration, block, periods, box, words);
    if (open_uniform(words[0][0]) < spec.epsilon) order = Order::random;
    if (open_uniform(words[1][0]) < spec.epsilon) stop = Stop::never;
  }
};

/// The threshold for the output of the (k+1)-th opened box, k = 0, 1, ... `there`: the boxes that can be opened, bit a
/// for box a. With a listed order the threshold belongs to the (k+1)-th box of the list that can be opened.
PANDORA_HD inline double threshold_at(const LaneSpec& spec, int k, unsigned there) {
  if (there == kAllBoxes || spec.order != Order::listed) return spec.threshold[k];
  int place = 0;
  for (; place < spec.length - 1; ++place)
    if (holds(there, spec.list[place]) && k-- == 0) break;
  return spec.threshold[place];
}

/// Whether `best` is at least the score of every box of the order after the k-th.
template <class Real>
PANDORA_HD inline bool reaches_scores_left(int length, const Real* score, const int* order, int k, Real best) {
  Real largest = score[order[k + 1]];
  for (int j = k + 2; j < length; ++j) largest = score[order[j]] > largest ? score[order[j]] : largest;
  return best >= largest;
}

/// Whether querying stops after the k-th of `length` boxes in `order` has responded with mu. `best` is the largest
/// response so far. kArms: whether boxes are arms (actions.hpp).
template <bool kArms = false, class Real>
PANDORA_HD inline bool stops(const LaneSpec& spec, Stop stop, int length, const Real* score, const int* order, int k,
                             Real mu, Real best, unsigned there = kAllBoxes) {
  // A rule that opens one box, whose value it has estimated, may prefer the outside option.
  if constexpr (kArms)
    if (stop == Stop::after_first && spec.actions.has_outside() && k == 0)
      return spec.values_boxes() && reaches_scores_left(length, score, order, k, best);
  switch (stop) {  // without a default, so that the compiler warns of a rule that is missing here
    case Stop::best_reaches_scores_left:
      return reaches_scores_left(length, score, order, k, best);
    case Stop::last_reaches_threshold:
      return mu >= static_cast<Real>(threshold_at(spec, k, there));
    case Stop::after_first:
      return true;
    case Stop::never:
      return false;
  }
  return false;
}

/// Removes the boxes that are not present (`there`) from an order. If no box of a list is present, the first present
/// box takes its place.
PANDORA_HD inline void keep_those_there(unsigned there, int boxes, PeriodOutcome& outcome) {
  if (there == kAllBoxes) return;
  int kept = 0;
  for (int k = 0; k < outcome.ranked; ++k)
    if (holds(there, outcome.order[k])) outcome.order[kept++] = outcome.order[k];
  for (int a = 0; a < boxes && kept == 0; ++a)
    if (holds(there, a)) outcome.order[kept++] = a;
  outcome.ranked = kept;
}

/// The order of a period. `score[a]` is box a's number under spec.score; `permutation` is the order of Order::random
/// and not used otherwise.
template <class Real>
PANDORA_HD inline void start_walk(const LaneSpec& spec, const PeriodRules& rules, int boxes, const Real* score,
                                  const int* permutation, PeriodOutcome& outcome, unsigned there = kAllBoxes) {
  outcome.ranked = rules.order == Order::listed ? spec.length : boxes;
  const int* given = rules.order == Order::listed ? spec.list : permutation;
  if (rules.order == Order::by_score)
    sort_boxes(boxes, score, outcome.order);
  else
    for (int k = 0; k < outcome.ranked; ++k) outcome.order[k] = given[k];
  keep_those_there(there, boxes, outcome);
}

/// Records that the next box of the order was opened and that the lane estimates its response as mu. `best` is the
/// largest estimate so far, that of outcome.deployed. Returns whether querying stops.
template <bool kArms = false, class Real>
PANDORA_HD inline bool take_response(const LaneSpec& spec, Stop stop, const Real* score, Real mu,
                                     PeriodOutcome& outcome, Real& best, unsigned there = kAllBoxes) {
  const int k = outcome.queried++, box = outcome.order[k];
  if (k == 0 || mu > best || (mu == best && box < outcome.deployed)) {
    best = mu;
    outcome.deployed = box;
  }
  return k + 1 == outcome.ranked || stops<kArms>(spec, stop, outcome.ranked, score, outcome.order, k, mu, best, there);
}

/// Walks one period. `reward_of(a)` is the lane's estimate of mu for the output of box a, called once per queried box.
/// The first box is always opened, also if its index is negative.
template <class Real, class RewardOf>
PANDORA_HD inline PeriodOutcome walk_period(const LaneSpec& spec, const PeriodRules& rules, int boxes,
                                            const Real* score, const int* permutation, RewardOf&& reward_of,
                                            unsigned there = kAllBoxes) {
  PeriodOutcome outcome;
  start_walk(spec, rules, boxes, score, permutation, outcome, there);
  Real best = Real(0);
  for (bool done = false; !done;)
    done = take_response(spec, rules.stop, score, static_cast<Real>(reward_of(outcome.order[outcome.queried])), outcome,
                         best, there);
  return outcome;
}

template <class Real, class RewardOf>
PANDORA_HD inline PeriodOutcome walk_period(const LaneSpec& spec, int boxes, const Real* score, const int* permutation,
                                            RewardOf&& reward_of) {
  return walk_period(spec, PeriodRules(spec), boxes, score, permutation, reward_of);
}

}  // namespace pandora
