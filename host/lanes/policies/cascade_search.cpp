#include "pandora/cascade_search.hpp"

#include <algorithm>

#include "host/lanes/estimator/reward_fit.hpp"
#include "host/outcomes/search/search_cascades.hpp"

namespace pandora {
namespace {

constexpr std::size_t kThresholds = 11;

// `seen(at)`: the number by which the response at that place of the tape is accepted.
template <class Seen>
FrugalCascade search_by(const Tape& tape, int T0, Seen&& seen) {
  std::vector<SearchedModel> boxes;
  std::vector<int> number;
  for (int a = 0; a < tape.boxes(); ++a) {
    if (!holds(tape.there(0), a)) continue;
    number.push_back(a);
    SearchedModel& box = boxes.emplace_back();
    for (std::size_t k = 0; k < kThresholds; ++k) box.thresholds.push_back(static_cast<double>(k) / 10.0);
    for (int period = 0; period < T0; ++period) {
      const std::size_t at = tape.at(tape.calibration_row(period), a);
      box.answers.push_back({seen(at), static_cast<double>(tape.reward[at]), tape.cost[at]});
    }
  }
  const FixedCascade found =
      search_cascades(boxes, static_cast<std::size_t>(longest_cascade(static_cast<int>(boxes.size()))));
  FrugalCascade out{{}, found.thresholds};
  for (const auto box : found.order) out.boxes.push_back(number[static_cast<std::size_t>(box)]);
  return out;
}

}  // namespace

LaneSpec cascade_lane(int T0, const FrugalCascade& cascade) {
  LaneSpec lane;
  lane.T0 = T0;
  lane.order = Order::listed;
  lane.stop = Stop::last_reaches_threshold;
  lane.length = static_cast<int>(cascade.boxes.size());
  std::copy(cascade.boxes.begin(), cascade.boxes.end(), lane.list);
  std::copy(cascade.thresholds.begin(), cascade.thresholds.end(), lane.threshold);
  return lane;
}

std::uint64_t cascade_candidates(int boxes, int longest) {
  std::uint64_t total = 0, count = 1;
  for (int length = 1; length <= longest && count < (std::uint64_t{1} << 50); ++length) {
    count *= static_cast<std::uint64_t>(boxes - length + 1) * (length > 1 ? kThresholds : 1);
    total += count;
  }
  return total;
}

int longest_cascade(int boxes) {
  int longest = 1;
  while (longest < boxes && cascade_candidates(boxes, longest + 1) <= kMostCascades) ++longest;
  return longest;
}

FrugalCascade search_cascade(const Tape& tape, int T0) {
  return search_by(tape, T0, [&](std::size_t at) { return tape.mu[at]; });
}

FrugalCascade search_cascade_on_rewards(const Tape& tape, int T0, double ridge) {
  const int d = tape.contexts.reward_features;
  RewardSamples samples;
  for (int period = 0; period < T0; ++period)
    for (int a = 0; a < tape.boxes(); ++a) {
      if (!holds(tape.there(0), a)) continue;
      const int row = tape.calibration_row(period);
      samples.phi.insert(samples.phi.end(), tape.phi_of(row, a), tape.phi_of(row, a) + d);
      samples.reward.push_back(static_cast<double>(tape.reward[tape.at(row, a)]));
    }
  std::vector<double> memory(static_cast<std::size_t>(RewardState::size(d)));
  RewardState state = RewardState::over(memory.data(), d);
  state.reset(ridge);
  fit_reward(samples, ridge, state);
  return search_by(tape, T0, [&](std::size_t at) {
    return state.estimate(tape.phi.data() + at * static_cast<std::size_t>(d), 0.0);
  });
}

}  // namespace pandora
