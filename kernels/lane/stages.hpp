// The stages of a block as bodies for a team and an item; a backend runs them (host/lanes/engine/run_lanes.hpp). `slot`
// distinguishes teams that run at the same time; kName is the stage's name in profiles.
#pragma once

#include "kernels/lane/block_products.hpp"
#include "kernels/lane/forgetting.hpp"
#include "kernels/lane/walk.hpp"
#include "kernels/solve/joint_solve.hpp"
#include "kernels/state/backend.hpp"

namespace pandora::engine {

/// A lane learns from x_0 or its calibration periods. Item: lane; a warp each.
template <class Real>
struct Calibrate {
  static constexpr const char* kName = "calibrate";
  Problem<Real> problem;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const LaneView<Real>& lane = problem.lanes[item];
    if (team.rank() == 0) {
      lane.tally->start(lane.tape.online_rows);
      lane.progress->multiplier = lane.spec.pacing.start;
    }
    if (lane.spec.learns_reward() && team.rank() == 0)
      RewardState::over(lane.reward_memory, problem.shape.d).reset(problem.ridge_reward);
    if (lane.joint != nullptr && team.rank() == 0) lane.joint->start(lane.spec, problem.shape.A);
    team.sync();
    Walk<Real, Team, kMaxBoxes>(team, problem, lane, {0, 0}).calibrate();
  }
};

/// The state in which a box starts, and starts again after samples were forgotten: V^-1, Hinv and rho_hat of its
/// samples. Item: lane * A + box; a block each.
template <class Real>
struct StartBox {
  static constexpr const char* kName = "start";
  Problem<Real> problem;
  ScratchPool<Real> scratch;
  int period = 0;  ///< the period that ends; 0: the calibration

  PANDORA_HD std::size_t shared_bytes() const { return TileMemory<Real>::shared_bytes(problem.shape.m); }

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    const Shape& shape = problem.shape;
    const LaneView<Real>& lane = problem.lanes[item / shape.A];
    if (lane.spec.learning == Learning::none || lane.joint != nullptr || lane.tally->failure != Failure::none) return;
    if (period > 0 && !lane.spec.online()) return;
    const int a = item % shape.A;
    const BoxView<Real>& box = lane.box[a];
    const SolveScratch<Real> work = scratch.of(shape, slot);
    BoxSolve<Real, Team> solve(team, problem, lane, a, work);
    if (lane.needs.design && !solve.rebuild_design()) return box.fail(team, Failure::indefinite, period);
    // A box without a calibration sample (T_0 < A) starts from no curvature.
    if (lane.needs.curvature)
      StoredInverse<Real>(shape, Team::kVectors).store(team, box.curvature.P, [&](int i, int k) {
        return i == k ? 1.0 / problem.ridge_index.of(i) : 0.0;
      });
    if (!lane.spec.learns_index() || box.progress->samples == 0) return;
    const bool rebuilt = solve_and_rebuild(team, problem, lane, a, solve, period, false);
    if (period > 0 && lane.needs.curvature && !rebuilt && box.progress->failure == Failure::none &&
        !solve.rebuild_curvature())
      box.fail(team, Failure::indefinite, period);
  }

  /// An exact solve and, if it is due under `tracking`, Hinv and Q. Returns whether Hinv and Q were rebuilt. `period`
  /// is recorded with a failure; for `current_inverse` see BoxSolve::solve.
  template <class Team>
  static PANDORA_HD bool solve_and_rebuild(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane,
                                           int a, BoxSolve<Real, Team>& solve, int period, bool current_inverse) {
    const BoxView<Real>& box = lane.box[a];
    if (!solve.solve(current_inverse)) {
      box.fail(team, Failure::index_fit, period);
      return false;
    }
    if (!lane.needs.curvature ||
        !problem.refit.curvature_due(box.progress->samples, box.progress->samples_at_curvature, lane.needs.response))
      return false;
    if (solve.rebuild_curvature()) return true;
    box.fail(team, Failure::indefinite, period);
    return false;
  }
};

