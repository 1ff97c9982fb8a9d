// WarpWalk leaves what Walk leaves, byte by byte, whoever its members are: after every walk of whole runs, for the lanes
// that it takes.
#include "kernels/lane/warp_walk.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/reference/fiber_team.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using engine::LaneView;
using engine::WalkMemory;
using test::FiberTeam;

template <class T>
void append(std::string& to, const T* values, int n) {
  to.append(reinterpret_cast<const char*>(values), sizeof(T) * static_cast<std::size_t>(n));
}

// All that a walk may change of a lane.
std::string left_by_walk(const engine::Problem<float>& problem, const LaneView<float>& lane, int B) {
  std::string all;
  append(all, lane.tally, 1);
  append(all, lane.progress, 1);
  for (int a = 0; a < problem.shape.A && lane.spec.learning != Learning::none; ++a) {
    const engine::BoxView<float>& box = lane.box[a];
    append(all, box.progress, 1);
    append(all, box.rows, box.progress->samples);
    append(all, box.prediction, B);
    append(all, box.pending_scale, box.progress->pending);
    if (!lane.needs.widths) continue;
    const engine::GramView<float>& g = box.design;
    append(all, g.count, 1);
    append(all, g.log, g.count->updates);
    append(all, g.diagonal, B);
    for (int q = 0; q < g.count->columns; ++q)
      append(all, g.column + q * problem.shape.width + g.log[q].period, B - g.log[q].period);
  }
  if (lane.spec.learns_reward()) {
    append(all, lane.reward_memory, RewardState::size(problem.shape.d));
    append(all, lane.deployed, lane.progress->reward_samples);
  }
  return all;
}

// Runs everything as ScalarBackend does, but walks by the bodies of a cohort: `members` fibers, or one thread. 0: Walk.
class Backend : public test::ScalarBackend {
 public:
  explicit Backend(int members, unsigned seed = 1) : members_(members), order_{seed} {}

  std::vector<std::string> seen;  // after every walk, lanes in the order of the list
  int fitted = 0;

  template <class Body>
  void warps(int items, const Body& body) {
    ScalarBackend::warps(items, body);
  }
  void warps(int items, const engine::WalkBlock<float, 4>& body) {
    const auto index = [&](int item) { return body.list.lanes != nullptr ? body.list.lanes[item] : item; };
    const auto lane = [&](int item) -> const LaneView<float>& { return body.problem.lanes[index(item)]; };
    if (members_ == 0) {
      ScalarBackend::warps(items, body);
    } else {
      constexpr int kLanes = 4;
      for (int first = 0, end; first < items; first = end) {
        for (end = first; end < items && end - first < kLanes && lane(end).tape.mu == lane(first).tape.mu;) ++end;
        const auto walk = [&, first, end](const auto& team) {
          this->walk(team, body, end - first, [&](int l) { return index(first + l); });
        };
        order_.seed = order_.seed * 1664525u + 1013904223u;
        if (members_ > 1)
          test::by_fibers(members_, walk, order_);
        else
          walk(SerialTeam{});
        for (int item = first; item < end; ++item)
          if (lane(item).tally->failure == Failure::none && waiting_[static_cast<std::size_t>(item - first)])
            list(body, index(item), lane(item));
      }
    }
    for (int item = 0; item < items; ++item) seen.push_back(left_by_walk(body.problem, lane(item), body.range.B));
  }

