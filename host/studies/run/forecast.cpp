#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <iterator>

#include "host/ground/files/system_limits.hpp"
#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "host/studies/run/run_study.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {
namespace {

// Sizes of a probe at the most: what a plan takes must not grow with the study, which is scaled up from them.
constexpr int kProbePeriods = 3000, kProbeContext = 200, kProbeContexts = 100000, kProbeSamples = 1000000,
              kProbeNodes = 101, kProbeT0 = 10000, kProbeT0Values = 3;
constexpr std::size_t kProbeLanes = 64, kProbeSettings = 12;

constexpr double kGibibyte = 1u << 30;

// Seconds that one unit of a sweep takes on a thread.
struct UnitTime {
  double seconds = 0.0;
  bool rough = false;
};

double seconds_of(const Study& study, const Plan& plan) {
  SweepOptions options;
  options.threads = 1;
  const auto start = std::chrono::steady_clock::now();
  run_sweep(study, plan, options);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The least, the greatest and the middle of the values of T_0 that a probe can take.
std::vector<int> probed_T0(const Study& study) {
  std::vector<int> all = study.T0;
  std::erase_if(all, [](int T0) { return T0 > kProbeT0; });
  if (all.empty()) return {kProbeT0};
  std::ranges::sort(all);
  if (all.size() <= kProbeT0Values) return all;
  return {all.front(), all[all.size() / 2], all.back()};
}

// Periods that lanes play: their calibrations, and the horizon of each.
double periods_of(const PlannedLane* lanes, std::size_t count, int periods) {
  double sum = static_cast<double>(count) * periods;
  for (std::size_t k = 0; k < count; ++k) sum += lanes[k].T0;
  return sum;
}

// Lanes of the plan whose time grows with this power of the context, few enough and at values of T_0 that a probe
// takes.
struct ProbedLanes {
  std::vector<PlannedLane> lanes;
  double periods = 0.0;  // of all lanes that these stand for
};

ProbedLanes probed_lanes(const PlannedSweep& sweep, const std::vector<LaneGroup>& groups, const std::vector<int>& T0,
                         const std::function<bool(int)>& power) {
  const Plan& plan = sweep.plan;
  ProbedLanes out;
  std::vector<PlannedLane> found;
  for (const LaneGroup& group : groups) {
    if (!power(group.power_of_context())) continue;
    out.periods += periods_of(&plan.lanes[group.first], group.count, sweep.study.periods);
    const auto first = plan.lanes.begin() + static_cast<std::ptrdiff_t>(group.first),
               last = first + static_cast<std::ptrdiff_t>(group.count);
    const std::size_t before = found.size();
    std::copy_if(first, last, std::back_inserter(found), [&T0](const PlannedLane& lane) {
      return !lane.policy->uses_calibration || std::ranges::find(T0, lane.T0) != T0.end();
    });
    if (found.size() > before) continue;
    found.push_back(*first);
    found.back().T0 = T0.back();
  }
  const std::size_t step = std::max<std::size_t>(1, (found.size() + kProbeLanes - 1) / kProbeLanes);
  for (std::size_t k = 0; k < found.size(); k += step) out.lanes.push_back(std::move(found[k]));
  return out;
}

UnitTime time_of_unit(const PlannedSweep& sweep, const std::vector<LaneGroup>& groups) {
  const Study& study = sweep.study;
  Study probe = study;
  probe.replications = 1;
  probe.periods = std::min(study.periods, kProbePeriods);
  probe.instances = false;
  const auto limit = [](int& value, int most) {
    const double factor = static_cast<double>(std::max(value, 1)) / most;
    value = std::min(value, most);
    return std::max(factor, 1.0);
  };
  // A table of outcomes decides its contexts itself.
  const bool of_table = sweep.plan.units[0].environment.trace != nullptr;
  const std::vector<int> T0 = probed_T0(study);
  const double longer = (static_cast<double>(sweep.plan.calibration_periods) + study.periods) /
                        (static_cast<double>(T0.back()) + probe.periods),
               wider = of_table ? 1.0 : limit(probe.dimensions.context, kProbeContext);
  const double more =
      std::max({wider, limit(probe.order_contexts, kProbeContexts), limit(probe.oracle.samples, kProbeSamples),
                limit(probe.oracle.grid.shift, kProbeNodes) * limit(probe.oracle.grid.scale, kProbeNodes) *
                    limit(probe.oracle.grid.cost, kProbeNodes)});
  Plan plan;
  plan.estimation = sweep.plan.estimation;
  plan.units.push_back(sweep.plan.units[0]);
  UnitTime out;
  if (study.order || !study.regret) {
    Study order = probe;
    order.regret = false;
    out.seconds += more * seconds_of(order, plan);
  }
  out.rough = more > 1.0;
  if (!study.regret) return out;
  probe.order = false;
  plan.calibration_periods = T0.back();
  plan.lanes = {sweep.setting->plan.lanes[0]};  // the oracle
  const double alone = seconds_of(probe, plan);
  out.seconds += alone * std::max(more, wider * longer);
  // Where nothing is scaled by the context, one probe serves all lanes.
  for (const int power : wider > 1.0 ? std::vector<int>{1, 2, 3, 4} : std::vector<int>{1}) {
    const ProbedLanes lanes = probed_lanes(sweep, groups, T0, [&](int p) { return wider == 1.0 || p == power; });
    if (lanes.lanes.empty()) continue;
    plan.lanes.resize(1);
    plan.lanes.insert(plan.lanes.end(), lanes.lanes.begin(), lanes.lanes.end());
    out.seconds += std::max(seconds_of(probe, plan) - alone, 0.0) * std::pow(wider, power) * lanes.periods /
                   periods_of(lanes.lanes.data(), lanes.lanes.size(), probe.periods);
  }
  out.rough = out.rough || wider > 1.0 || T0.size() < study.T0.size();
  return out;
}

// What two settings' units take, against each other, as far as sizes tell.
double size_of_unit(const PlannedSweep& sweep) {
  const double m = sweep.study.dimensions.index_size();
  return (sweep.study.periods + periods_of(sweep.plan.lanes.data(), sweep.plan.lanes.size(), sweep.study.periods)) * m *
         m;
}

void add_time(const std::vector<PlannedSweep>& sweeps, const std::vector<std::vector<LaneGroup>>& groups, int threads,
              Forecast& f) {
  // Probes of some settings, from the first to the last, stand for those near them.
  const std::size_t n = sweeps.size(), probes = std::min(n, kProbeSettings);
  std::vector<UnitTime> times;
  std::vector<std::size_t> probed;
  for (std::size_t k = 0; k < probes; ++k) {
    probed.push_back(probes == 1 ? 0 : k * (n - 1) / (probes - 1));
    times.push_back(time_of_unit(sweeps[probed[k]], groups[probed[k]]));
  }
  for (std::size_t s = 0, near = 0; s < n; ++s) {
    while (near + 1 < probes && probed[near + 1] <= s) ++near;
    const double scale = probed[near] == s ? 1.0 : size_of_unit(sweeps[s]) / size_of_unit(sweeps[probed[near]]);
    const double units = static_cast<double>(sweeps[s].plan.units.size());
    f.seconds += scale * times[near].seconds * units / std::min<double>(threads, units);
    f.rough = f.rough || times[near].rough || probed[near] != s;
  }
}

}  // namespace

std::vector<PlannedSweep> whole_sweeps(const std::vector<PlannedSetting>& settings) {
  std::vector<PlannedSweep> out;
  for (const PlannedSetting& planned : settings) out.push_back({&planned, planned.setting.study, planned.plan});
  return out;
}

Forecast forecast(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps, int threads) {
  Forecast f;
  std::uint64_t hdf5 = 0, tables = 0;
  for (const PlannedSetting& planned : settings) {
    const Study& study = planned.setting.study;
    if (study.hdf5)  // that of all settings stands in memory together
      hdf5 += 2 * planned.plan.units.size() * unit_bytes(study, planned.plan).written;
    if (of_table(study))
      tables += TraceWorld::of(*trace_keys(study.environments[0]), study.environments[0].name)->bytes();
    f.bytes = std::max(f.bytes, table_bytes(study, planned.plan));
  }
  std::vector<std::vector<LaneGroup>> groups;
  for (const PlannedSweep& sweep : sweeps) {
    groups.push_back(sweep.study.regret ? lane_groups(sweep.study, sweep.plan) : std::vector<LaneGroup>());
    const std::size_t lanes = sweep.study.regret ? sweep.plan.units.size() * sweep.plan.lanes.size() : 0;
    f.units += sweep.plan.units.size();
    f.lanes += lanes;
    f.policy_periods += static_cast<double>(lanes) * sweep.study.periods;
    f.bytes = std::max(f.bytes, sweep_bytes(sweep.study, sweep.plan, groups.back(), threads) +
                                    part_bytes(sweep.setting->setting.study, sweep.setting->plan));
  }
  constexpr std::uint64_t kFixed = std::uint64_t{32} << 20;  // the program and its libraries
  f.bytes += kFixed + 2 * tables + (settings.size() > 1 ? hdf5 : 0);
  add_time(sweeps, groups, threads, f);
  return f;
}

std::string forecast_text(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps,
                          const std::vector<Part>& parts, int threads, int processes) {
  const Forecast all = forecast(settings, sweeps, threads);
  const std::uint64_t machine = machine_memory();
  const std::string too_much = machine == 0 || all.bytes <= machine
                                   ? ""
                                   : fmt::format(
                                         ", and this machine has {:.2f} GiB: fewer threads, fewer periods, a smaller "
                                         "T0 or output.hdf5 = false take less",
                                         static_cast<double>(machine) / kGibibyte);
  std::size_t longest = 0;
  for (const Part& part : parts) longest = std::max(longest, part.last - part.first);
  const std::size_t n = static_cast<std::size_t>(processes), most = (parts.size() + n - 1) / n;
  return fmt::format(
      "settings          {}\n"
      "units             {} replications over all environments and regimes\n"
      "lanes             {}\n"
      "policy-periods    {:.3g}\n"
      "memory            {:.2f} GiB per process at the most{}\n"
      "parts             {} of up to {} replications; {} processes do up to {} each\n"
      "estimated time    {:.0f} s on a CPU, {} threads in each of {} processes ({}{}); probed here, at the present load\n",
      settings.size(), all.units, all.lanes, all.policy_periods, static_cast<double>(all.bytes) / kGibibyte, too_much,
      parts.size(), longest, processes, most,
      parts.empty() ? 0.0 : all.seconds * static_cast<double>(most) / static_cast<double>(parts.size()), threads,
      processes, settings[0].setting.study.engine.text(), all.rough ? ", roughly" : "");
}

namespace {

// A GPU that is only thought of: an H100's multiprocessors, and what CUDA itself takes of its memory.
constexpr int kMultiprocessors = 132;
constexpr double kLeftToCuda = 0.5;  // GiB

// Replications of a sweep that go together there.
struct GroupOnDevice {
  std::size_t units = 0;
  DeviceDemand demand;
};

GroupOnDevice group_on_device(const PlannedSweep& sweep, double memory) {
  const Study& study = sweep.study;
  std::string why = needs_cpu(study, sweep.plan);
  if (study.engine.kind == EngineSettings::Kind::reference || study.engine.precision == EngineSettings::Precision::fp64)
    why = "the engine is " + study.engine.text();
  if (!why.empty())
    throw Error(ExitCode::usage,
                fmt::format("--device-memory: {}; plan it with --backend cpu and without this option", why));
  std::vector<LaneSpec> lanes;
  for (const LaneGroup& group : lane_groups(study, sweep.plan))
    for (std::size_t k = group.first; k < group.first + group.count; ++k) {
      lanes.push_back(group.spec);
      lanes.back().T0 = sweep.plan.lanes[k].T0;
    }
  const DeviceGroups usual;
  for (std::size_t units = std::min(usual.units, (sweep.plan.units.size() + usual.per_device - 1) / usual.per_device);;
       units /= 2) {
    const DeviceDemand demand =
        demand_on_device({study.dimensions, sweep.plan.calibration_periods, study.periods}, lanes,
                         {study.estimation, study.engine.block}, units, kMultiprocessors);
    const double gibibytes = static_cast<double>(demand.bytes) / kGibibyte;
    if (gibibytes <= memory - kLeftToCuda) return {units, demand};
    if (units > 1) continue;
    throw Error(ExitCode::device,
                fmt::format("--device-memory {:g}: one replication needs {:.2f} GiB beside {:.1f} for CUDA itself; use "
                            "smaller --periods, fewer policies, or --backend cpu",
                            memory, gibibytes, kLeftToCuda));
  }
}

}  // namespace

std::string device_forecast_text(const std::vector<PlannedSweep>& sweeps, double memory) {
  // After docs/gpu-results.md: products of blocks at the 4 TFLOP/s of an H100 and an H200, all stages of concurrent chunks in
  // 3 times that, 3.5 s for start and preparation; for the paper 38 s, of which what was measured leaves 23 to 53 possible.
  constexpr double kFlops = 4e12, kAll = 3.0, kBeside = 3.5, kLow = 0.6, kHigh = 1.4;
  const double per_device = static_cast<double>(DeviceGroups{}.per_device);
  double on_device = 0.0, on_host = 0.0, seconds = 0.0, least_together = per_device;
  std::size_t chunks = 0, most = 0;
  for (const PlannedSweep& sweep : sweeps) {
    if (!sweep.study.regret) continue;  // no lanes: the oracle's order is prepared replication by replication
    const GroupOnDevice group = group_on_device(sweep, memory);
    const double bytes = static_cast<double>(group.demand.bytes), m = sweep.study.dimensions.index_size(),
                 B = sweep.study.engine.block, units = static_cast<double>(sweep.plan.units.size()),
                 parts = std::ceil(units / static_cast<double>(group.units)),
                 together = std::min({per_device, parts, std::floor((memory - kLeftToCuda) * kGibibyte / bytes)});
    least_together = std::min(least_together, together);
    on_device = std::max(on_device, together * bytes);
    // As many again are prepared while those run.
    on_host = std::max(on_host, std::min(units, 2.0 * per_device * static_cast<double>(group.units)) *
                                    static_cast<double>(tape_bytes(sweep.study, sweep.plan)));
    chunks += static_cast<std::size_t>(parts);
    most = std::max(most, group.units);
    seconds += static_cast<double>(group.demand.matrices) * units / static_cast<double>(group.units) *
               sweep.study.periods / B * 2.0 * (B + B / 2) * m * m / kFlops;
  }
  if (chunks == 0)
    throw Error(ExitCode::usage, "--device-memory: the study simulates no lanes (output.regret = false)");
  return fmt::format(
      "device            {:g} GiB assumed, {} multiprocessors\n"
      "chunks            {} of up to {} replications, {:.0f} at a time\n"
      "device memory     {:.2f} GiB at the most\n"
      "host memory       {:.2f} GiB for tapes at the most\n"
      "modelled time     {:.0f} to {:.0f} s on one device; a model from parts of the paper on an H100\n",
      memory, kMultiprocessors, chunks, most, least_together, on_device / kGibibyte, on_host / kGibibyte,
      kLow * (kBeside + kAll * seconds), kHigh * (kBeside + kAll * seconds));
}

}  // namespace pandora
