// Compares lanes in cohorts, as a device runs them, with the same lanes from stage to stage. Every byte is equal, for
// all policies and schedules, after failures, and for blocks of threads in any order.
#include "host/lanes/engine/cohorts.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "host/lanes/engine/run_lanes.hpp"
#include "host/lanes/model/feedback.hpp"
#include "pandora/policy.hpp"
#include "tests/reference/fiber_team.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using test::kCalibration;

template <class Base>
struct InCohorts : Base {
  using Base::Base;
  int lanes = engine::kCohortLanes;
  engine::BackendTraits traits() const {
    engine::BackendTraits traits = Base::traits();
    traits.cohort = lanes;
    return traits;
  }
};

struct Outcome {
  std::vector<std::vector<LaneTally>> tallies;
  std::vector<LaneRecord> records;
  EngineCounters counters;
  int failed = 0;
};

template <class B>
Outcome run(B&& backend, std::span<const UnitOfLanes> units, const BlockOptions& options,
            LaneRecord::Keep keep = LaneRecord::Keep::everything) {
  Outcome out;
  for (const UnitOfLanes& unit : units) out.records.resize(out.records.size() + unit.lanes.size());
  for (LaneRecord& record : out.records) record.keep = keep;
  out.tallies = engine::run_lanes<float>(backend, units, options, &out.counters, out.records);
  for (const auto& unit : out.tallies)
    for (const LaneTally& tally : unit) out.failed += tally.failure != Failure::none ? 1 : 0;
  return out;
}

// Compares bits, so that NaN equals itself.
template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

void expect_same(const Outcome& actual, const Outcome& expected) {
  ASSERT_EQ(actual.tallies.size(), expected.tallies.size());
  for (std::size_t u = 0; u < expected.tallies.size(); ++u) {
    SCOPED_TRACE(testing::Message() << "unit " << u);
    expect_same_bits(actual.tallies[u], expected.tallies[u]);
  }
  for (std::size_t k = 0; k < expected.records.size(); ++k) {
    SCOPED_TRACE(testing::Message() << "lane " << k);
    const LaneRecord &a = actual.records[k], &b = expected.records[k];
    for (const auto member : {&LaneRecord::scores, &LaneRecord::widths, &LaneRecord::rewards, &LaneRecord::predictions,
                              &LaneRecord::bonuses, &LaneRecord::rho, &LaneRecord::theta})
      expect_same_bits(a.*member, b.*member);
  }
  EXPECT_EQ(actual.counters.index_solves, expected.counters.index_solves);
  EXPECT_EQ(actual.counters.reward_solves, expected.counters.reward_solves);
  EXPECT_EQ(actual.counters.repairs, expected.counters.repairs);
}

