// Time, memory and shares of a study in words.
#include "host/studies/run/forecast.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <thread>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/quotas.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/model/constrained.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "host/studies/sweep/device_sweep.hpp"
#include "host/studies/sweep/prepare_replication.hpp"

namespace pandora {
namespace {

// Seconds for all trials of a plan together, and the least for each trial. Their ratio limits how many settings have a
// trial.
constexpr double kTrialSeconds = 2.0, kLeastTrialSeconds = 0.4;
constexpr std::size_t kTrials = 12;

constexpr double kGibibyte = 1u << 30;

// The expected work of a setting's unit relative to others, as far as sizes tell.
double size_of_unit(const PlannedSweep& sweep) {
  const double m = sweep.study.dimensions.index_size();
  double periods = sweep.study.periods;
  for (const PlannedLane& lane : sweep.plan.lanes) periods += static_cast<double>(lane.T0) + sweep.study.periods;
  return periods * m * m;
}

struct Forecast {
  std::size_t units = 0, lanes = 0;  // replications over all (environment, regime); lanes over all units
  double policy_periods = 0.0;
  std::uint64_t bytes = 0;  // the greater of a sweep's peak with an incomplete part, and of making the tables
  double seconds = 0.0, processor_seconds = 0.0;  // with calibrations; wall time is for one process alone here
  bool rough = false;                             // the trial was smaller than the study in more than its horizon
  TrialSize trial;
};

// Runs trials for some settings, from the first to the last; each also stands for the settings near it.
void add_time(const std::vector<PlannedSweep>& sweeps, const std::vector<std::vector<LaneGroup>>& groups, int threads,
              Forecast& f) {
  const double cores = cores_for(threads, static_cast<int>(std::thread::hardware_concurrency()), own_quotas());
  const std::size_t n = sweeps.size(), trials = std::min(n, kTrials);
  std::vector<UnitTime> times;
  std::vector<std::size_t> tried;
  for (std::size_t k = 0; k < trials; ++k) {
    tried.push_back(trials == 1 ? 0 : k * (n - 1) / (trials - 1));
    times.push_back(time_of_unit(sweeps[tried[k]], groups[tried[k]], threads,
                                 std::max(kTrialSeconds / static_cast<double>(trials), kLeastTrialSeconds), f.trial));
  }
  for (std::size_t s = 0, near = 0; s < n; ++s) {
    while (near + 1 < trials && tried[near + 1] <= s) ++near;
    UnitTime time = times[near];
    if (tried[near] != s) {
      const double scale = size_of_unit(sweeps[s]) / size_of_unit(sweeps[tried[near]]);
      time.preparing *= scale;
      time.playing *= scale;
      f.rough = true;
    }
    const std::size_t units = sweeps[s].plan.units.size();
    f.seconds += wall_seconds(time, units, threads, cores);
    f.processor_seconds += static_cast<double>(units) * (time.preparing + time.playing + time.storing);
    f.rough = f.rough || time.rough;
  }
}

Forecast forecast(const std::vector<PlannedSetting>& settings, const std::vector<PlannedSweep>& sweeps, int threads) {
  Forecast f;
  std::uint64_t hdf5 = 0, tables = 0;
  for (const PlannedSetting& planned : settings) {
    const Study& study = planned.setting.study;
    if (study.hdf5)  // the results of all settings are in memory together
      hdf5 += 2 * planned.plan.units.size() * unit_bytes(study, planned.plan).written;
    if (of_table(study) && laws_of(study.environments[0]) == nullptr)
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

// The assumed GPU: the number of an H100's multiprocessors, and the memory that CUDA itself takes.
constexpr int kMultiprocessors = 132;
constexpr double kLeftToCuda = 0.5;  // GiB

// The replications of a sweep that run together on the GPU.
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
    fail(ExitCode::usage, "{}: {}; plan it with {} and without this option", option("device-memory"), why,
         option("backend", "cpu"));
  std::vector<LaneSpec> lanes;
  for (const LaneGroup& group : lane_groups(study, sweep.plan))
    for (std::size_t k = group.first; k < group.first + group.count; ++k) {
      lanes.push_back(group.spec);
      lanes.back().T0 = sweep.plan.lanes[k].T0;
    }
  const DeviceGroups usual = groups_of(study);
  for (std::size_t units = std::min(usual.units, (sweep.plan.units.size() + usual.per_device - 1) / usual.per_device);;
       units /= 2) {
    const DeviceDemand demand =
        demand_on_device({study.dimensions, sweep.plan.calibration_periods, study.periods}, lanes,
                         {study.estimation, study.engine.block}, units, kMultiprocessors);
    const double gibibytes = static_cast<double>(demand.bytes) / kGibibyte;
    if (gibibytes <= memory - kLeftToCuda) return {units, demand};
    if (units > 1) continue;
    fail(ExitCode::device,
         "{}: one replication needs {:.2f} GiB beside {:.1f} for CUDA itself; use smaller {}, fewer policies, or {}",
         option("device-memory", fmt::format("{:g}", memory)), gibibytes, kLeftToCuda, option("periods"),
         option("backend", "cpu"));
  }
}

// The least spending of the benchmark over some replications of an (environment, regime).
struct Least {
  double mean = 0.0, greatest = 0.0;
};

Least least_of(const Study& study, const Plan& plan, const Environment& environment, Regime regime) {
  constexpr int kReplications = 5;
  const int n = std::min(study.replications, kReplications);
  Least out;
  for (int r = 0; r < n; ++r) {
    const double spent =
        least_spending(preparation_of(study, plan, {environment, regime, static_cast<std::uint32_t>(r)}).request);
    out.mean += spent / n;
    out.greatest = std::max(out.greatest, spent);
  }
  return out;
}

// Everything that decides the draws of a setting; the budget does not.
std::string drawn_in(const Setting& setting) {
  std::string out;
  for (const auto& [key, value] : setting.varied)
    if (!key.starts_with("budget.")) out.append(key).append("=").append(value).append(";");
  return out;
}

}  // namespace

std::vector<PlannedSweep> whole_sweeps(const std::vector<PlannedSetting>& settings) {
  std::vector<PlannedSweep> out;
  for (const PlannedSetting& planned : settings) out.push_back({&planned, planned.setting.study, planned.plan});
  return out;
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
  const double seconds =
      parts.empty() ? 0.0 : all.seconds * static_cast<double>(most) / static_cast<double>(parts.size());
  const auto decimals = [](double value) { return value < 10.0 ? 1 : 0; };
  return fmt::format(
      "settings          {}\n"
      "units             {} replications over all environments and regimes\n"
      "lanes             {}\n"
      "policy-periods    {:.3g}\n"
      "memory            {:.2f} GiB per process at most{}\n"
      "parts             {} of up to {} replications; {} processes do up to {} each\n"
      "estimated time    {:.{}f} s on a CPU, {} threads in each of {} processes ({}{}); {:.{}f} s of processor time\n"
      "measured          {} lanes of {} replications here, for up to {} periods each, in {:.1f} s\n",
      settings.size(), all.units, all.lanes, all.policy_periods, static_cast<double>(all.bytes) / kGibibyte, too_much,
      parts.size(), longest, processes, most, seconds, decimals(seconds), threads, processes,
      settings[0].setting.study.engine.text(), all.rough ? ", roughly" : "", all.processor_seconds,
      decimals(all.processor_seconds), all.trial.lanes, all.trial.units, all.trial.periods, all.trial.seconds);
}

std::string device_forecast_text(const std::vector<PlannedSweep>& sweeps, double memory) {
  // From docs/gpu-results.md: an H100 and an H200 do the products of blocks at 4 TFLOP/s, and start and preparation
  // take 3.5 s. All stages of concurrent chunks took 3 times the products, which is 38 s for the paper. In cohorts they
  // are predicted to take 0.6 times the products, which is 10 s for the paper.
  constexpr double kFlops = 4e12, kStages = 3.0, kCohorts = 0.6, kBeside = 3.5, kLow = 0.6, kHigh = 1.6;
  const double per_device = static_cast<double>(DeviceGroups{}.per_device);
  bool predicted = false;
  double on_device = 0.0, on_host = 0.0, seconds = 0.0, least_together = per_device;
  std::size_t chunks = 0, most = 0;
  for (const PlannedSweep& sweep : sweeps) {
    if (!sweep.study.regret) continue;  // without lanes, replications are prepared one by one for the oracle's order
    const GroupOnDevice group = group_on_device(sweep, memory);
    const double bytes = static_cast<double>(group.demand.bytes), m = sweep.study.dimensions.index_size(),
                 B = sweep.study.engine.block, units = static_cast<double>(sweep.plan.units.size()),
                 parts = std::ceil(units / static_cast<double>(group.units)),
                 together = std::min({per_device, parts, std::floor((memory - kLeftToCuda) * kGibibyte / bytes)});
    least_together = std::min(least_together, together);
    on_device = std::max(on_device, together * bytes);
    // As many more are prepared while those run.
    on_host = std::max(on_host, std::min(units, 2.0 * per_device * static_cast<double>(group.units)) *
                                    static_cast<double>(tape_bytes(sweep.study, sweep.plan)));
    chunks += static_cast<std::size_t>(parts);
    most = std::max(most, group.units);
    const bool cohorts = groups_of(sweep.study).units < DeviceGroups{}.units;
    predicted = predicted || cohorts;
    seconds += (cohorts ? kCohorts : kStages) * static_cast<double>(group.demand.matrices) * units /
               static_cast<double>(group.units) * sweep.study.periods / B * 2.0 * (B + B / 2) * m * m / kFlops;
  }
  if (chunks == 0)
    fail(ExitCode::usage, "{}: the study simulates no lanes (output.regret = false)", option("device-memory"));
  return fmt::format(
      "device            {:g} GiB assumed, {} multiprocessors\n"
      "chunks            {} of up to {} replications, {:.0f} at a time\n"
      "device memory     {:.2f} GiB at most\n"
      "host memory       {:.2f} GiB for tapes at most\n"
      "modelled time     {:.0f} to {:.0f} s on one device; {}\n",
      memory, kMultiprocessors, chunks, most, least_together, on_device / kGibibyte, on_host / kGibibyte,
      kLow * (kBeside + seconds), kHigh * (kBeside + seconds),
      predicted ? "predicted from the machine code for an H100, not measured"
                : "a model from parts of the paper on an H100");
}

std::string unkept_budgets(const std::vector<PlannedSetting>& settings) {
  std::map<std::string, Least> known;
  std::string list;
  std::size_t count = 0;
  double enough = 0.0;
  for (const PlannedSetting& planned : settings) {
    const Study& study = planned.setting.study;
    if (study.budget.of != Pacing::Of::costs) continue;
    for (const Environment& environment : study.environments)
      for (const Regime regime : study.regimes) {
        // A few periods tell nothing where boxes come and go or costs move. Costs that follow from drawn indices are
        // not inputs of the oracle.
        if (moves(environment) || !environment.arrives.empty() || !environment.leaves.empty() ||
            environment.indices == Indices::linear)
          continue;
        const std::string cell = environment.name + "/" + regime_name(regime);
        const auto [at, is_new] = known.try_emplace(drawn_in(planned.setting) + cell);
        if (is_new) at->second = least_of(study, planned.plan, environment, regime);
        if (at->second.mean <= study.budget.budget) continue;
        constexpr std::size_t kTold = 4;
        if (++count <= kTold)
          list += fmt::format("{}{:g} in {} (at least {:.3g})", list.empty() ? "" : ", ", study.budget.budget, cell,
                              at->second.mean);
        enough = std::max(enough, at->second.greatest);
      }
  }
  if (count == 0) return "";
  return fmt::format(
      "budget.cost: no policy can keep to {}{}: a box must be opened in every period, and the cheapest costs more. "
      "Policies and the benchmark spend more than the budget there; give {:.2g} or more",
      list, count > 4 ? fmt::format(" and {} more", count - 4) : "", std::ceil(100.0 * enough) / 100.0);
}

}  // namespace pandora
