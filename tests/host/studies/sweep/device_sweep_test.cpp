// The sweep over devices, with the host's backend in place of devices.
#include "host/studies/sweep/device_sweep.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

#include "host/lanes/devices/preparer.hpp"
#include "host/lanes/engine/run_lanes.hpp"
#include "tests/reference/scalar_backend.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using testing::Property;
using testing::Throws;

Study two_box_study() {
  Study study = test::small_study(test::small_dimensions(2, 4, 2), {test::cheap_environment()}, {0, 4}, 1);
  study.policies = {"online_plugin", "linucb_online"};
  study.hyperparameters = {0.1};
  study.replications = 4;
  study.periods = 70;
  study.order_contexts = 100;
  return study;
}

UnitRunner host_runner(const Study& study) {
  return [&study](int, std::span<const UnitOfLanes> units, std::span<LaneRecord> records) {
    test::ScalarBackend backend;
    return engine::run_lanes<float>(backend, units, {study.estimation, study.engine.block}, nullptr, records);
  };
}

PreparerFactory host_preparer() {
  return [](int) -> ReplicationPreparer {
    return [](const Preparation& from, OrderFrequencies* order) {
      test::ScalarPrepareBackend backend;
      return prepare::Preparer(backend).prepare(from, order);
    };
  };
}

SweepOptions on_devices(const std::vector<int>& devices, int threads = 2) {
  SweepOptions options;
  options.threads = threads;
  options.devices.ids = devices;
  return options;
}

std::vector<UnitResult> collected(const Study& study, const Plan& plan, const SweepOptions& options,
                                  const UnitRunner& run, DeviceGroups groups = {}) {
  std::vector<UnitResult> results(plan.units.size());
  run_device_sweep(
      study, plan, options, host_preparer(), run,
      [&results](std::size_t unit, UnitResult&& result) { results[unit] = std::move(result); }, groups);
  return results;
}

// The number of devices, and of units that each takes at a time, does not change any number or its place.
TEST(DeviceSweep, TheSameBytesForAnyNumberOfDevices) {
  const Study study = two_box_study();
  const Plan plan = make_plan(study);
  const auto expected = collected(study, plan, on_devices({0}), host_runner(study));
  ASSERT_EQ(expected.size(), plan.units.size());
  for (const UnitResult& unit : expected) EXPECT_EQ(unit.lanes.size(), plan.lanes.size());
  for (const DeviceGroups groups : {DeviceGroups{1, 1}, {1, 3}, {3, 1}, {3, 2}, {100, 1}})
    for (const std::vector<int>& devices : {std::vector<int>{0}, {0, 1}, {2, 0, 1}})
      EXPECT_EQ(collected(study, plan, on_devices(devices), host_runner(study), groups), expected);
}

