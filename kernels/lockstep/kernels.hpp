// The kernels of the lockstep engine as bodies for a team and an item; a backend runs them (host/lockstep_engine.hpp).
// `slot` tells apart the teams that run at the same time; kName is the stage in profiles.
#pragma once

#include "kernels/lockstep/solve.hpp"
#include "kernels/lockstep/walk.hpp"

namespace pandora::lockstep {

/// One scratch per slot.
template <class Real>
struct ScratchPool {
  Real* reals;
  double* doubles;
  int* ints;
  int groups;   ///< of a team, see groups_of
  int members;  ///< of a team

  PANDORA_HD SolveScratch<Real> of(const Shape& shape, int slot) const {
    return SolveScratch<Real>::over(shape, groups, reals + SolveScratch<Real>::reals(shape) * slot,
                                    doubles + SolveScratch<Real>::doubles(shape, groups) * slot,
                                    ints + SolveScratch<Real>::ints(shape, members) * slot);
  }
};

/// A lane learns from x_0 or its calibration periods. Item: lane; a warp each.
template <class Real>
struct Calibrate {
  static constexpr const char* kName = "calibrate";
  Problem<Real> problem;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const LaneView<Real>& lane = problem.lanes[item];
    if (team.rank() == 0) lane.tally->start(lane.tape.online_rows);
    if (lane.spec.learns_reward() && team.rank() == 0)
      RewardState::over(lane.reward_memory, problem.shape.d).reset(problem.ridge_reward);
    team.sync();
    Walk<Real, Team>(team, problem, lane, {0, 0}).calibrate();
  }
};

/// What a box starts with: V^-1, Hinv and rho_hat of the calibration. Item: lane * A + box; a block each.
template <class Real>
struct StartBox {
  static constexpr const char* kName = "start";
  Problem<Real> problem;
  ScratchPool<Real> scratch;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    const Shape& shape = problem.shape;
    const LaneView<Real>& lane = problem.lanes[item / shape.A];
    if (lane.spec.learning == Learning::none || lane.tally->failure != Failure::none) return;
    const int a = item % shape.A;
    const BoxView<Real>& box = lane.box[a];
    const SolveScratch<Real> work = scratch.of(shape, slot);
    BoxSolve<Real, Team> solve(team, problem, lane, a, work);
    if (lane.keeps_design && !solve.rebuild_design()) return box.fail(team, Failure::indefinite, 0);
    const Real start = static_cast<Real>(1.0 / problem.ridge_index);
    for (int at = team.rank(); lane.tracks && at < shape.m * shape.stride; at += team.size())
      box.curvature.P[at] = at / shape.stride == at % shape.stride ? start : Real(0);
    team.sync();
    if (!lane.spec.learns_index() || box.n() == 0) return;
    solve_and_rebuild(team, problem, lane, a, solve, 0);
  }

  /// An exact solve and, under `tracking` when due, Hinv and Q. Returns whether they were rebuilt. `period`: what a
  /// failure is recorded for.
  template <class Team>
  static PANDORA_HD bool solve_and_rebuild(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane,
                                           int a, BoxSolve<Real, Team>& solve, int period) {
    const BoxView<Real>& box = lane.box[a];
    if (!solve.solve()) {
      box.fail(team, Failure::index_fit, period);
      return false;
    }
    if (!lane.tracks || !problem.refit.curvature_due(box.n(), box.curvature_at(), lane.tracks_theta)) return false;
    if (solve.rebuild_curvature()) return true;
    box.fail(team, Failure::indefinite, period);
    return false;
  }
};

/// A block's start for a box, once images and Gram matrices are there: diagonals, repairs, predictions, couplings.
/// Item: lane * A + box; a block each.
template <class Real>
struct BeginBlock {
  static constexpr const char* kName = "begin";
  Problem<Real> problem;
  BlockRange range;
  ScratchPool<Real> scratch;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    const Shape& shape = problem.shape;
    const LaneView<Real>& lane = problem.lanes[item / shape.A];
    const int a = item % shape.A;
    if (a == 0 && team.rank() == 0) lane.progress->next = 0;
    if (lane.spec.learning == Learning::none || lane.tally->failure != Failure::none) return;
    const BoxView<Real>& box = lane.box[a];
    if (box.failure() != Failure::none) return;
    const int period = range.first_period + 1;
    const Real* psi = lane.tape.psi_of(lane.tape.online_row(range.first_period), shape.stride);
    const SolveScratch<Real> work = scratch.of(shape, slot);
    if (lane.keeps_design && box.design.image != nullptr) {
      const double ridge = lane.spec.learns_payoff() ? 1.0 : problem.ridge_index;
      start_gram(team, box.design, range.B, shape.B);
      if (!sound_gram(team, shape, box.design, psi, range.B, static_cast<Real>(1.001 / ridge))) {
        count_repair(team, lane);
        if (!BoxSolve<Real, Team>(team, problem, lane, a, work).rebuild_design())
          return box.fail(team, Failure::indefinite, period);
        form_gram(team, shape, box.design, psi, range.B);
      }
    }
    predict(team, shape, psi, range.B, box.rho, box.prediction);
    if (!lane.tracks) return;
    start_gram(team, box.curvature, range.B, shape.B);
    if (!sound_gram(team, shape, box.curvature, psi, range.B, static_cast<Real>(1.001 / problem.ridge_index))) {
      count_repair(team, lane);
      if (!BoxSolve<Real, Team>(team, problem, lane, a, work).rebuild_curvature())
        return box.fail(team, Failure::indefinite, period);
      form_gram(team, shape, box.curvature, psi, range.B);
    }
    start_coupling(team, shape, lane, box, psi, range.B);
  }

  template <class Team>
  PANDORA_HD void count_repair(const Team& team, const LaneView<Real>& lane) const {
    if (team.rank() == 0) add_one(&lane.progress->refactorisations);
    team.sync();
  }
  static PANDORA_HD void add_one(int* counter) {
#if defined(__CUDA_ARCH__)
    atomicAdd(counter, 1);  // the lane's other boxes may count at the same time
#else
    ++*counter;
#endif
  }
};

