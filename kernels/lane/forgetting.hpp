// Samples that fade or are forgotten, between two blocks. RefitReward, StartBox and SolveJoint then fit anew to the
// samples that are left.
#pragma once

#include "kernels/rules/forgetting.hpp"
#include "kernels/solve/reward_solve.hpp"

namespace pandora::engine {

/// Item: lane; a warp each.
template <class Real>
struct ForgetSamples {
  static constexpr const char* kName = "forget";
  Problem<Real> problem;
  double factor;    ///< by which weights are multiplied
  int first, last;  ///< samples learned in these periods stay (Forgetting::first_kept)

  /// The samples of a list that stay, and their weight. Samples stand in the order in which they were learned.
  struct Kept {
    int first, last;
    double weight;

    PANDORA_HD int count() const { return last - first; }
  };

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const LaneView<Real>& lane = problem.lanes[item];
    if (!lane.spec.online() || lane.tally->failure != Failure::none) return;
    const double least = lane.spec.learns_payoff() ? Forgetting::kLeastPayoffWeight : Forgetting::kLeastWeight;
    int samples = 0;
    for (int a = 0; a < problem.shape.A; ++a) {
      forget(team, lane, lane.box[a], least);
      samples += lane.box[a].progress->counted();
    }
    if (lane.joint != nullptr && team.rank() == 0) {
      lane.joint->samples = samples;
      lane.joint->squares = 0.0;
    }
    if (lane.spec.learns_reward()) forget_rewards(team, lane);
  }

 private:
  template <class Team>
  PANDORA_HD void forget(const Team& team, const LaneView<Real>& lane, const BoxView<Real>& box, double least) const {
    const Shape& shape = problem.shape;
    BoxProgress& progress = *box.progress;
    const int n = progress.samples;
    const Kept kept = fade(team, n, n - progress.faded, box.weight, box.learned, least);
    keep(team, kept, box.rows);
    keep(team, kept, box.weight);
    keep(team, kept, box.learned);
    const int matrix = shape.m * shape.stride, count = kept.count();
    for (int i = team.rank(); i < matrix && box.hessian != nullptr && Team::kVectors; i += team.size())
      box.hessian[i] = Real(0);  // other teams' sums begin anew for a box without samples
    for (int i = team.rank(); i < shape.stride && count == 0; i += team.size()) box.rho[i] = Real(0);
    for (int i = team.rank(); i < shape.d * shape.stride && lane.needs.response; i += team.size())
      box.response[i] = Real(0);
    team.sync();
    if (team.rank() == 0) {
      progress.samples = count;
      progress.faded = count - kept.weight;
      if (lane.joint != nullptr || count == 0) progress.samples_at_solve = 0;
      progress.samples_at_curvature = progress.samples_in_hessian = progress.follows = 0;
    }
    team.sync();
  }

  template <class Team>
  PANDORA_HD void forget_rewards(const Team& team, const LaneView<Real>& lane) const {
    const int n = lane.progress->reward_samples;
    const Kept kept = fade(team, n, 0.0, lane.reward_weight, lane.reward_learned, Forgetting::kLeastWeight);
    keep(team, kept, lane.deployed);
    keep(team, kept, lane.reward_weight);
    keep(team, kept, lane.reward_learned);
    if constexpr (Team::kVectors)
      RewardTable::over(lane.reward_table, problem.shape.d, problem.shape.capacity).keep(kept.first, kept.last, n);
    if (team.rank() == 0) lane.progress->reward_samples = kept.count();
  }

  // `weight` or `learned` may be null. `before` is the total weight so far.
  template <class Team, class Weight>
  PANDORA_HD Kept fade(const Team& team, int n, double before, Weight* weight, const int* learned, double least) const {
    team.sync();
    for (int s = team.rank(); s < n && weight != nullptr; s += team.size()) weight[s] *= static_cast<Weight>(factor);
    team.sync();
    const auto weight_of = [&](int s) { return weight == nullptr ? 1.0 : static_cast<double>(weight[s]); };
    Kept kept{0, n, factor * before};
    for (; kept.first < n; kept.weight -= weight_of(kept.first++))
      if (weight_of(kept.first) >= least && (learned == nullptr || learned[kept.first] >= first)) break;
    for (; kept.last > kept.first; kept.weight -= weight_of(--kept.last))
      if (learned == nullptr || learned[kept.last - 1] <= last) break;
    team.sync();
    return kept;
  }

  template <class Team, class Value>
  PANDORA_HD static void keep(const Team& team, const Kept& kept, Value* values) {
    for (int at = 0; at < kept.count() && kept.first > 0 && values != nullptr; at += team.size()) {
      const int i = at + team.rank();
      const bool mine = i < kept.count();
      const Value value = mine ? values[kept.first + i] : Value();
      team.sync();
      if (mine) values[i] = value;
      team.sync();
    }
  }
};

/// Phi^-1 and theta_hat of the samples that are left. Item: lane; a block each.
template <class Real>
struct RefitReward {
  static constexpr const char* kName = "theta";
  static constexpr int kThreads = 128;
  Problem<Real> problem;
  int period;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const LaneView<Real>& lane = problem.lanes[item];
    if (!lane.spec.online() || !lane.spec.learns_reward() || lane.tally->failure != Failure::none) return;
    RewardSolve<Real, Team> solve(team, problem, lane);
    solve.rebuild_design();
    if (!solve.solve() && team.rank() == 0) lane.tally->fail(Failure::reward_fit, period);
  }
};

}  // namespace pandora::engine
