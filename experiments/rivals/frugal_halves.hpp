// FrugalGPT's cascade consists of an order and thresholds. To measure the value of each half, a lane uses one of them
// in Weitzman's rule with learned indices.
#pragma once

#include <algorithm>
#include <limits>

#include "pandora/cascade_search.hpp"
#include "pandora/policy.hpp"

namespace pandora::rivals {

enum class FrugalHalf { order, stop };

/// The plug-in lane with FrugalGPT's order or thresholds in place of its own. A box that the cascade leaves out comes
/// last, and from the cascade's last box on every response is accepted. If the reward is unknown, the search does not
/// know it either: it accepts a response by theta_hat's estimate, with the paper's eta_0 (a lane is made before the
/// study's ridges are known).
inline LaneSpec frugal_lane(const Replication& replication, int T0, RewardModel reward, FrugalHalf half) {
  LaneSpec lane = weitzman_lane(T0, Learning::online, reward, 0.0, 0.0);
  const FrugalCascade cascade = reward == RewardModel::known
                                    ? search_cascade(replication.tape, T0)
                                    : search_cascade_on_rewards(replication.tape, T0, EstimationOptions{}.ridge_reward);
  if (half == FrugalHalf::order) {
    lane.order = Order::listed;
    lane.length = replication.tape.boxes();
    int* next = std::copy(cascade.boxes.begin(), cascade.boxes.end(), lane.list);
    for (int box = 0; box < lane.length; ++box)
      if (std::find(cascade.boxes.begin(), cascade.boxes.end(), box) == cascade.boxes.end()) *next++ = box;
  } else {
    lane.stop = Stop::last_reaches_threshold;
    std::fill(lane.threshold, lane.threshold + kMaxBoxes, -std::numeric_limits<double>::infinity());
    std::copy(cascade.thresholds.begin(), cascade.thresholds.end(), lane.threshold);
  }
  return lane;
}

/// The variants for both reward settings.
inline std::vector<PolicyVariant> frugal_variants(FrugalHalf half) {
  std::vector<PolicyVariant> variants;
  for (const RewardSetting& setting : kRewardSettings)
    variants.push_back({setting.name, "", [=](const Replication& replication, int T0) {
                          return frugal_lane(replication, T0, setting.model, half);
                        }});
  return variants;
}

}  // namespace pandora::rivals