/// A lower bound on the inverse of Hinv or C_aa.
template <class Real>
PANDORA_HD Ridges least_curvature(const Problem<Real>& problem, const LaneView<Real>& lane) {
  if (lane.joint == nullptr) return problem.ridge_index;
  const double start = lane.spec.ridge_mean < lane.spec.ridge_own ? lane.spec.ridge_mean : lane.spec.ridge_own;
  return Ridges(problem.ridge_index.first, (start < kLeastRidge ? start : kLeastRidge) * lane.joint->scale);
}

/// Repairs a C_aa: sets it to its value before any sample, until the joint solve that the next period brings.
template <class Real, class Team>
PANDORA_HD bool forget_samples(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane, int a) {
  const Shape& shape = problem.shape;
  const JointState& joint = *lane.joint;
  const int boxes = joint.boxes[a];
  const double slopes = (1.0 / joint.ridge_mean + (boxes - 1) / joint.ridge_own) / boxes;
  StoredInverse<Real>(shape, Team::kVectors).store(team, lane.box[a].curvature.P, [&](int i, int k) {
    return i != k ? 0.0 : i == 0 ? 1.0 / problem.ridge_index.first : slopes;
  });
  if (team.rank() == 0) lane.progress->joint_due = 1;
  team.sync();
  return true;
}

/// Shared memory of a body that works first in `newton` bytes and then in ProductMemory; 0 if some supported device
/// lacks room for one of them.
template <class Real>
PANDORA_HD std::size_t shared_with(const Shape& shape, std::size_t newton) {
  const std::size_t products = ProductMemory<Real>::shared_bytes(shape);
  return newton == 0 || products == 0 ? 0 : newton > products ? newton : products;
}

/// Between the walks of two blocks. Applies the last block's changes to P, rho and Q. Forms the next block's images,
/// Gram matrices, predictions and couplings, and rebuilds an inverse that is not sound. Item: lane * A + box; a block
/// each.
template <class Real>
struct AdvanceBlock {
  static constexpr const char* kName = "advance";
  static constexpr int kThreads = 128;  // in a block: a tile of 8 x 8 of P each, up to m = 120
  static constexpr int kResident = 4;   // blocks on a multiprocessor for which there are registers
  Problem<Real> problem;
  ScratchPool<Real> scratch;
  BlockRange range;  ///< the block that begins; B = 0: none
  bool finishes;     ///< whether a block ends
  bool formed;       ///< whether images and Gram matrices of the new block are there

  PANDORA_HD std::size_t shared_bytes() const { return ProductMemory<Real>::shared_bytes(problem.shape); }

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    const Shape& shape = problem.shape;
    const LaneView<Real>& lane = problem.lanes[item / shape.A];
    const int a = item % shape.A;
    if (a == 0 && team.rank() == 0) lane.progress->next = 0;
    if (lane.spec.learning == Learning::none || lane.tally->failure != Failure::none) return;
    const BoxView<Real>& box = lane.box[a];
    if (box.progress->failure != Failure::none) return;
    const bool ends = finishes && lane.spec.online(), begins = range.B > 0;
    if (ends && (lane.needs.steps || lane.spec.learns_payoff())) flush(team, shape, lane, box);
    const SolveScratch<Real> work = scratch.of(shape, slot);
    const BlockContexts<Real> block(lane.tape, shape, range);
    // A hash of the item, so that blocks that run on a multiprocessor at the same time begin with different warps.
    const ProductsOfBlock<Real, Team> products(team, shape, work, block, static_cast<unsigned>(item) * 2654435769u);
    BoxSolve<Real, Team> solve(team, problem, lane, a, work);
    for (const bool design : {true, false}) {  // V^-1, then Hinv or C_aa
      const GramView<Real>& g = design ? box.design : box.curvature;
      const bool starts = begins && (design ? lane.needs.widths : lane.needs.curvature);
      BlockStart<Real> start{
          block, design ? box.rho : nullptr, box.prediction, true,
          most_inverse<Real>(design ? problem.design_ridges(lane.spec) : least_curvature(problem, lane))};
      bool ended = ends && (design ? lane.needs.design : lane.needs.steps);
      // Rebuilds an inverse that is not sound from the samples. There is one call for all, because it is the body's
      // largest part.
      while ((ended || starts) &&
             !products.advance(g, ended, starts ? &start : nullptr, formed && start.bounded, lane.learns_late())) {
        if (team.rank() == 0) add_to(&lane.progress->repairs, 1);
        team.sync();
        if (!(design                  ? solve.rebuild_design()
              : lane.joint != nullptr ? forget_samples(team, problem, lane, a)
                                      : solve.rebuild_curvature()))
          return box.fail(team, Failure::indefinite, range.first_period + 1);
        ended = start.bounded = false;
      }
      if (design && begins && !starts) products.predict_block(box.rho, box.prediction);
      if (design && begins && lane.learns_late()) start_late_samples(team, shape, lane, a, range, products.contexts());
      if (!design && starts) start_coupling(team, shape, lane, box, products.contexts());
    }
  }
};

