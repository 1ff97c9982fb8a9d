#include "host/results/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "host/results/lane_contents.hpp"
#include "host/results/parts.hpp"
#include "host/sweep/prepare_replication.hpp"
#include "host/sweep/runnable_lanes.hpp"
#include "host/sweep/sweep.hpp"
#include "kernels/rules/checkpoints.hpp"
#include "kernels/rules/needs.hpp"

namespace pandora {

namespace {

std::uint64_t u64(int n) {
  return static_cast<std::uint64_t>(n);
}

// What a lane needs depends on its policy, which a replication as small as can be is enough to ask.
std::vector<LaneSpec> specs_of(const Study& study, const Plan& plan) {
  Study tiny = study;
  tiny.dimensions.context = tiny.dimensions.output = 1;
  tiny.periods = 1;
  tiny.order = false;
  tiny.oracle = {1000, {2, 2, 2}, 10};
  for (Environment& environment : tiny.environments) environment.truncation_radius = INFINITY;
  Plan small = plan;
  small.calibration_periods = std::min(plan.calibration_periods, 10);
  std::vector<LaneSpec> specs;
  try {
    Unit unit = plan.units[0];
    unit.environment.truncation_radius = INFINITY;
    const Replication replication = prepare_replication(tiny, small, unit, nullptr);
    for (const PlannedLane& lane : plan.lanes) {
      if (lane.variant.custom) continue;
      LaneSpec spec = lane.variant.lane(replication, std::min(lane.T0, small.calibration_periods));
      spec.T0 = lane.T0;
      specs.push_back(spec);
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // an environment or a policy of one's own takes no such study
  }
  return specs;
}

// As host/engine/layout.hpp takes it: matrices and rows of samples of every box, and the deployed samples.
std::uint64_t lane_bytes(const Study& study, const LaneSpec& spec, std::uint64_t real) {
  if (spec.learning == Learning::none) return 0;
  const Dimensions& dim = study.dimensions;
  const std::uint64_t A = u64(dim.boxes), d = u64(dim.reward_features), m = u64(dim.index_size()),
                      stride = u64(padded_to_vector<float>(dim.index_size())),
                      capacity = u64(std::max(spec.T0, 1)) + (spec.online() ? u64(study.periods) : 0);
  const bool solves = !spec.learns_payoff() && !spec.fits_jointly() && (spec.learns_index() || spec.online());
  const LaneNeeds needs = needs_of(spec, study.estimation.refit);
  const std::uint64_t matrices = (needs.design ? 1 : 0) + (needs.curvature ? 1 : 0) + (solves ? 2 : 0);
  return A * (real * stride * (matrices * m + (needs.response ? d : 0) + 1) + 4 * capacity) +
         (spec.learns_reward() ? 4 * capacity * (d + 2) : 0);
}

std::uint64_t instance_bytes(const Study& study) {
  return study.instances ? sizeof(double) * size_of_instance(study.dimensions) : 0;
}

// A unit's results as they are kept until a part or a group of parts is whole; and as numbers in a file.
struct UnitBytes {
  std::uint64_t kept = 0, written = 0;
};

UnitBytes unit_bytes(const Study& study, const Plan& plan) {
  const Dimensions& dim = study.dimensions;
  const std::uint64_t lanes = study.regret ? plan.lanes.size() : 0,
                      estimates =
                          study.estimates
                              ? sizeof(double) * (u64(dim.boxes) * u64(dim.index_size()) + u64(dim.reward_features))
                              : 0,
                      choices = u64(dim.boxes) * 12 + 4, instance = instance_bytes(study);
  constexpr std::uint64_t kNote = 64;  // what the allocator adds
  return {sizeof(UnitResult) + instance + lanes * (sizeof(LaneTally) + sizeof(LaneNotes) + kNote + estimates),
          24 + instance + lanes * (sizeof(double) * (study.regret ? tally_size(study) : 0) + choices + estimates)};
}

}  // namespace

std::uint64_t sweep_bytes(const Study& study, const Plan& plan, int threads) {
  const Dimensions& dim = study.dimensions;
  const std::uint64_t A = u64(dim.boxes), d = u64(dim.reward_features),
                      stride = u64(padded_to_vector<float>(dim.index_size())), M = u64(study.oracle.samples),
                      T = u64(study.periods), rows = 1 + u64(plan.calibration_periods) + T,
                      workers = std::min<std::uint64_t>(u64(threads), plan.units.size());
  const bool single =
      study.engine.kind == EngineSettings::Kind::blocked && study.engine.precision == EngineSettings::Precision::fp32;
  const std::uint64_t real = single ? 4 : 8;
  // Contexts: psi, Q x, l, s and context cost. The tape: phi, mu, cost, reward, sigma. Inputs of sigma.
  const std::uint64_t contexts = 4 * (stride + d) + 8 + A * 16, inputs = A * 16, sigma = A * 8;
  const std::uint64_t tape = rows * (contexts + A * (4 * d + 8 + 8 + 1) + sigma);
  const bool contextual = std::find(study.regimes.begin(), study.regimes.end(), Regime::B) != study.regimes.end();
  const bool exact = std::find(study.regimes.begin(), study.regimes.end(), Regime::A) != study.regimes.end();
  // Projected shocks, sorted, with the cost terms of the boxes; or points, cumulative, G and sums of the exact solver.
  const std::uint64_t sample = M * (8 + std::max<std::uint64_t>(contextual ? 4 * A + 8 : 0, exact ? 4 * 8 : 0));
  const std::uint64_t grid =
      contextual ? 8 * u64(study.oracle.grid.shift) * u64(study.oracle.grid.scale) * u64(study.oracle.grid.cost) : 0;
  const std::uint64_t orders = study.order ? u64(study.order_contexts) * (contexts + inputs + sigma) : 0;
  const std::uint64_t preparation = sample + grid + std::max(orders, study.regret ? rows * inputs : 0);
  std::uint64_t lanes = 0;  // those that run together
  if (study.regret) {
    std::vector<std::uint64_t> each;
    for (const LaneSpec& spec : specs_of(study, plan)) each.push_back(lane_bytes(study, spec, real));
    std::sort(each.rbegin(), each.rend());
    const std::size_t chunk =
        study.engine.kind == EngineSettings::Kind::reference ? 1 : static_cast<std::size_t>(study.engine.chunk);
    for (std::size_t k = 0; k < std::min(each.size(), chunk); ++k) lanes += each[k];
    lanes += rows * (4 * real + 4) + (single ? 0 : rows * stride * 8);
  }
  // A thread prepares or runs lanes; one more unit than there are threads may hold a tape.
  const std::uint64_t tapes = study.regret ? std::min<std::uint64_t>(workers + 1, plan.units.size()) * tape : 0;
  return tapes + workers * std::max(preparation, lanes);
}

std::uint64_t peak_bytes(const Study& study, const Plan& plan, int threads) {
  const UnitBytes unit = unit_bytes(study, plan);
  const std::uint64_t R = std::min<std::uint64_t>(u64(study.replications), plan.units.size());
  std::uint64_t longest = 1;  // units of a part (make_parts)
  for (std::uint64_t units = 50; units < R; units += 50 * longest) longest *= 2;
  // A part that is complete stands there as results, as a document, as its bytes and with its header.
  const std::uint64_t parts = longest * (unit.kept + 4 * unit.written);
  // Tables are made of a whole group (environment, regime); results.h5 is put together in memory, of all groups.
  const std::uint64_t hdf5 = study.hdf5 ? 2 * plan.units.size() * unit.written + R * unit.written : 0;
  const std::uint64_t curves = study.regret ? plan.units.size() / R * plan.lanes.size() * kMostCheckpoints * 100 : 0;
  const std::uint64_t tables = R * unit.kept + longest * 4 * unit.written + hdf5 + curves;
  const std::uint64_t fixed = std::uint64_t{32} << 20;  // the program and its libraries
  return fixed + std::max(sweep_bytes(study, plan, threads) + parts, tables);
}

Forecast forecast(const Study& study, const Plan& plan, int threads) {
  Forecast f;
  f.units = plan.units.size();
  f.lanes = study.regret ? f.units * plan.lanes.size() : 0;
  f.policy_periods = static_cast<double>(f.lanes) * study.periods;
  f.bytes = peak_bytes(study, plan, threads);
  // One unit of each (environment, regime) would be fairer still, but lanes cost nearly the same in all of them. A
  // study that is larger than these is scaled up from them: what `--plan` takes must not grow with it.
  constexpr int kProbePeriods = 3000, kProbeContext = 200, kProbeContexts = 100000, kProbeSamples = 1000000,
                kProbeNodes = 101, kProbeT0 = 10000;
  Study probe = study;
  probe.replications = 1;
  probe.environments.resize(1);
  probe.regimes.resize(1);
  probe.periods = std::min(study.periods, kProbePeriods);
  double more = 1.0, wider = 1.0;  // what preparing takes beyond the probe's, and lanes
  const auto limit = [](int& value, int most) {
    const double factor = static_cast<double>(std::max(value, 1)) / most;
    value = std::min(value, most);
    return std::max(factor, 1.0);
  };
  const double context = limit(probe.dimensions.context, kProbeContext);
  wider = context * context;
  more = std::max({context, limit(probe.order_contexts, kProbeContexts), limit(probe.oracle.samples, kProbeSamples),
                   limit(probe.oracle.grid.shift, kProbeNodes) * limit(probe.oracle.grid.scale, kProbeNodes) *
                       limit(probe.oracle.grid.cost, kProbeNodes)});
  probe.T0.clear();
  for (const int T0 : study.T0)
    if (T0 <= kProbeT0) probe.T0.push_back(T0);
  if (probe.T0.empty()) probe.T0 = {kProbeT0};
  const auto seconds = [](auto&& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  SweepOptions options;
  options.threads = 1;
  Study empty = probe;
  empty.regret = false;
  const double fixed = seconds([&] { run_sweep(empty, make_plan(empty), options); });
  double per_unit = more * fixed;
  if (study.regret) {
    const Plan probed = make_plan(probe);
    const double all = seconds([&] { run_sweep(probe, probed, options); });
    per_unit += wider * std::max(all - fixed, 0.0) * study.periods / probe.periods *
                static_cast<double>(plan.lanes.size()) / static_cast<double>(probed.lanes.size());
  }
  f.seconds = per_unit * static_cast<double>(f.units) / std::min<double>(threads, static_cast<double>(f.units));
  f.rough = more > 1.0 || wider > 1.0 || probe.T0.size() < study.T0.size();
  return f;
}

std::string forecast_text(const std::vector<PlannedSetting>& settings, int threads, int processes) {
  Forecast all;
  std::uint64_t hdf5 = 0;
  for (const PlannedSetting& planned : settings) {
    const Forecast f = forecast(planned.setting.study, planned.plan, threads);
    all.units += f.units;
    all.lanes += f.lanes;
    all.policy_periods += f.policy_periods;
    if (planned.setting.study.hdf5)  // that of all settings stands in memory together
      hdf5 += 2 * f.units * unit_bytes(planned.setting.study, planned.plan).written;
    all.bytes = std::max(all.bytes, f.bytes);
    all.seconds += f.seconds;
    all.rough = all.rough || f.rough;
  }
  if (settings.size() > 1) all.bytes += hdf5;
  const std::vector<Part> parts = make_parts(settings);
  std::size_t longest = 0;
  for (const Part& part : parts) longest = std::max(longest, part.last - part.first);
  const std::size_t n = static_cast<std::size_t>(processes), most = (parts.size() + n - 1) / n;
  return fmt::format(
      "settings          {}\n"
      "units             {} replications over all environments and regimes\n"
      "lanes             {}\n"
      "policy-periods    {:.3g}\n"
      "memory            {:.2f} GiB per process at the most\n"
      "parts             {} of up to {} replications; {} processes do up to {} each\n"
      "estimated time    {:.0f} s on a CPU, {} threads in each of {} processes ({}{})\n",
      settings.size(), all.units, all.lanes, all.policy_periods, static_cast<double>(all.bytes) / (1u << 30),
      parts.size(), longest, processes, most,
      all.seconds * static_cast<double>(most) / static_cast<double>(parts.size()), threads, processes,
      settings[0].setting.study.engine.text(), all.rough ? ", roughly" : "");
}

}  // namespace pandora
