// The sweep over devices, with the host backend in the devices' place.
#include "host/device_sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "host/device_prepare.hpp"
#include "host/lockstep_engine.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

Study small_study() {
  Study study;
  study.dimensions = test::small_dimensions(2, 4, 2);
  study.environments = {test::cheap_environment()};
  study.T0 = {0, 4};
  study.policies = {"online_plugin", "linucb_online"};
  study.hyperparameters = {0.1};
  study.replications = 4;
  study.periods = 70;
  study.oracle = test::small_oracle();
  study.order_contexts = 100;
  return study;
}

UnitRunner host_runner(const Study& study) {
  return [&study](int, std::span<const UnitOfLanes> units) {
    lockstep::HostBackend backend;
    return lockstep::run_lockstep<float>(backend, units, {study.estimation, study.engine.block});
  };
}

PreparerFactory host_preparer(const Study& study, const Plan& plan) {
  return [&study, &plan](int) -> UnitPreparer {
    return [&study, &plan](const Unit& unit, OrderStatistics* order) {
      prepare::HostPrepareBackend backend;
      return prepare::prepare_replication_on(backend, study, plan, unit, order);
    };
  };
}

std::vector<UnitResult> collected(const Study& study, const Plan& plan, const SweepOptions& options,
                                  const UnitRunner& run, std::size_t at_once = kUnitsAtOnce) {
  std::vector<UnitResult> results(plan.units.size());
  run_device_sweep(
      study, plan, options, host_preparer(study, plan), run,
      [&results](std::size_t unit, UnitResult&& result) { results[unit] = std::move(result); }, at_once);
  return results;
}

std::vector<std::vector<double>> numbers(const std::vector<UnitResult>& results) {
  std::vector<std::vector<double>> out;
  for (const UnitResult& unit : results) {
    out.emplace_back();
    for (const LaneTally& lane : unit.lanes)
      out.back().insert(out.back().end(), {lane.utility, lane.realised_utility, lane.queries()});
  }
  return out;
}

// However many devices share the units, and however many they take at once: the same numbers in the same places.
TEST(DeviceSweep, TheSameBytesForAnyNumberOfDevices) {
  const Study study = small_study();
  const Plan plan = make_plan(study);
  SweepOptions options;
  options.threads = 2;
  options.devices = {0};
  const auto expected = numbers(collected(study, plan, options, host_runner(study)));
  ASSERT_EQ(expected.size(), plan.units.size());
  for (const auto& unit : expected) EXPECT_EQ(unit.size(), 3 * plan.lanes.size());
  for (const std::size_t at_once : {1, 3, 100})
    for (const std::vector<int>& devices : {std::vector<int>{0}, {0, 1}, {2, 0, 1}}) {
      options.devices = devices;
      EXPECT_EQ(numbers(collected(study, plan, options, host_runner(study), at_once)), expected);
    }
}

TEST(DeviceSweep, AgreesWithTheCpuSweepWhereNothingIsLearned) {
  Study study = small_study();
  study.policies = {"query_all", "random_order"};
  const Plan plan = make_plan(study);
  SweepOptions options;
  options.threads = 1;
  const auto cpu = run_sweep(study, plan, options);
  options.devices = {0};
  const auto device = collected(study, plan, options, host_runner(study));
  EXPECT_EQ(numbers(device), numbers(cpu));
  for (std::size_t u = 0; u < cpu.size(); ++u) EXPECT_EQ(device[u].order.max_mass, cpu[u].order.max_mass);
}

TEST(DeviceSweep, ReportsProgressAndStopsAtAFailure) {
  const Study study = small_study();
  const Plan plan = make_plan(study);
  SweepOptions options;
  options.threads = 2;
  options.devices = {0, 1};
  std::size_t last = 0;
  options.progress = [&last, &plan](std::size_t done, std::size_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, plan.units.size() * plan.lanes.size());
    last = done;
  };
  collected(study, plan, options, host_runner(study), 3);
  EXPECT_EQ(last, plan.units.size() * plan.lanes.size());
  const UnitRunner failing = [](int device, std::span<const UnitOfLanes>) -> std::vector<std::vector<LaneTally>> {
    throw Error(ExitCode::device, "device " + std::to_string(device) + " fell off the bus");
  };
  try {
    collected(study, plan, options, failing, 1);
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::device);
    EXPECT_THAT(error.what(), testing::HasSubstr("fell off the bus"));
  }
  const std::atomic<bool> interrupted{true};
  options.interrupted = &interrupted;
  EXPECT_THROW(collected(study, plan, options, host_runner(study)), Error);
}

}  // namespace
}  // namespace pandora
