// One lane through one period: order, query, stop, deploy (alg:DOW:detailed; the oracle of prop:oracle-weitzman; their
// rivals).
#pragma once

#include "kernels/rules/spec.hpp"

namespace pandora {

struct PeriodOutcome {
  int queried = 0;       ///< |A_t|, at least 1
  int order[kMaxBoxes];  ///< the queried boxes, in order
  int deployed = 0;      ///< a_t
};

/// order[0..n) sorted by descending key, ties to the lowest box.
template <class Key>
PANDORA_HD inline void sort_boxes(int n, const Key* key, int* order) {
  for (int a = 0; a < n; ++a) {
    int k = a;
    for (; k > 0 && key[order[k - 1]] < key[a]; --k) order[k] = order[k - 1];
    order[k] = a;
  }
}

/// The permutation of Order::random in `period`: boxes sorted by one Philox word each. kMost: boxes at the most, here
/// and below.
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

/// Walks one period. `score[a]` is the box's number under spec.score, `permutation` the order of Order::random
/// (else unused), `reward_of(a)` the lane's estimate of mu for the output of box a, called once per queried box.
/// The first box is always opened, also with a negative index.
template <int kMost = kMaxBoxes, class Real, class RewardOf>
PANDORA_HD inline PeriodOutcome walk_period(const LaneSpec& spec, int boxes, const Real* score, const int* permutation,
                                            RewardOf&& reward_of) {
  PeriodOutcome outcome;
  int order[kMost];
  int length = boxes;
  if (spec.order == Order::by_score) {
    sort_boxes(boxes, score, order);
  } else {
    length = spec.order == Order::listed ? spec.length : boxes;
    const int* given = spec.order == Order::listed ? spec.list : permutation;
    for (int k = 0; k < length; ++k) order[k] = given[k];
  }
  Real best = Real(0);
  for (int k = 0; k < length; ++k) {
    const int box = order[k];
    const Real mu = reward_of(box);
    outcome.order[outcome.queried++] = box;
    if (k == 0 || mu > best || (mu == best && box < outcome.deployed)) {
      best = mu;
      outcome.deployed = box;
    }
    if (k + 1 == length || spec.stop == Stop::after_first) break;
    if (spec.stop == Stop::last_reaches_threshold && mu >= static_cast<Real>(spec.threshold[k])) break;
    if (spec.stop == Stop::best_reaches_scores_left) {
      Real largest = score[order[k + 1]];
      for (int j = k + 2; j < length; ++j) largest = score[order[j]] > largest ? score[order[j]] : largest;
      if (best >= largest) break;
    }
  }
  return outcome;
}

}  // namespace pandora
