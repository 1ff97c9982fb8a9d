// WarpWalk leaves the same bytes as Walk, whichever members do the work. This is compared after every walk of whole
// runs, for the lanes that WarpWalk takes.
#include "kernels/lane/warp_walk.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/reference/fiber_team.hpp"
#include "tests/reference/lane_specs.hpp"
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

// All the memory of a lane that a walk may change.
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
    if (lane.needs.widths) append(all, box.design.diagonal, B);
    for (const bool curvature : {false, true}) {
      if (curvature ? !lane.needs.steps : !lane.needs.widths) continue;
      const engine::GramView<float>& g = curvature ? box.curvature : box.design;
      append(all, g.count, 1);
      append(all, g.log, g.count->updates);
      for (int u = 0; u < g.count->updates; ++u) {
        const int q = g.log[u].columns_before,
                  next = u + 1 < g.count->updates ? g.log[u + 1].columns_before : g.count->columns;
        if (next > q && g.log[u].period < B)
          append(all, g.column + q * problem.shape.width + g.log[u].period, B - g.log[u].period);
      }
    }
    if (lane.needs.steps) append(all, box.pending_scale, box.progress->pending);
    if (!lane.needs.response) continue;
    const int d = problem.shape.d;
    append(all, box.theta_moved, d);
    append(all, box.pending_rank, box.progress->pending * d);
    append(all, box.pending_moved, box.progress->pending * d);
    for (int k = 0; k < d; ++k) append(all, box.coupling + k * problem.shape.width, B);
  }
  if (lane.needs.response && (lane.progress->due & engine::kThetaDue) != 0)
    append(all, engine::step_scratch(lane.reward_memory, problem.shape.d) + RewardState::stride(problem.shape.d),
           problem.shape.d);
  if (lane.spec.learns_reward()) {
    append(all, lane.reward_memory, RewardState::size(problem.shape.d));
    append(all, lane.deployed, lane.progress->reward_samples);
  }
  return all;
}

// A ScalarBackend that walks by the body of a cohort, with `members` fibers or one thread. With 0 members it uses Walk.
class Backend : public test::ScalarBackend {
 public:
  explicit Backend(int members, unsigned seed = 1) : members_(members), order_{seed} {}

  std::vector<std::string> seen;  // the lanes' memory after every walk, in the order of the list
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
      const int lanes = engine::lanes_of_cohort(body.problem.refit);
      for (int first = 0, end; first < items; first = end) {
        for (end = first; end < items && end - first < lanes && lane(end).tape.mu == lane(first).tape.mu;) ++end;
        const auto walk = [&, first, end](const auto& team) {
          this->walk(team, body, end - first, [&](int l) { return index(first + l); });
        };
        order_.seed = order_.seed * 1664525u + 1013904223u;
        if (members_ > 1)
          test::by_fibers(members_, walk, order_);
        else
          walk(SerialTeam{});
        for (int l = 0; l < end - first; ++l) fitted += fits_[static_cast<std::size_t>(l)] ? 1 : 0;
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
    const std::size_t bytes = WalkMemory::cohort_bytes(shape, problem.refit);
    ASSERT_LE(bytes, kMostShared);
    if (team.shared() == nullptr) memory_.assign(bytes / sizeof(double) + 2, std::numeric_limits<double>::quiet_NaN());
    double* const own = reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(memory_.data()) + 15) / 16 * 16);
    const WalkMemory memory =
        WalkMemory::of_cohort(shape, problem.refit, team.shared() != nullptr ? team.shared() : own);
    memory.stage(team, problem.lanes[index(0)].tape, body.range);
    for (int l = part.index; l < count; l += part.count) {
      const LaneView<float>& lane = problem.lanes[index(l)];
      if (part.team.rank() == 0) waiting_[static_cast<std::size_t>(l)] = fits_[static_cast<std::size_t>(l)] = false;
      if (lane.tally->failure != Failure::none || lane.progress->next >= body.range.B) continue;
      engine::Walk<float, Part, 4> today(part.team, problem, lane, body.range);
      if (!today.boxes_stand()) continue;
      const bool fits = WarpWalk::fits(problem, lane);
      part.team.sync();
      const WarpWalk walk(part.team, problem, lane, body.range, memory, memory.lane(l));
      if (fits && lane.needs.steps)
        walk.template run<true>();
      else if (fits)
        walk.template run<false>();
      else
        today.run();
      if (part.team.rank() != 0) continue;
      waiting_[static_cast<std::size_t>(l)] = lane.progress->due != 0;
      fits_[static_cast<std::size_t>(l)] = fits;
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
  std::array<bool, 4> waiting_{}, fits_{};  // for each lane that a block walks
};

struct Case {
  std::vector<Replication> replications;
  BlockOptions options;
  std::vector<UnitOfLanes> units;

