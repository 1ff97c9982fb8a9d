// Compares the lockstep engine on a GPU with the same bodies on the CPU.
#include "host/lanes/devices/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "host/lanes/engine/run_lanes.hpp"
#include "host/lanes/model/box_changes.hpp"
#include "host/lanes/model/feedback.hpp"
#include "host/studies/study/study.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "pandora/lane.hpp"
#include "tests/reference/lane_specs.hpp"
#include "tests/reference/require_gpu.hpp"
#include "tests/reference/scalar_backend.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// Through the stand-in a period takes a thousand times as long as on a device. Three blocks of 32 periods in place of
// six, and a coarser oracle, run through the same code.
#if defined(PANDORA_STAND_IN)
constexpr int kReplayedPeriods = 96, kTogetherPeriods = 96, kManyPeriods = 700, kPreparedPeriods = 300,
              kPreparedReplications = 1, kPreparedRadiusDraws = 16384;
const OracleOptions kPreparedOracle = {20000, {21, 9, 21}, 1000};
#else
constexpr int kReplayedPeriods = 200, kTogetherPeriods = 300, kManyPeriods = 4000, kPreparedPeriods = 2000,
              kPreparedReplications = 2, kPreparedRadiusDraws = Dimensions{}.radius_draws;
const OracleOptions kPreparedOracle;
#endif

BlockOptions options_of(const char* schedule, int B = 32) {
  return {{parse_refit(schedule), 1.0, 1.0}, B};
}

// A replication with its lanes, which may point into it.
struct Case {
  std::shared_ptr<const Replication> replication;
  std::vector<LaneSpec> lanes;
  std::vector<BlockOptions> options;

  UnitOfLanes unit() const { return {replication.get(), lanes}; }
};

std::vector<BlockOptions> two_schedules(int B = 32) {
  return {options_of("geometric:1.5", B), options_of("tracking", B)};
}

Case case_of(Replication replication, std::vector<LaneSpec> lanes, std::vector<BlockOptions> options) {
  return {std::make_shared<const Replication>(std::move(replication)), std::move(lanes), std::move(options)};
}

Case with_every_lane(Replication replication, const std::vector<int>& T0s, std::vector<BlockOptions> options) {
  Case out = case_of(std::move(replication), {}, std::move(options));
  out.lanes = test::all_lanes(*out.replication, T0s);
  return out;
}

std::vector<LaneSpec> three_lanes() {
  return {test::dow_lane(RewardModel::known, 0), test::dow_lane(RewardModel::learned, 12), test::linucb_lane(12)};
}

std::vector<Case> every_policy() {
  std::vector<Case> cases;
  for (const Regime regime : {Regime::A, Regime::B})
    cases.push_back(
        with_every_lane(test::small_replication(test::small_dimensions(3, 5, 2), regime, 12, kReplayedPeriods, 11),
                        {0, 2, 12}, {options_of("geometric:1.5"), options_of("tracking"), options_of("every:5")}));
  // Five boxes are too many for cohorts, so these lanes go stage by stage.
  cases.push_back(case_of(test::small_replication(test::small_dimensions(5, 5, 2), Regime::B, 12, kReplayedPeriods, 11),
                          three_lanes(), two_schedules()));
  return cases;
}

// Late, missing and wrong rewards, boxes that come and go, a budget, and samples that are forgotten.
std::vector<Case> late_rewards() {
  FeedbackRules rules;
  rules.delay = parse_delay("geometric:9");
  rules.share = 0.7;
  rules.flip = 0.1;
  BlockOptions forgets = options_of("geometric:1.5"), tracks = options_of("tracking");
  forgets.estimation.forgetting = {.half_life = kReplayedPeriods / 2.0};
  tracks.estimation.forgetting = {
      .half_life = kReplayedPeriods / 3.0, .window = kReplayedPeriods / 2, .restart_at = 50, .lost = 20};
  Replication replication =
      test::small_replication(test::small_dimensions(3, 5, 2), Regime::B, 12, kReplayedPeriods, 11);
  draw_feedback(replication.instance.stream(Purpose::feedback), rules, replication.tape);
  Environment changing = replication.instance.environment;
  changing.arrives = {{2, kReplayedPeriods / 4}};
  changing.leaves = {{0, kReplayedPeriods / 2}};
  apply_box_changes(changing, false, replication);
  Case out = with_every_lane(std::move(replication), {0, 12},
                             {options_of("geometric:1.5"), options_of("tracking"), forgets, tracks});
  for (LaneSpec& lane : out.lanes) lane.pacing = {Pacing::Of::queries, 1.2};
  return {out};
}