struct Case {
  const char* name;
  const char* schedule = "geometric:1.5";
  int block = 16;
  void (*options)(EstimationOptions&) = nullptr;
  void (*replication)(Replication&) = nullptr;
  void (*lane)(LaneSpec&) = nullptr;
  int failures = 0;  ///< the least number of lanes that must fail

  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

std::size_t cell(const Replication& replication, int period, int box) {
  return replication.tape.at(replication.tape.online_row(period), box);
}

class CohortCases : public testing::TestWithParam<Case> {};

TEST_P(CohortCases, GiveTheBytesOfStages) {
  const Case& one = GetParam();
  constexpr int kPeriods = 60;
  BlockOptions options{{parse_refit(one.schedule), 1.0, 1.0}, one.block};
  if (one.options != nullptr) one.options(options.estimation);
  std::vector<Replication> replications;
  for (const Regime regime : {Regime::A, Regime::B})
    replications.push_back(
        test::small_replication(test::small_dimensions(3, 8, 4), regime, kCalibration, kPeriods, 11));
  std::vector<UnitOfLanes> units;
  for (Replication& replication : replications) {
    if (one.replication != nullptr) one.replication(replication);
    units.push_back({&replication, test::all_lanes(replication, {0, kCalibration}, {0.1, 1.0})});
    for (LaneSpec& lane : units.back().lanes)
      if (one.lane != nullptr) one.lane(lane);
  }
  for (const auto keep : {LaneRecord::Keep::everything, LaneRecord::Keep::estimates}) {
    const Outcome stages = run(test::ScalarBackend(), units, options, keep);
    EXPECT_GE(stages.failed, one.failures);
    EXPECT_EQ(one.failures == 0, stages.failed == 0);
    expect_same(run(InCohorts<test::ScalarBackend>(), units, options, keep), stages);
  }
  // Blocks of threads are slow here, so there is one lane of each kind.
  std::vector<UnitOfLanes> few = units;
  for (UnitOfLanes& unit : few) unit.lanes = test::all_lanes(*unit.replication, {kCalibration}, {0.1});
  few.pop_back();
  expect_same(run(InCohorts<test::FiberBackend>(128, test::FiberOrder{5}), few, options),
              run(test::ScalarBackend(), few, options));
}

INSTANTIATE_TEST_SUITE_P(
    Cohorts, CohortCases,
    testing::Values(Case{"plain"}, Case{"blocks of 32", "geometric:1.5", 32}, Case{"tracking", "tracking"},
                    Case{"every", "every:7"},
                    Case{"late, lost and wrong rewards", "geometric:1.5", 16, nullptr,
                         [](Replication& r) {
                           FeedbackRules rules;
                           rules.delay.kind = DelayLaw::Kind::geometric;
                           rules.delay.mean = 6;
                           rules.share = 0.9;
                           rules.flip = 0.05;
                           draw_feedback(r.instance.stream(Purpose::feedback), rules, r.tape);
                         }},
                    Case{"boxes that are not there", "geometric:1.5", 16, nullptr,
                         [](Replication& r) {
                           r.tape.there_by_row.assign(static_cast<std::size_t>(r.tape.contexts.rows), 7);
                           for (std::size_t k = 20; k < r.tape.there_by_row.size(); ++k)
                             r.tape.there_by_row[k] = static_cast<std::uint16_t>(k % 5 == 0 ? 5 : k % 7 == 0 ? 3 : 7);
                         }},
                    Case{"pacing by queries", "geometric:1.5", 16, nullptr, nullptr,
                         [](LaneSpec& lane) {
                           lane.pacing = {Pacing::Of::queries, 1.5, 0.02, 0.0};
                         }},
                    Case{"pacing by costs", "tracking", 16, nullptr, nullptr,
                         [](LaneSpec& lane) {
                           lane.pacing = {Pacing::Of::costs, 0.05, 0.05, 0.01};
                         }},
                    Case{"forced boxes", "geometric:1.5", 32, [](EstimationOptions& o) { o.forced = 5; }},
                    Case{"half-life", "geometric:1.5", 16, [](EstimationOptions& o) { o.forgetting.half_life = 40.0; }},
                    Case{"window", "geometric:1.5", 16, [](EstimationOptions& o) { o.forgetting.window = 50; }},
                    Case{"theta without steps", "geometric:1.5", 13,
                         [](EstimationOptions& o) {
                           o.refit_reward.steps = false;
                           o.refit_reward.growth = 1.3;
                         }},
                    Case{"next to no ridge", "geometric:1.5", 16, [](EstimationOptions& o) { o.ridge_index = 1e-12; },
                         nullptr, nullptr, 1},
                    Case{"an infinite cost", "geometric:1.5", 16, nullptr,
                         [](Replication& r) { r.tape.cost[cell(r, 40, 0)] = std::numeric_limits<double>::infinity(); },
                         nullptr, 1},
                    Case{"a reward that is not a number", "geometric:1.5", 16, nullptr,
                         [](Replication& r) { r.tape.mu[cell(r, 59, 1)] = std::numeric_limits<double>::quiet_NaN(); },
                         nullptr, 1}));

// The paper's shape, for which bodies have special code.
TEST(Cohorts, GiveTheBytesOfStagesAtThePapersShape) {
  Dimensions dimensions;
  dimensions.radius_draws = 2048;
  const Replication replication = test::small_replication(dimensions, Regime::A, 50, 70, 5);
  for (const char* schedule : {"geometric:1.5", "tracking"}) {
    const BlockOptions options{{parse_refit(schedule), 1.0, 1.0}, 32};
    UnitOfLanes unit{&replication, test::all_lanes(replication, {50}, {0.1})};
    std::erase_if(unit.lanes, [](const LaneSpec& lane) { return lane.fits_jointly(); });  // slow here
    const auto run_on = [&](auto&& backend) {
      return run(backend, std::span(&unit, 1), options, LaneRecord::Keep::estimates);
    };
    const Outcome stages = run_on(test::ScalarBackend());
    EXPECT_EQ(stages.failed, 0);
    expect_same(run_on(InCohorts<test::ScalarBackend>()), stages);
    unit.lanes = {test::dow_lane(RewardModel::learned, 50), test::dow_lane(RewardModel::known, 0)};
    expect_same(run_on(InCohorts<test::FiberBackend>(128)), run_on(test::ScalarBackend()));
  }
}

// The number of lanes in a cohort, the members of a team, their order and the queue's order do not matter.
TEST(Cohorts, OfAnySizeAndOrderGiveTheSameBytes) {
  const Replication replication =
      test::small_replication(test::small_dimensions(3, 8, 4), Regime::B, kCalibration, 70, 11);
  const UnitOfLanes unit{&replication, test::all_lanes(replication, {kCalibration}, {0.1})};
  const BlockOptions options{{parse_refit("geometric:1.5"), 1.0, 1.0}, 32};
  const Outcome stages = run(test::ScalarBackend(), std::span(&unit, 1), options);
  for (const int lanes : {1, 2, 4}) {
    SCOPED_TRACE(testing::Message() << "cohorts of " << lanes);
    InCohorts<test::ScalarBackend> one;
    one.lanes = lanes;
    expect_same(run(one, std::span(&unit, 1), options), stages);
    for (const int members : {32, 128}) {
      InCohorts<test::FiberBackend> fibers(members, test::FiberOrder{static_cast<unsigned>(members + lanes)});
      fibers.lanes = lanes;
      expect_same(run(fibers, std::span(&unit, 1), options), stages);
    }
  }
}

// Every lane is in one cohort, which has lanes of one unit only. No cohort costs much more than another of its unit.
TEST(Cohorts, AreDealtOutByExpectedCost) {
  const Replication replication =
      test::small_replication(test::small_dimensions(3, 5, 2), Regime::B, kCalibration, 40, 11);
  const std::vector<LaneSpec> lanes = test::all_lanes(replication, {0, kCalibration}, {0.1, 1.0});
  const std::vector<UnitOfLanes> units = {{&replication, lanes}, {&replication, {lanes.begin(), lanes.begin() + 5}}};
  const RefitSchedule refit = parse_refit("geometric:1.5");
  const std::vector<int> members = engine::deal_cohorts(units, refit, 3);
  std::map<int, int> times;
  std::vector<int> costs;
  for (std::size_t at = 0; at < members.size(); at += engine::kCohortLanes) {
    int cost = 0, unit = -1;
    for (std::size_t k = at; k < at + engine::kCohortLanes; ++k) {
      if (members[k] < 0) continue;
      ++times[members[k]];
      const bool first = members[k] < static_cast<int>(lanes.size());
      EXPECT_TRUE(unit == -1 || unit == (first ? 0 : 1));
      unit = first ? 0 : 1;
      const LaneSpec& lane = lanes[static_cast<std::size_t>(members[k]) - (first ? 0 : lanes.size())];
      cost += engine::expected_cost(lane, needs_of(lane, refit), 3);
    }
    if (unit == 0) costs.push_back(cost);
    EXPECT_GT(cost, 0);
  }
  EXPECT_EQ(times.size(), lanes.size() + 5);
  for (const auto& [lane, count] : times) EXPECT_EQ(count, 1) << lane;
  EXPECT_TRUE(std::ranges::is_sorted(costs, std::greater<>()));
  double mean = 0.0;
  for (const int cost : costs) mean += static_cast<double>(cost) / static_cast<double>(costs.size());
  EXPECT_LE(costs.front(), 1.15 * mean);
}

}  // namespace
}  // namespace pandora