/// Updates the rest of the block after a solve: predictions and, if the curvature changed, all that follows from it.
template <class Real, class Team>
PANDORA_HD void form_rest(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane, int a,
                          BlockRange range, const SolveScratch<Real>& work, bool rebuilt) {
  const Shape& shape = problem.shape;
  const BoxView<Real>& box = lane.box[a];
  const BlockContexts<Real> block(lane.tape, shape, range);
  predict(team, shape, block, box.rho, box.prediction);
  if (!rebuilt) return;
  const ProductsOfBlock<Real, Team> products(team, shape, work, block);
  products.form(box.curvature);
  start_coupling(team, shape, lane, box, products.contexts());
}

/// The solves of all boxes of a lane together, also the first ones before any block. The rest of the block is then
/// predicted anew. Item: position in the list of lanes; a block each. kTied: which lanes, those with tied slopes or the
/// others.
template <class Real, bool kTied = false>
struct SolveJoint {
  static constexpr const char* kName = kTied ? "joint tied" : "joint";
  static constexpr int kThreads = 128;
  Problem<Real> problem;
  BlockRange range;  ///< B = 0: between blocks
  ScratchPool<Real> scratch;
  const int* lanes;  ///< null: all

  PANDORA_HD std::size_t shared_bytes() const { return ProductMemory<Real>::shared_bytes(problem.shape); }

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    const Shape& shape = problem.shape;
    const LaneView<Real>& lane = problem.lanes[lanes != nullptr ? lanes[item] : item];
    if (lane.joint == nullptr || lane.spec.fits_tied() != kTied || lane.tally->failure != Failure::none) return;
    if (range.B == 0 && range.first_period > 0 && !lane.spec.online()) return;
    const SolveScratch<Real> work = scratch.of(shape, slot);
    for (int a = 0; a < shape.A && lane.needs.steps && range.B > 0; ++a) flush(team, shape, lane, lane.box[a]);
    if (!JointSolve<Real, Team, kTied>(team, problem, lane, work).solve()) {
      if (team.rank() == 0)
        lane.tally->fail(Failure::index_fit, range.first_period + (range.B > 0 ? lane.progress->next : 0));
      return;
    }
    if (team.rank() == 0) lane.tally->unsolved_refits = lane.joint->unsolved;
    if (range.B == 0) return;
    for (int a = 0; a < shape.A; ++a) form_rest(team, problem, lane, a, range, work, lane.needs.curvature);
  }
};

/// Boxes with more samples have a SolveBoxes of their own.
inline constexpr int kManySamples = 512;

/// The kinds of work that a round of walks leaves waiting.
enum Waiting {
  kWalks,       ///< lanes that walk on when everything else is solved
  kBoxes,       ///< lane * A + box, to solve rho_hat
  kLargeBoxes,  ///< the same, for boxes with many samples
  kThetas,      ///< lanes, to solve theta_hat
  kJoints,      ///< lanes, to solve all their boxes together
  kKindsOfWaiting
};