// Sizes around those of a warp and of a block, blocks of periods that divide nothing, and more tiles of a matrix than a
// team has members. Eight boxes are too many for FrugalGPT's search, which needs calibration periods.
std::vector<Case> odd_shapes() {
  struct Shape {
    int boxes, context, features, B;
  };
  std::vector<Case> cases;
  for (const Shape s : {Shape{1, 1, 1, 1}, Shape{2, 30, 3, 31}, Shape{3, 32, 10, 33}, Shape{8, 140, 7, 32}})
    cases.push_back(with_every_lane(
        test::small_replication(test::small_dimensions(s.boxes, s.context, s.features), Regime::B, 16, 100, 19),
        s.boxes > 5 ? std::vector<int>{0} : std::vector<int>{0, 16}, two_schedules(s.B)));
  return cases;
}

// Matrices that are too large for a team's memory, so that cuBLAS forms the images.
std::vector<Case> large_matrices() {
  return {with_every_lane(test::small_replication(test::small_dimensions(2, 190, 2), Regime::B, 0, 40, 19), {0},
                          two_schedules())};
}

// So many samples of a box that solves use the methods for many samples, on the CPU and on a device.
std::vector<Case> many_samples() {
  return {case_of(test::small_replication(test::small_dimensions(2, 5, 2), Regime::B, 0, kManyPeriods, 31),
                  {weitzman_lane(0, Learning::online, RewardModel::known, 1.0, 0.0),
                   weitzman_lane(0, Learning::online, RewardModel::learned, 1.0, 1.0)},
                  two_schedules())};
}

std::vector<Case> the_papers_shape() {
  return {with_every_lane(test::small_replication({}, Regime::B, 50, 1000, 23), {50}, two_schedules())};
}

std::vector<Case> several_replications() {
  std::vector<Case> cases;
  for (std::uint32_t r = 0; r < 3; ++r)
    cases.push_back(
        with_every_lane(test::small_replication(test::small_dimensions(3, 9, 3), Regime::B, 12, kTogetherPeriods, 7, r),
                        {0, 5, 12}, two_schedules()));
  return cases;
}

std::vector<Case> dow_in_24_replications() {
  std::vector<Case> cases;
  for (std::uint32_t r = 0; r < 24; ++r)
    cases.push_back(case_of(test::small_replication(test::small_dimensions(3, 20, 4), Regime::B, 12, 1500, 5, r),
                            {test::dow_lane(RewardModel::known, 12), test::dow_lane(RewardModel::learned, 12)},
                            two_schedules()));
  return cases;
}

// The paper's numbers of boxes and features, for which the walk by a warp has special code, with shorter contexts. The
// last lane has no bonus, so that under `tracking` it keeps the curvature and no design.
std::vector<Case> the_papers_walks() {
  Case out = case_of(test::small_replication(test::small_dimensions(3, 9, 10), Regime::B, 12, kReplayedPeriods, 13),
                     three_lanes(), {options_of("geometric:1.5"), options_of("tracking"), options_of("every:7")});
  out.lanes.push_back(weitzman_lane(12, Learning::online, RewardModel::learned, 0.0, 0.0));
  return {out};
}

// Without a device the tests below are skipped, but their cases must exist.
TEST(DeviceCases, HaveLanes) {
  for (const auto& build : {every_policy, late_rewards, odd_shapes, large_matrices, the_papers_shape,
                            several_replications, dow_in_24_replications, many_samples, the_papers_walks})
    for (const Case& c : build()) EXPECT_GE(c.lanes.size(), 2u);
}

