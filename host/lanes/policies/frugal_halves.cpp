// FrugalGPT's cascade is an order and thresholds. What each half is worth: one of them in Weitzman's rule with learned
// indices.
#include <algorithm>
#include <limits>

#include "host/lanes/policies/cascade_search.hpp"
#include "host/lanes/policies/weitzman.hpp"

namespace pandora::policies {
namespace {

// The plug-in lane, with FrugalGPT's order or its thresholds for its own. A box that the cascade leaves out comes
// last, and from the cascade's last box on every response is accepted. Where the reward is unknown, so it is to the
// search: what accepts a response there is theta_hat's estimate, with the paper's eta_0 (a lane is made before the
// study's ridges are known).
LaneSpec lane_with_half(const Replication& replication, int T0, RewardModel reward, bool its_order) {
  LaneSpec lane = weitzman_lane(T0, Learning::online, reward, 0.0, 0.0);
  const FrugalCascade cascade = reward == RewardModel::known
                                    ? search_cascade(replication.tape, T0)
                                    : search_cascade_on_rewards(replication.tape, T0, EstimationOptions{}.ridge_reward);
  const int A = replication.tape.boxes(), length = static_cast<int>(cascade.boxes.size());
  if (its_order) {
    lane.order = Order::listed;
    lane.length = A;
    int* next = std::copy(cascade.boxes.begin(), cascade.boxes.end(), lane.list);
    for (int a = 0; a < A; ++a)
      if (std::find(cascade.boxes.begin(), cascade.boxes.end(), a) == cascade.boxes.end()) *next++ = a;
  } else {
    lane.stop = Stop::last_reaches_threshold;
    std::fill(lane.threshold, lane.threshold + kMaxBoxes, -std::numeric_limits<double>::infinity());
    std::copy(cascade.thresholds.begin(), cascade.thresholds.begin() + (length - 1), lane.threshold);
  }
  return lane;
}

Policy half(const char* name, const char* title, const char* summary, bool its_order) {
  return {.name = name,
          .title = title,
          .group = PolicyGroup::past_the_paper,
          .summary = summary,
          .needs_calibration = true,
          .by_name_only = true,
          .variants = [its_order](const Grids&) {
            std::vector<PolicyVariant> variants;
            for (const RewardSetting& setting : kRewardSettings)
              variants.push_back({setting.name, "", [=](const Replication& replication, int T0) {
                                    return lane_with_half(replication, T0, setting.model, its_order);
                                  }});
            return variants;
          }};
}

}  // namespace

Policy frugal_order() {
  return half("frugal_order", "FrugalGPT's order", "FrugalGPT's order of boxes, with the stop of learned indices",
              true);
}

Policy frugal_stop() {
  return half("frugal_stop", "FrugalGPT's stop", "the order of learned indices, with FrugalGPT's acceptance thresholds",
              false);
}

}  // namespace pandora::policies
