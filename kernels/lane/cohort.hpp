// Lanes that go through many blocks of periods together, without a round through the host. A team owns the lanes of a
// cohort, which belong to one unit, and takes the next cohort when these are done:
//
//   for each block of periods:
//     all boxes of the lanes advance, by the whole team
//     until no lane has anything due:
//       every part of the team walks a lane until the block ends or something is due
//       what is due is solved, by the whole team
//
// The lanes of a cohort stay in lockstep from one block to the next; they wait for no other lane. A lane gets the same
// results as from the stages that the host launches one after the other (LaneRun, host/lanes/engine/run_lanes.hpp).
#pragma once

#include "kernels/lane/phases.hpp"
#include "kernels/lane/stages.hpp"
#include "kernels/lane/warp_walk.hpp"

namespace pandora::engine {

/// The most boxes of a lane that goes in a cohort: a walk keeps numbers of every box in registers or local memory.
inline constexpr int kFewBoxes = 4;

/// The periods of a launch: blocks of `block` from `first` to `end`.
struct CohortRange {
  int first, end, block;
  bool unfinished;  ///< whether the previous launch left its last block unended, so that this one must end it
  bool last;        ///< whether this launch must also end its last block
};

/// One item (stages.hpp) is one cohort. Each block of threads takes the next cohort from a queue. For kMost see Walk.
template <class Real, int kMost, bool kCounts = kCountsCycles>
struct RunCohort {
  static constexpr const char* kName = "cohorts";
  static constexpr int kThreads = 32 * kCohortLanes, kResident = 4;
  Problem<Real> problem;
  ScratchPool<Real> scratch;
  CohortRange range;
  const int* members;          ///< kCohortLanes places of every cohort; -1 after its last lane
  int* next;                   ///< the queue: how many cohorts have been taken
  unsigned long long* cycles;  ///< kCountOfPhases sums of cycles, in builds that count them

  /// Bytes in which the lanes of a cohort walk; 0 where WarpWalk has no room for the shape.
  static PANDORA_HD std::size_t walk_bytes(const Shape& shape, const RefitSchedule& refit) {
    return WarpWalk<Real, SerialTeam>::fits(shape) ? WalkMemory::cohort_bytes(shape, refit) : 0;
  }
  /// Bytes of shared memory; 0 if some supported device lacks room. The host then launches the stages one by one.
  static PANDORA_HD std::size_t shared_bytes(const Shape& shape, const RefitSchedule& refit) {
    const std::size_t others = shared_with<Real>(shape, TileMemory<Real>::shared_bytes(shape.m)),
                      walks = walk_bytes(shape, refit);
    return others == 0 ? 0 : others > walks ? others : walks;
  }
  PANDORA_HD std::size_t shared_bytes() const { return shared_bytes(problem.shape, problem.refit); }

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    const int* const lanes = members + item * kCohortLanes;
    for (int at = range.first; at < range.end; at += range.block) {
      const BlockRange block{at, at + range.block < range.end ? range.block : range.end - at};
      advance(team, slot, lanes, block, at > range.first || range.unfinished);
      while (walk(team, slot, lanes, block)) solve(team, slot, lanes, block);
    }
    if (range.last) advance(team, slot, lanes, {}, true);
  }

 private:
  // Calls f(lane) for the lanes of a cohort.
  template <class F>
  static PANDORA_HD void for_lanes_of(const int* lanes, F&& f) {
    for (int k = 0; k < kCohortLanes; ++k)
      if (lanes[k] >= 0) f(lanes[k]);
  }

  template <class Team>
  PANDORA_APART PANDORA_HD void advance(const Team& team, int slot, const int* lanes, BlockRange block,
                                        bool finishes) const {
    const PhaseClock<kCounts> clock(team, cycles, kAdvancePhase);
    const AdvanceBlock<Real> body{problem, scratch, block, finishes, false};
    for_lanes_of(lanes, [&](int lane) {
      for (int a = 0; a < problem.shape.A; ++a) body(team, lane * problem.shape.A + a, slot);
    });
    team.sync();
  }