  explicit Case(int boxes = 3, int features = 10, int T = 45) {
    for (std::uint32_t r = 0; r < 2; ++r)
      replications.push_back(test::small_replication(test::small_dimensions(boxes, 12, features),
                                                     r == 0 ? Regime::A : Regime::B, test::kCalibration, T, 11, r));
    options.block = 32;
    options.estimation.refit.kind = RefitSchedule::Kind::geometric;
  }
  // Adds the lanes of all policies, after `change`, for both replications or only for the first.
  template <class Change>
  void lanes(Change&& change, std::vector<int> T0 = {test::kCalibration}, std::size_t of = 1) {
    for (std::size_t r = 0; r < of; ++r) {
      units.push_back({&replications[r], test::all_lanes(replications[r], T0, {0.3})});
      for (LaneSpec& lane : units.back().lanes) change(lane);
    }
  }
  void lanes() {
    lanes([](LaneSpec&) {});
  }
};

struct Run {
  std::vector<std::string> seen;
  int fitted, failed = 0;
};

Run run(const Case& of, int members, unsigned seed = 1) {
  Backend backend(members, seed);
  const auto tallies = engine::run_lanes<float>(backend, of.units, of.options);
  Run out{std::move(backend.seen), backend.fitted};
  for (const auto& unit : tallies)
    for (const LaneTally& tally : unit) out.failed += tally.failure != Failure::none ? 1 : 0;
  return out;
}

// Returns the number of walks that WarpWalk took, or -1 if some bytes differ.
int same_bytes(const Case& of, int* failed = nullptr, std::vector<int> teams = {1, 128}) {
  const Run today = run(of, 0);
  if (failed != nullptr) *failed = today.failed;
  int fitted = 0;
  for (const int members : teams) {
    const Run now = run(of, members, static_cast<unsigned>(members));
    EXPECT_EQ(now.seen.size(), today.seen.size()) << members;
    for (std::size_t k = 0; k < std::min(now.seen.size(), today.seen.size()); ++k)
      if (now.seen[k] != today.seen[k]) {
        const auto differ = std::mismatch(now.seen[k].begin(), now.seen[k].end(), today.seen[k].begin());
        ADD_FAILURE() << members << " members: walk " << k << " of " << today.seen.size() << ", byte "
                      << differ.first - now.seen[k].begin() << " of " << today.seen[k].size();
        return -1;
      }
    fitted = now.fitted;
  }
  return fitted;
}

// Lanes of all policies at the paper's shape: lanes that learn, and lanes that do not.
TEST(WarpWalk, LeavesWhatWalkLeaves) {
  Case paper;
  paper.lanes([](LaneSpec&) {}, {0, test::kCalibration}, 2);
  EXPECT_GT(same_bytes(paper, nullptr, {1, 32, 128}), 300);
}

TEST(WarpWalk, LeavesTheSameForOtherShapesAndBlocks) {
  struct {
    int boxes, features, block;
  } const shapes[] = {{2, 4, 13}, {4, 16, 32}, {3, 7, 1}, {1, 10, 32}, {3, 10, 31}};
  for (const auto& [boxes, features, block] : shapes) {
    SCOPED_TRACE(testing::Message() << boxes << " boxes, " << features << " features, blocks of " << block);
    Case other(boxes, features, 33);
    other.options.block = block;
    other.lanes();
    EXPECT_GT(same_bytes(other), 30);
  }
}

TEST(WarpWalk, LeavesTheSameUnderOtherRules) {
  const auto expect_same = [](const char* what, auto&& change_options, auto&& change_lane) {
    SCOPED_TRACE(what);
    Case rules;
    change_options(rules.options.estimation);
    rules.lanes(change_lane);
    EXPECT_GT(same_bytes(rules), 10);
  };
  const auto no_option = [](EstimationOptions&) {};
  const auto no_lane = [](LaneSpec&) {};
  expect_same(
      "solves in every 7th period",
      [](EstimationOptions& options) {
        options.refit.kind = RefitSchedule::Kind::every;
        options.refit.every = 7;
      },
      no_lane);
  expect_same(
      "theta_hat stands between solves",
      [](EstimationOptions& options) {
        options.refit_reward.steps = false;
        options.refit_reward.growth = 1.3;
      },
      no_lane);
  expect_same(
      "tracking", [](EstimationOptions& options) { options.refit.kind = RefitSchedule::Kind::tracking; }, no_lane);
  expect_same(
      "other ridges",
      [](EstimationOptions& options) {
        options.ridge_index = 0.5;
        options.ridge_slopes = 2.0;
      },
      no_lane);
  expect_same("boxes that must be opened", no_option,
              [](LaneSpec& lane) { lane.forced = lane.learning != Learning::none ? 5 : 0; });
  expect_same("a budget of queries", no_option, [](LaneSpec& lane) {
    lane.pacing = {Pacing::Of::queries, 1.5, 0.02, 0.1};
  });
  expect_same("a budget of costs", no_option, [](LaneSpec& lane) {
    lane.pacing = {Pacing::Of::costs, 0.05, 0.05, 0.0};
  });
  expect_same("what learns nothing may explore and draw", no_option, [](LaneSpec& lane) {
    if (lane.online()) return;
    lane.epsilon = 0.3;
    lane.thompson = true;
    lane.bonus.kind = Bonus::log;
  });
}

