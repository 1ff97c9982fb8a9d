// Which lanes go through a run together (kernels/lane/cohort.hpp).
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "host/lanes/engine/lanes.hpp"
#include "kernels/lane/cohort.hpp"

namespace pandora::engine {

/// The expected cost of a lane, in thousands of instructions of its warps for each block of periods: matrices that
/// advance, its walk, its solves.
inline int expected_cost(const LaneSpec& spec, const LaneNeeds& needs, int boxes) {
  constexpr int kMatrix = 30, kWalk = 20, kReward = 16, kSolves = 10;
  return ((needs.widths ? 1 : 0) + (needs.curvature ? 1 : 0)) * boxes * kMatrix + kWalk +
         (spec.learns_reward() ? kReward : 0) + (spec.learns_index() && spec.online() ? boxes * kSolves : 0);
}

/// kCohortLanes places for each cohort. Its lanes, at most `most` and at most as many as a cohort may have, come first;
/// the other places are -1. The lanes of a cohort belong to one unit. They are distributed so that cohorts cost about
/// the same, since all wait for the slowest; the most expensive come first.
inline std::vector<int> deal_cohorts(std::span<const UnitOfLanes> units, const RefitSchedule& refit, int boxes,
                                     std::size_t most = kCohortLanes) {
  struct Cohort {
    int cost = 0;
    std::vector<int> lanes;
  };
  most = std::min(most, static_cast<std::size_t>(lanes_of_cohort(refit)));
  std::vector<Cohort> cohorts;
  int before = 0;  // lanes of earlier units
  for (const UnitOfLanes& unit : units) {
    std::vector<int> cost;
    for (const LaneSpec& spec : unit.lanes) cost.push_back(expected_cost(spec, needs_of(spec, refit), boxes));
    std::vector<int> order(cost.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](int lane) { return cost[static_cast<std::size_t>(lane)]; });
    std::vector<Cohort> dealt((order.size() + most - 1) / most);
    for (const int lane : order) {
      Cohort& least = *std::ranges::min_element(
          dealt, {}, [most](const Cohort& cohort) { return std::pair(cohort.lanes.size() == most, cohort.cost); });
      least.cost += cost[static_cast<std::size_t>(lane)];
      least.lanes.push_back(before + lane);
    }
    std::ranges::move(dealt, std::back_inserter(cohorts));
    before += static_cast<int>(unit.lanes.size());
  }
  std::ranges::stable_sort(cohorts, std::greater<>(), &Cohort::cost);
  std::vector<int> members;
  for (Cohort& cohort : cohorts) {
    cohort.lanes.resize(kCohortLanes, -1);
    members.insert(members.end(), cohort.lanes.begin(), cohort.lanes.end());
  }
  return members;
}

}  // namespace pandora::engine