/// The lanes that walk in a round and those that the round leaves waiting, with the boxes to solve.
struct Worklist {
  const int* lanes;  ///< null: all
  int* suspended_count;
  int* suspended;  ///< lanes
  int* job_count;
  int* jobs;  ///< lane * A + box
};

/// Item: position in the list of lanes; a warp each.
template <class Real>
struct WalkBlock {
  static constexpr const char* kName = "walk";
  Problem<Real> problem;
  BlockRange range;
  Worklist list;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const int index = list.lanes != nullptr ? list.lanes[item] : item;
    const LaneView<Real>& lane = problem.lanes[index];
    if (lane.tally->failure != Failure::none) return;
    Walk<Real, Team> walk(team, problem, lane, range);
    if (!walk.boxes_stand() || !walk.run() || team.rank() != 0) return;
    append(list.suspended_count, list.suspended, index);
    for (int a = 0; a < problem.shape.A; ++a)
      if ((lane.progress->queried_due >> a & 1) != 0) append(list.job_count, list.jobs, index * problem.shape.A + a);
  }
};

/// The solves that lanes wait for. What is left of the block is then predicted anew. Item: position in the list of
/// jobs; a block each.
template <class Real>
struct SolveBoxes {
  static constexpr const char* kName = "solve";
  Problem<Real> problem;
  BlockRange range;
  ScratchPool<Real> scratch;
  const int* jobs;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    const Shape& shape = problem.shape;
    const LaneView<Real>& lane = problem.lanes[jobs[item] / shape.A];
    const int a = jobs[item] % shape.A;
    const BoxView<Real>& box = lane.box[a];
    const Real* psi = lane.tape.psi_of(lane.tape.online_row(range.first_period), shape.stride);
    if (lane.tracks) flush(team, shape, lane, box);
    const SolveScratch<Real> work = scratch.of(shape, slot);
    BoxSolve<Real, Team> solve(team, problem, lane, a, work);
    const bool rebuilt =
        StartBox<Real>::solve_and_rebuild(team, problem, lane, a, solve, range.first_period + lane.progress->next);
    predict(team, shape, psi, range.B, box.rho, box.prediction);
    if (!rebuilt) return;
    form_gram(team, shape, box.curvature, psi, range.B);
    start_coupling(team, shape, lane, box, psi, range.B);
  }
};

/// Applies the block's updates. Item: lane * A + box; a block each.
template <class Real>
struct FinishBlock {
  static constexpr const char* kName = "finish";
  Problem<Real> problem;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const Shape& shape = problem.shape;
    const LaneView<Real>& lane = problem.lanes[item / shape.A];
    if (!lane.spec.online() || lane.tally->failure != Failure::none) return;
    const BoxView<Real>& box = lane.box[item % shape.A];
    if (lane.tracks) {
      flush(team, shape, lane, box);
      apply_gram(team, shape, box.curvature);
    }
    if (!lane.keeps_design) return;
    if (lane.spec.learns_payoff())
      flush(team, shape, lane, box);
    else
      materialise_gram(team, shape, box.design, [](int, Real, int) {});
    apply_gram(team, shape, box.design);
  }
};

/// Images and Gram matrices of listed matrices by teams: the batched product of backends without a matrix library.
/// Item: position in the list; a block each.
template <class Real>
struct FormBlock {
  static constexpr const char* kName = "form";
  Problem<Real> problem;
  BlockRange range;
  const int* matrices;  ///< (lane * A + box) * 2 + (1 for Hinv)

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const Shape& shape = problem.shape;
    const int which = matrices[item];
    const LaneView<Real>& lane = problem.lanes[which / 2 / shape.A];
    const BoxView<Real>& box = lane.box[which / 2 % shape.A];
    form_gram(team, shape, which % 2 == 1 ? box.curvature : box.design,
              lane.tape.psi_of(lane.tape.online_row(range.first_period), shape.stride), range.B);
  }
};

}  // namespace pandora::lockstep