// Under `tracking`, boxes with few samples are solved after each sample, and those with many take steps between solves.
// Rewards are known or learned, lanes have widths or not, and in some blocks the periods are no multiple of four.
TEST(WarpWalk, LeavesTheSameUnderTracking) {
  const auto expect_same = [](const char* what, int boxes, int features, auto&& change) {
    SCOPED_TRACE(what);
    Case tracking(boxes, features, 330);
    tracking.options.estimation.refit.kind = RefitSchedule::Kind::tracking;
    tracking.units.push_back({&tracking.replications[1], {}});
    for (const RewardModel reward : {RewardModel::known, RewardModel::learned})
      for (const double c_rho : {0.0, 0.3})
        tracking.units[0].lanes.push_back(test::dow_lane(reward, test::kCalibration, c_rho));
    change(tracking.options, tracking.replications[1], tracking.units[0].lanes);
    EXPECT_GT(same_bytes(tracking, nullptr, {1, 32, 128}), 300);
  };
  expect_same("the paper's shape", 3, 10, [](auto&&...) {});
  expect_same("few boxes", 1, 10, [](auto&&...) {});
  expect_same("the most boxes and features", 4, 16, [](auto&&...) {});
  expect_same("blocks of 13", 4, 16, [](BlockOptions& options, auto&&...) { options.block = 13; });
  expect_same("some features", 2, 7, [](BlockOptions& options, auto&&...) { options.block = 31; });
  expect_same("theta_hat stands between solves", 3, 10, [](BlockOptions& options, auto&&...) {
    options.estimation.refit_reward.steps = false;
    options.estimation.refit_reward.growth = 1.3;
  });
  expect_same("theta_hat is solved at every sample", 3, 10,
              [](BlockOptions& options, auto&&...) { options.estimation.refit_reward.growth = 1.0; });
  expect_same("a budget of queries, and boxes that must be opened", 3, 10,
              [](BlockOptions&, Replication&, std::vector<LaneSpec>& lanes) {
                for (LaneSpec& lane : lanes) lane.pacing = {Pacing::Of::queries, 2.0, 0.02, 0.1};
                lanes[1].forced = lanes[3].forced = 150;
              });
  expect_same("next to no ridge, and an infinite cost", 3, 10,
              [](BlockOptions& options, Replication& replication, std::vector<LaneSpec>&) {
                options.estimation.ridge_index = options.estimation.ridge_slopes = 1e-12;
                replication.tape.cost[replication.tape.at(replication.tape.online_row(300), 0)] =
                    std::numeric_limits<double>::infinity();
              });
}

// If some boxes are missing or rewards come late, WarpWalk still takes lanes that learn nothing.
TEST(WarpWalk, LeavesTheSameWhereBoxesAreMissing) {
  Case missing;
  for (Replication& replication : missing.replications) {
    Tape& tape = replication.tape;
    tape.there_by_row.assign(static_cast<std::size_t>(tape.contexts.rows), 7);
    for (std::size_t row = 20; row < tape.there_by_row.size(); ++row)
      tape.there_by_row[row] = row % 5 == 0 ? 5 : row % 7 == 0 ? 2 : 7;
  }
  missing.lanes();
  EXPECT_GT(same_bytes(missing), 10);
}

TEST(WarpWalk, LearnsFromWhatItIsTold) {
  Case told;
  for (Replication& replication : told.replications) {
    replication.tape.feedback.told = replication.tape.reward;
    for (std::size_t k = 0; k < replication.tape.reward.size(); k += 3)
      replication.tape.feedback.told[k] = 1.0f - replication.tape.reward[k];
  }
  told.lanes();
  EXPECT_GT(same_bytes(told), 30);
}

// A failure in the middle of a block ends both walks at the same period. The periods before it are counted.
TEST(WarpWalk, FailsWhereWalkFails) {
  const auto cell = [](const Replication& replication, int period, int box) {
    return replication.tape.at(replication.tape.online_row(period), box);
  };
  const auto expect_failures = [](const char* what, auto&& change) {
    SCOPED_TRACE(what);
    Case bad;
    for (Replication& replication : bad.replications) change(bad.options.estimation, replication);
    bad.lanes();
    int failed = 0;
    EXPECT_GT(same_bytes(bad, &failed), 20);
    EXPECT_GT(failed, 4);
  };
  expect_failures("an infinite cost", [&](EstimationOptions&, Replication& replication) {
    replication.tape.cost[cell(replication, 37, 0)] = std::numeric_limits<double>::infinity();
  });
  expect_failures("a NaN in mu", [&](EstimationOptions&, Replication& replication) {
    for (int box = 0; box < 3; ++box)
      replication.tape.mu[cell(replication, 38 + box, box)] = std::numeric_limits<double>::quiet_NaN();
  });
  expect_failures("a NaN in phi", [&](EstimationOptions&, Replication& replication) {
    for (int box = 0; box < 3; ++box)
      replication.tape.phi[cell(replication, 20 + box, box) * 10 + 3] = std::numeric_limits<float>::quiet_NaN();
  });
  expect_failures("inverses that are lost", [&](EstimationOptions& options, Replication&) {
    options.ridge_index = options.ridge_slopes = 1e-12;
  });
}

}  // namespace
}  // namespace pandora