// Compares the parts of the regret on the first path, which depends only on decisions. The second path needs the lane's
// scores and its estimates of outputs, which a lane that follows decisions does not have.
void expect_same_first_path(const RegretParts& actual, const RegretParts& expected) {
  EXPECT_NEAR(actual.wrong_order + actual.wrong_order_gap / 2, expected.wrong_order + expected.wrong_order_gap / 2,
              1e-9);
  EXPECT_NEAR(actual.too_early + actual.too_early_gap / 2, expected.too_early + expected.too_early_gap / 2, 1e-9);
  EXPECT_EQ(actual.wrong_deployment, expected.wrong_deployment);
}

void expect_same(LaneTally actual, const LaneTally& expected) {
  expect_same_first_path(actual.regret, expected.regret);
  actual.regret = expected.regret;
  for (int k = 0; k < expected.recorded; ++k) {
    expect_same_first_path(actual.regret_curve[k], expected.regret_curve[k]);
    actual.regret_curve[k] = expected.regret_curve[k];
  }
  EXPECT_TRUE(actual == expected);
}

// The device follows the CPU's decisions, so widths and indices differ only by rounding in single precision.
void expect_replays(const Case& c, const BlockOptions& options) {
  const UnitOfLanes unit = c.unit();
  std::vector<LaneRecord> expected(c.lanes.size()), actual(c.lanes.size());
  test::ScalarBackend host;
  const auto tallies = engine::run_lanes<float>(host, std::span(&unit, 1), options, nullptr, expected);
  for (std::size_t k = 0; k < c.lanes.size(); ++k) actual[k].decisions = &expected[k].outcomes;
  const auto replayed = run_on_device(0, std::span(&unit, 1), options, nullptr, actual);
  for (std::size_t k = 0; k < c.lanes.size(); ++k) {
    expect_same(replayed[0][k], tallies[0][k]);
    for (std::size_t at = 0; at < expected[k].scores.size(); ++at) {
      ASSERT_NEAR(actual[k].widths[at], expected[k].widths[at], 2e-5 * expected[k].widths[at] + 1e-6) << "lane " << k;
      ASSERT_NEAR(actual[k].scores[at], expected[k].scores[at], 2e-3) << "lane " << k << " at " << at;
    }
  }
}

void expect_replays(const std::vector<Case>& cases) {
  for (const Case& c : cases)
    for (const BlockOptions& options : c.options) expect_replays(c, options);
}

TEST(DeviceGpu, ReplaysEveryPolicy) {
  PANDORA_REQUIRE_GPU();
  expect_replays(every_policy());
}

TEST(DeviceGpu, LateRewards) {
  PANDORA_REQUIRE_GPU();
  expect_replays(late_rewards());
}

TEST(DeviceGpu, OddShapes) {
  PANDORA_REQUIRE_GPU();
  expect_replays(odd_shapes());
}

TEST(DeviceGpu, ManySamples) {
  PANDORA_REQUIRE_GPU();
  const std::vector<Case> cases = many_samples();
  const UnitOfLanes unit = cases[0].unit();
  const auto tallies = run_on_device(0, std::span(&unit, 1), cases[0].options[0]);
  for (const LaneTally& tally : tallies[0]) ASSERT_GT(tally.queries(), 2 * engine::kManySamples);
  expect_replays(cases);
}

TEST(DeviceGpu, LargeMatrices) {
  PANDORA_REQUIRE_GPU();
  expect_replays(large_matrices());
}

TEST(DeviceGpu, ThePapersShape) {
  PANDORA_REQUIRE_GPU();
  expect_replays(the_papers_shape());
}

TEST(DeviceGpu, ALaneAloneAndAmongManyReplicationsGivesTheSameBytes) {
  PANDORA_REQUIRE_GPU();
  const std::vector<Case> cases = several_replications();
  for (const BlockOptions& options : cases[0].options) {
    std::vector<UnitOfLanes> units;
    for (const Case& c : cases) units.push_back(c.unit());
    const auto together = run_on_device(0, units, options);
    EXPECT_TRUE(run_on_device(0, units, options) == together) << "a second run differs";
    for (std::size_t u = 0; u < units.size(); ++u)
      for (std::size_t k = 0; k < units[u].lanes.size(); k += 5) {
        const UnitOfLanes alone{units[u].replication, {units[u].lanes[k]}};
        EXPECT_TRUE(run_on_device(0, std::span(&alone, 1), options)[0][0] == together[u][k]);
      }
  }
}