 private:
  template <class Team, class Index>
  void walk(const Team& team, const engine::WalkBlock<float, 4>& body, int count, Index&& index) {
    const auto part = part_of(team);
    using Part = std::remove_cvref_t<decltype(part.team)>;
    using WarpWalk = engine::WarpWalk<float, Part>;
    const engine::Problem<float>& problem = body.problem;
    const engine::Shape& shape = problem.shape;
    const std::size_t bytes = WalkMemory::bytes(shape.A, shape.d, shape.B, 4);
    ASSERT_LE(bytes, kMostShared);
    if (team.shared() == nullptr) memory_.assign(bytes / sizeof(double) + 2, std::numeric_limits<double>::quiet_NaN());
    double* const own = reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(memory_.data()) + 15) / 16 * 16);
    const WalkMemory memory{shape.A, shape.d, shape.B,
                            team.shared() != nullptr ? static_cast<double*>(team.shared()) : own};
    WarpWalk::stage(team, problem, problem.lanes[index(0)].tape, body.range, memory);
    for (int l = part.index; l < count; l += part.count) {
      const LaneView<float>& lane = problem.lanes[index(l)];
      if (part.team.rank() == 0) waiting_[static_cast<std::size_t>(l)] = false;
      if (lane.tally->failure != Failure::none || lane.progress->next >= body.range.B) continue;
      engine::Walk<float, Part, 4> today(part.team, problem, lane, body.range);
      if (!today.boxes_stand()) continue;
      const bool fits = WarpWalk::fits(problem, lane);
      part.team.sync();
      if (fits)
        WarpWalk(part.team, problem, lane, body.range, memory, memory.lane(l)).run();
      else
        today.run();
      if (part.team.rank() != 0) continue;
      waiting_[static_cast<std::size_t>(l)] = lane.progress->due != 0;
      fitted += fits ? 1 : 0;
    }
  }

  static void list(const engine::WalkBlock<float, 4>& body, int index, const LaneView<float>& lane) {
    body.list.add(engine::kWalks, index);
    for (int a = 0; a < body.problem.shape.A; ++a)
      if ((lane.progress->due >> a & 1) != 0)
        body.list.add(lane.box[a].progress->samples > engine::kManySamples ? engine::kLargeBoxes : engine::kBoxes,
                      index * body.problem.shape.A + a);
    if ((lane.progress->due & engine::kJointDue) != 0) body.list.add(engine::kJoints, index);
    if ((lane.progress->due & engine::kThetaDue) != 0) body.list.add(engine::kThetas, index);
  }

  int members_;
  test::FiberOrder order_;
  std::vector<double> memory_;
  std::array<bool, 4> waiting_{};
};

struct Case {
  std::vector<Replication> replications;
  BlockOptions options;
  std::vector<UnitOfLanes> units;

  explicit Case(int boxes = 3, int features = 10, int T = 60) {
    for (std::uint32_t r = 0; r < 2; ++r)
      replications.push_back(test::small_replication(test::small_dimensions(boxes, 12, features),
                                                     r == 0 ? Regime::A : Regime::B, test::kCalibration, T, 11, r));
    options.block = 32;
    options.estimation.refit.kind = RefitSchedule::Kind::geometric;
  }
  // All policies, changed a little.
  template <class Change>
  void lanes(Change&& change) {
    for (const Replication& replication : replications) {
      units.push_back({&replication, test::all_lanes(replication, {0, test::kCalibration}, {0.1, 1.0})});
      for (LaneSpec& lane : units.back().lanes) change(lane);
    }
  }
  void lanes() {
    lanes([](LaneSpec&) {});
  }
};

struct Run {
  std::vector<std::string> seen;
  std::vector<std::vector<LaneTally>> tallies;
  int fitted, failed = 0;
};

Run run(const Case& of, int members, unsigned seed = 1) {
  Backend backend(members, seed);
  Run out{{}, engine::run_lanes<float>(backend, of.units, of.options), backend.fitted};
  out.seen = std::move(backend.seen);
  for (const auto& unit : out.tallies)
    for (const LaneTally& tally : unit) out.failed += tally.failure != Failure::none ? 1 : 0;
  return out;
}

// The number of walks that fitted; -1 where something differs.
int same_bytes(const Case& of, int* failed = nullptr) {
  const Run today = run(of, 0);
  if (failed != nullptr) *failed = today.failed;
  int fitted = 0;
  for (const auto &[members, seed] : {std::pair(1, 1u), std::pair(32, 2u), std::pair(128, 3u)}) {
    const Run now = run(of, members, seed);
    EXPECT_EQ(now.seen.size(), today.seen.size()) << members;
    for (std::size_t k = 0; k < std::min(now.seen.size(), today.seen.size()); ++k)
      if (now.seen[k] != today.seen[k]) {
        ADD_FAILURE() << members << " members: walk " << k << " of " << today.seen.size() << ", byte "
                      << std::mismatch(now.seen[k].begin(), now.seen[k].end(), today.seen[k].begin(),
                                       today.seen[k].end())
                                 .first -
                             now.seen[k].begin()
                      << " of " << today.seen[k].size();
        return -1;
      }
    EXPECT_EQ(now.tallies, today.tallies) << members;
    fitted = now.fitted;
  }
  return fitted;
}

TEST(WarpWalk, LeavesWhatWalkLeaves) {
  Case paper;
  paper.lanes();
  EXPECT_GT(same_bytes(paper), 500);
}

}  // namespace
}  // namespace pandora