  // Walks every lane until the block ends or a solve is due. Returns whether any lane waits for a solve.
  template <class Team>
  PANDORA_APART PANDORA_HD bool walk(const Team& team, int slot, const int* lanes, BlockRange block) const {
    const PhaseClock<kCounts> clock(team, cycles, kWalkPhase);
    const TeamPart<Team> part = part_of(team);
    using Part = std::remove_cvref_t<decltype(part.team)>;
    using InMemory = WarpWalk<Real, Part>;
    const Shape& shape = problem.shape;
    const WalkMemory memory = WalkMemory::of_cohort(shape, problem.refit, memory_of(team, slot));
    const bool has_room = InMemory::fits(shape);
    if (has_room) memory.stage(team, problem.lanes[lanes[0]].tape, block);
    // A multiprocessor's schedulers each have one warp of a block. So cohorts of fewer lanes than warps begin with
    // different warps: by a hash, because blocks that run side by side may have taken every hundredth cohort or so.
    const unsigned turn = static_cast<unsigned>(lanes - members) / kCohortLanes * 2654435769u >> 30;
    for (int k = (part.index + static_cast<int>(turn)) % part.count; k < kCohortLanes; k += part.count) {
      if (lanes[k] < 0) continue;
      const LaneView<Real>& lane = problem.lanes[lanes[k]];
      if (lane.tally->failure != Failure::none || !stands(part.team, lane, block)) continue;
      if (has_room && InMemory::fits(problem, lane) && lane.needs.steps)
        walk_in_memory<true>(team, part.team, slot, lane, block, k);
      else if (has_room && InMemory::fits(problem, lane))
        walk_in_memory<false>(team, part.team, slot, lane, block, k);
      else
        walk_apart(part.team, lane, block);
    }
    team.sync();
    bool waits = false;
    for_lanes_of(lanes, [&](int lane) { waits = waits || is_due(problem.lanes[lane]); });
    return waits;
  }

  // Out of line, so that no part takes registers from another.
  template <class Part>
  PANDORA_APART PANDORA_HD bool stands(const Part& part, const LaneView<Real>& lane, BlockRange block) const {
    return Walk<Real, Part, kMost>(part, problem, lane, block).boxes_stand();
  }
  template <bool kTracks, class Team, class Part>
  PANDORA_APART PANDORA_HD void walk_in_memory(const Team& team, const Part& part, int slot, const LaneView<Real>& lane,
                                               BlockRange block, int k) const {
    const WalkMemory memory = WalkMemory::of_cohort(problem.shape, problem.refit, memory_of(team, slot));
    WarpWalk<Real, Part>(part, problem, lane, block, memory, memory.lane(k)).template run<kTracks>();
  }
  template <class Part>
  PANDORA_APART PANDORA_HD void walk_apart(const Part& part, const LaneView<Real>& lane, BlockRange block) const {
    Walk<Real, Part, kMost>(part, problem, lane, block).run();
  }

  template <class Team>
  PANDORA_APART PANDORA_HD void solve(const Team& team, int slot, const int* lanes, BlockRange block) const {
    for_lanes_of(lanes, [&](int index) {
      const LaneView<Real>& lane = problem.lanes[index];
      if (!is_due(lane)) return;
      const int due = lane.progress->due, A = problem.shape.A;
      team.sync();  // every member has read `due` before it changes
      if ((due & kThetaDue) != 0) {
        const PhaseClock<kCounts> clock(team, cycles, kThetaPhase);
        SolveTheta<Real>{problem, block, nullptr}.solve(team, index);
      }
      for (int a = 0; a < A; ++a)
        if ((due >> a & 1) != 0) {
          const PhaseClock<kCounts> clock(team, cycles, kSolvePhase);
          SolveBoxes<Real, false>{problem, block, scratch, nullptr}.solve(team, index * A + a, slot);
        }
      if ((due & kJointDue) != 0) {
        const PhaseClock<kCounts> clock(team, cycles, kJointPhase);
        SolveJoint<Real>{problem, block, scratch, nullptr}(team, index, slot);
      }
      team.sync();
      if (team.rank() == 0) lane.progress->due = 0;
    });
    team.sync();
  }

  template <class Team>
  PANDORA_HD void* memory_of(const Team& team, int slot) const {
    if constexpr (Team::kShares)
      return team.shared();
    else
      return scratch.of(problem.shape, slot).tiled;
  }

  static PANDORA_HD bool is_due(const LaneView<Real>& lane) {
    return lane.tally->failure == Failure::none && lane.progress->due != 0;
  }
};

/// Whether lanes of this shape go in cohorts on a device, whatever the schedule of their solves.
template <class Real>
PANDORA_HD bool go_in_cohorts(const Shape& shape) {
  return shape.A <= kFewBoxes && RunCohort<Real, kFewBoxes>::shared_bytes(shape, RefitSchedule{}) > 0;
}

}  // namespace pandora::engine