// A recorded lane walks by the CPU's code, and all others walk by a warp. Both give the same bytes.
TEST(DeviceGpu, WalksByAWarpAreThoseOfRecordedLanes) {
  PANDORA_REQUIRE_GPU();
  const Case c = the_papers_walks()[0];
  const UnitOfLanes unit = c.unit();
  for (const BlockOptions& options : c.options) {
    std::vector<LaneRecord> records(c.lanes.size());
    const auto recorded = run_on_device(0, std::span(&unit, 1), options, nullptr, records),
               walked = run_on_device(0, std::span(&unit, 1), options);
    for (std::size_t k = 0; k < c.lanes.size(); ++k)
      EXPECT_TRUE(walked[0][k] == recorded[0][k]) << "lane " << k << ", " << refit_text(options.estimation.refit);
  }
}

// With their own decisions, device and CPU may differ from a near-tie on. Their mean utilities must agree.
TEST(DeviceGpu, PairedUtilityOver24Replications) {
  PANDORA_REQUIRE_GPU();
  const std::vector<Case> cases = dow_in_24_replications();
  std::vector<UnitOfLanes> units;
  for (const Case& c : cases) units.push_back(c.unit());
  const double R = static_cast<double>(cases.size());
  for (const BlockOptions& options : cases[0].options) {
    const auto device = run_on_device(0, units, options);
    test::ScalarBackend host;
    const auto cpu = engine::run_lanes<float>(host, units, options);
    double sum = 0.0, squares = 0.0;
    for (std::size_t r = 0; r < cases.size(); ++r) {
      const double d = (device[r][0].utility - cpu[r][0].utility) / device[r][0].periods;
      sum += d;
      squares += d * d;
    }
    const double mean = sum / R, error = std::sqrt(std::max(squares / R - mean * mean, 0.0) / (R - 1));
    EXPECT_LE(std::abs(mean), 2 * error + 1e-12) << refit_text(options.estimation.refit);
  }
}

// Tapes are equal in every bit. Indices are equal except for the order of summation.
TEST(DeviceGpu, PreparesAReplicationAsTheCpuDoes) {
  PANDORA_REQUIRE_GPU();
  Study study;
  study.environments.assign(paper_environments().begin(), paper_environments().end());
  study.replications = kPreparedReplications;
  study.dimensions.radius_draws = kPreparedRadiusDraws;
  study.periods = kPreparedPeriods;
  study.oracle = kPreparedOracle;
  const Plan plan = make_plan(study);
  const ReplicationPreparer prepare = prepare_on_device(0);
  for (const Unit& unit : plan.units) {
    OrderFrequencies order, expected_order;
    const Replication actual = prepare(preparation_of(study, plan, unit), &order),
                      expected = prepare_replication(study, plan, unit, &expected_order);
    EXPECT_EQ(actual.instance.theta, expected.instance.theta);
    EXPECT_EQ(actual.tape.contexts.psi, expected.tape.contexts.psi);
    EXPECT_EQ(actual.tape.contexts.scale, expected.tape.contexts.scale);
    EXPECT_EQ(actual.tape.contexts.context_cost, expected.tape.contexts.context_cost);
    EXPECT_EQ(actual.tape.phi, expected.tape.phi);
    EXPECT_EQ(actual.tape.mu, expected.tape.mu);
    EXPECT_EQ(actual.tape.cost, expected.tape.cost);
    EXPECT_EQ(actual.tape.reward, expected.tape.reward);
    EXPECT_EQ(order.permutations, expected_order.permutations);
    const std::size_t first = expected.tape.at(expected.tape.online_row(0), 0);
    for (std::size_t at = first; at < expected.sigma.size(); ++at)
      ASSERT_NEAR(actual.sigma[at], expected.sigma[at], 1e-10) << at;
  }
}

TEST(DeviceReportTest, SaysWhyThereIsNone) {
  const DeviceReport report = find_devices();
  EXPECT_EQ(report.none.empty(), !report.usable().empty());
}

}  // namespace
}  // namespace pandora