// A device has room for one group. A group without room beside others runs again alone. A group without room alone
// fails.
TEST(DeviceSweep, AGroupThatFindsNoRoomWaitsForTheOthers) {
  Study study = two_box_study();
  study.estimates = true;
  const Plan plan = make_plan(study);
  const SweepOptions options = on_devices({0, 1});
  const std::vector<UnitResult> expected = collected(study, plan, options, host_runner(study), {1, 1});
  std::array<std::atomic<int>, 2> held{};
  std::atomic<int> refused{0};
  const UnitRunner small = [&, on_host = host_runner(study)](int device, std::span<const UnitOfLanes> units,
                                                             std::span<LaneRecord> records) {
    auto out = on_host(device, units, records);  // when room runs out, records already hold something
    struct Room {
      std::atomic<int>& held;
      const int others = held++;
      ~Room() { --held; }
    } const room{held[static_cast<std::size_t>(device)]};
    // The first group stays until another one comes.
    for (int i = 0; i < 5000 && room.others == 0 && refused == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (room.others > 0) {
      ++refused;
      throw DeviceFull("no room");
    }
    return out;
  };
  const std::vector<UnitResult> actual = collected(study, plan, options, small, {1, 4});
  EXPECT_GT(refused, 0);
  EXPECT_EQ(actual, expected);
  const UnitRunner none = [](int, std::span<const UnitOfLanes>,
                             std::span<LaneRecord>) -> std::vector<std::vector<LaneTally>> {
    throw DeviceFull("one replication needs more");
  };
  EXPECT_THROW(collected(study, plan, options, none, {1, 4}), DeviceFull);
}

TEST(DeviceSweep, AgreesWithTheCpuSweepWhereNothingIsLearned) {
  Study study = two_box_study();
  study.policies = {"query_all", "random_order"};
  const Plan plan = make_plan(study);
  const auto cpu = run_sweep(study, plan, on_devices({}, 1));
  const auto device = collected(study, plan, on_devices({0}, 1), host_runner(study));
  for (std::size_t u = 0; u < cpu.size(); ++u) {
    EXPECT_EQ(device[u].lanes, cpu[u].lanes);
    EXPECT_EQ(device[u].order.max_mass, cpu[u].order.max_mass);
  }
}

LaneSpec listed(std::initializer_list<int> boxes, int T0 = 0) {
  LaneSpec spec;
  spec.T0 = T0;
  spec.order = Order::listed;
  spec.length = static_cast<int>(boxes.size());
  std::copy(boxes.begin(), boxes.end(), spec.list);
  return spec;
}

using MakeLane = std::function<LaneSpec(const Replication&, int)>;

template <class Thrown>
MakeLane throws(const Thrown& thrown) {
  return [thrown](const Replication&, int) -> LaneSpec { throw thrown; };
}

// Lanes that no policy may make, and the failure of each.
std::vector<std::pair<MakeLane, Failure>> broken_lanes() {
  LaneSpec indices, payoffs, rewards;  // learned without learning
  indices.score = Score::learned_index;
  payoffs.score = Score::learned_payoff;
  rewards.reward = RewardModel::learned;
  std::vector<std::pair<MakeLane, Failure>> lanes = {{throws(std::runtime_error("a bug")), Failure::policy},
                                                     {throws(LaneFailure(Failure::reward_fit)), Failure::reward_fit},
                                                     {{}, Failure::policy}};
  for (const LaneSpec& spec : {listed({0, 0}), listed({0, 2}), listed({-1}), listed({}), listed({1}, 5),
                               listed({1}, -1), indices, payoffs, rewards})
    lanes.emplace_back([spec](const Replication&, int) { return spec; }, Failure::policy);
  return lanes;
}

// A mistake in a policy's code ends only its lane, on a device and on the CPU.
TEST(DeviceSweep, ALaneThatCannotBeMadeFailsAloneHereAndOnTheCpu) {
  const std::vector<std::pair<MakeLane, Failure>> broken = broken_lanes();
  Study study = two_box_study();
  study.replications = 2;
  study.T0 = {4};
  study.policies = {"query_all", "random_order"};
  const Plan sound = make_plan(study);
  const SweepOptions on_cpu = on_devices({}, 1), on_device = on_devices({0}, 1);
  const auto run = [&](const Plan& plan) {
    return std::vector{run_sweep(study, plan, on_cpu), collected(study, plan, on_device, host_runner(study))};
  };
  const auto expected = run(sound);
  for (std::size_t b = 0; b < broken.size(); ++b) {
    SCOPED_TRACE(b);
    Plan plan = sound;
    plan.lanes[0].variant.lane = broken[b].first;
    const auto results = run(plan);
    for (std::size_t sweep = 0; sweep < 2; ++sweep)
      for (std::size_t u = 0; u < plan.units.size(); ++u) {
        const std::vector<LaneTally>& lanes = results[sweep][u].lanes;
        EXPECT_EQ(lanes[0].failure, broken[b].second);
        EXPECT_EQ(lanes[0].failed_period, 0);
        EXPECT_EQ(lanes[0].periods, 0);
        EXPECT_EQ(lanes[1], expected[sweep][u].lanes[1]);
        EXPECT_EQ(lanes[1].failure, Failure::none);
      }
  }
  Plan none = sound;
  for (PlannedLane& lane : none.lanes) lane.variant.lane = broken[0].first;
  for (const auto& results : run(none))
    for (const LaneTally& lane : results[0].lanes) EXPECT_EQ(lane.failure, Failure::policy);
  none.lanes[0].variant.lane = throws(Error(ExitCode::usage, "for the user"));
  EXPECT_THROW(run_sweep(study, none, on_cpu), Error);
  EXPECT_THROW(collected(study, none, on_device, host_runner(study)), Error);
  none.lanes[0].variant.lane = throws(std::bad_alloc());
  EXPECT_THROW(run_sweep(study, none, on_cpu), std::bad_alloc);
  EXPECT_THROW(collected(study, none, on_device, host_runner(study)), std::bad_alloc);
}

TEST(DeviceSweep, ReportsProgressAndStopsAtAFailure) {
  const Study study = two_box_study();
  const Plan plan = make_plan(study);
  SweepOptions options = on_devices({0, 1});
  std::size_t last = 0;
  options.progress = [&last, &plan](std::size_t done, std::size_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, plan.units.size() * plan.lanes.size());
    last = done;
  };
  collected(study, plan, options, host_runner(study), {3, 1});
  EXPECT_EQ(last, plan.units.size() * plan.lanes.size());
  const UnitRunner failing = [](int device, std::span<const UnitOfLanes>,
                                std::span<LaneRecord>) -> std::vector<std::vector<LaneTally>> {
    throw Error(ExitCode::device, "device " + std::to_string(device) + " fell off the bus");
  };
  EXPECT_THAT(
      [&] {
        collected(study, plan, options, failing, {1, 2});
      },
      Throws<Error>(AllOf(Property(&Error::code, ExitCode::device),
                          Property(&Error::what, testing::HasSubstr("fell off the bus")))));
}