/// The lanes that walk in a round, and lists of the work that the round leaves waiting.
struct Worklist {
  const int* lanes;  ///< null: all
  int* count;        ///< kKindsOfWaiting
  int* waiting[kKindsOfWaiting];

  PANDORA_HD void add(Waiting kind, int item) const { append(count + kind, waiting[kind], item); }
};

/// Item: position in the list of lanes; a warp each. For kMost and kArms see Walk.
template <class Real, int kMost, bool kArms = false>
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
    Walk<Real, Team, kMost, kArms> walk(team, problem, lane, range);
    if (!walk.boxes_stand() || !walk.run() || team.rank() != 0) return;
    list.add(kWalks, index);
    for (int a = 0; a < problem.shape.A; ++a)
      if ((lane.progress->due >> a & 1) != 0)
        list.add(!Team::kVectors && lane.box[a].progress->samples > kManySamples ? kLargeBoxes : kBoxes,
                 index * problem.shape.A + a);
    if ((lane.progress->due & kJointDue) != 0) list.add(kJoints, index);
    if ((lane.progress->due & kThetaDue) != 0) list.add(kThetas, index);
  }
};

/// Solves theta_hat for the lanes that wait for it, before the solves of their boxes. Item: position in the list; a
/// block each.
template <class Real>
struct SolveTheta {
  static constexpr const char* kName = "theta";
  static constexpr int kThreads = 128, kResident = 4;
  Problem<Real> problem;
  BlockRange range;
  const int* lanes;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    solve(team, lanes[item]);
  }
  template <class Team>
  PANDORA_HD void solve(const Team& team, int index) const {
    const LaneView<Real>& lane = problem.lanes[index];
    if (RewardSolve<Real, Team>(team, problem, lane).solve())
      follow_theta(team, problem.shape, lane, problem.shape.A, range.B);
    else if (team.rank() == 0)
      lane.tally->fail(Failure::reward_fit, range.first_period + lane.progress->next);
  }
};

/// Solves the boxes that lanes wait for, and predicts the rest of the block anew. Item: position in the list of jobs; a
/// block each. `kLarge`: boxes with many samples. Few of them wait at a time, so each has a multiprocessor to itself;
/// four blocks of the others share one.
template <class Real, bool kLarge>
struct SolveBoxes {
  static constexpr const char* kName = kLarge ? "solve large" : "solve";
  static constexpr int kThreads = kLarge ? kMostBlockMembers : 128;  // a tile of 8 x 8 each, up to m = 120
  static constexpr int kResident = kLarge ? 1 : 4;
  Problem<Real> problem;
  BlockRange range;
  ScratchPool<Real> scratch;
  const int* jobs;

  PANDORA_HD std::size_t shared_bytes() const {
    return shared_with<Real>(problem.shape, TileMemory<Real>::shared_bytes(problem.shape.m));
  }

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    solve(team, jobs[item], slot);
  }
  /// `index`: lane * A + box.
  template <class Team>
  PANDORA_HD void solve(const Team& team, int index, int slot) const {
    const Shape& shape = problem.shape;
    const LaneView<Real>& lane = problem.lanes[index / shape.A];
    if (lane.tally->failure != Failure::none) return;  // the solve of theta_hat failed in this round
    const int a = index % shape.A;
    const BoxView<Real>& box = lane.box[a];
    if (lane.needs.curvature) flush(team, shape, lane, box);
    const SolveScratch<Real> work = scratch.of(shape, slot);
    BoxSolve<Real, Team> solve(team, problem, lane, a, work);
    const bool rebuilt = StartBox<Real>::solve_and_rebuild(
        team, problem, lane, a, solve, range.first_period + lane.progress->next, lane.needs.curvature);
    form_rest(team, problem, lane, a, range, work, rebuilt);
  }
};

/// Images and Gram matrices of the listed matrices, which are too large for a team's memory. A device uses a matrix
/// library for them instead. Item: position in the list; a block each.
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
    form_products(team, shape, which % 2 == 1 ? box.curvature : box.design,
                  BlockContexts<Real>(lane.tape, shape, range));
  }
};

}  // namespace pandora::engine