// Estimates and choices reach their lanes, also if a chunk holds several replications.
TEST(DeviceSweep, KeepsWhatLanesHadLearned) {
  Study study = two_box_study();
  study.policies = {"online_plugin", "linucb_online", "frugalgpt"};
  study.estimates = true;
  const Plan plan = make_plan(study);
  const std::vector<UnitResult> results = collected(study, plan, on_devices({0, 1}), host_runner(study), {3, 1});
  for (std::size_t u = 0; u < results.size(); ++u) {
    test::ScalarPrepareBackend backend;
    const Replication replication =
        prepare::Preparer(backend).prepare(preparation_of(study, plan, plan.units[u]), nullptr);
    for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
      const LaneSpec spec = plan.lanes[lane].variant.lane(replication, plan.lanes[lane].T0);
      LaneRecord record;
      record.keep = LaneRecord::Keep::estimates;
      test::ScalarBackend alone;
      const UnitOfLanes unit{&replication, {spec}};
      engine::run_lanes<float>(alone, std::span(&unit, 1), {study.estimation, study.engine.block}, nullptr,
                               std::span(&record, 1));
      const LaneNotes& notes = results[u].notes[lane];
      EXPECT_EQ(notes.rho, record.rho) << u << " " << lane_name(plan.lanes[lane]);
      EXPECT_EQ(notes.theta, record.theta);
      EXPECT_EQ(notes.rho.empty(), !spec.learns_scores());
      EXPECT_EQ(notes.list.size(), spec.order == Order::listed ? static_cast<std::size_t>(spec.length) : 0u);
    }
  }
}

// When the signal comes, the running chunk is finished and handed on, and no other chunk begins.
TEST(DeviceSweep, AnInterruptLetsTheRunningChunkFinish) {
  const Study study = two_box_study();
  const Plan plan = make_plan(study);
  ASSERT_EQ(plan.units.size(), 8u);
  std::atomic<bool> interrupted{false};
  SweepOptions options = on_devices({0});
  options.interrupted = &interrupted;
  // The signal comes when all units are prepared, so that only the device's own thread sees it.
  std::atomic<int> prepared{0};
  const PreparerFactory prepare = [&, on_host = host_preparer()](int device) -> ReplicationPreparer {
    return [&, prepare_unit = on_host(device)](const Preparation& from, OrderFrequencies* order) {
      Replication replication = prepare_unit(from, order);
      ++prepared;
      return replication;
    };
  };
  const UnitRunner run = [&, on_host = host_runner(study)](int device, std::span<const UnitOfLanes> units,
                                                           std::span<LaneRecord> records) {
    while (prepared < 8) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    interrupted = true;
    return on_host(device, units, records);
  };
  std::set<std::size_t> finished;
  const UnitSink sink = [&finished](std::size_t unit, UnitResult&&) { finished.insert(unit); };
  EXPECT_THAT(
      [&] {
        run_device_sweep(study, plan, options, prepare, run, sink, {4, 1});
      },
      Throws<Error>(Property(&Error::code, ExitCode::interrupted)));
  EXPECT_EQ(finished.size(), 4u);
}

}  // namespace
}  // namespace pandora
