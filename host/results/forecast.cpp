#include "host/results/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "host/sweep/prepare_replication.hpp"
#include "host/sweep/runnable_lanes.hpp"
#include "host/sweep/sweep.hpp"

namespace pandora {

std::uint64_t peak_bytes(const Study& study, const Plan& plan, int threads) {
  const Dimensions& dim = study.dimensions;
  const std::uint64_t A = static_cast<std::uint64_t>(dim.boxes), d = static_cast<std::uint64_t>(dim.reward_features),
                      m = static_cast<std::uint64_t>(dim.index_size()),
                      stride = static_cast<std::uint64_t>(padded_to_vector<float>(dim.index_size())),
                      M = static_cast<std::uint64_t>(study.oracle.samples),
                      T = static_cast<std::uint64_t>(study.periods),
                      rows = 1 + static_cast<std::uint64_t>(plan.calibration_periods) + T;
  const bool single =
      study.engine.kind == EngineSettings::Kind::blocked && study.engine.precision == EngineSettings::Precision::fp32;
  const std::uint64_t real = single ? 4 : 8;
  // psi, Q x, l, s and context cost; phi, mu, cost, reward; sigma and its inputs
  const std::uint64_t tape = rows * (4 * (stride + d) + 8 + A * (8 + 8 + 4 * d + 8 + 8 + 1 + 8 + 16));
  // projected shocks with their cost terms twice; points, cumulative, G and prefix sums of the exact solver
  const std::uint64_t preparation = M * (4 + 8 * A + 4 * 8);
  // As host/engine/layout.hpp takes it: per box V^-1, Hinv, what its solves keep, Q and the rows of its samples; the
  // deployed samples with their features. Then what a solve works in.
  const std::uint64_t lane = A * (real * stride * (4 * m + d + 1) + 4 * rows) + 4 * rows * (1 + d + 1);
  const std::uint64_t scratch = rows * (4 * real + 4);
  const std::uint64_t units = study.regret ? static_cast<std::uint64_t>(threads) + 1 : 0;
  const std::uint64_t converted = single ? 0 : rows * stride * 8;
  const std::uint64_t fixed = 32u << 20;  // program, results
  return fixed + units * tape +
         static_cast<std::uint64_t>(threads) *
             (preparation + converted + scratch + static_cast<std::uint64_t>(study.engine.chunk) * lane);
}

Forecast forecast(const Study& study, const Plan& plan, int threads) {
  Forecast f;
  f.units = plan.units.size();
  f.lanes = study.regret ? f.units * plan.lanes.size() : 0;
  f.policy_periods = static_cast<double>(f.lanes) * study.periods;
  f.bytes = peak_bytes(study, plan, threads);
  // One unit of each (environment, regime) would be fairer still, but lanes cost nearly the same in all of them.
  constexpr int kProbePeriods = 3000;
  Study probe = study;
  probe.replications = 1;
  probe.environments.resize(1);
  probe.regimes.resize(1);
  probe.periods = std::min(study.periods, kProbePeriods);
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
  const double all = study.regret ? seconds([&] { run_sweep(probe, make_plan(probe), options); }) : fixed;
  const double per_unit = fixed + std::max(all - fixed, 0.0) * study.periods / probe.periods;
  f.seconds = per_unit * static_cast<double>(f.units) / std::min<double>(threads, static_cast<double>(f.units));
  return f;
}

// results.h5 in memory, and its image once more while it is written.
std::uint64_t hdf5_bytes(const std::vector<PlannedSetting>& settings) {
  std::uint64_t bytes = 0;
  for (const PlannedSetting& planned : settings) {
    const Study& study = planned.setting.study;
    if (!study.hdf5) return 0;
    const Dimensions& dim = study.dimensions;
    const std::size_t tally = study.regret ? tally_size(study) * planned.plan.lanes.size() : 0;
    const std::size_t instance = study.instances
                                     ? static_cast<std::size_t>(dim.reward_features) * (1 + dim.context + dim.output) +
                                           static_cast<std::size_t>(dim.boxes) * (2 + 2 * dim.context + dim.output)
                                     : 0;
    bytes += 2 * sizeof(double) * planned.plan.units.size() * (tally + instance);
  }
  return bytes;
}

std::string forecast_text(const std::vector<PlannedSetting>& settings, int threads, int processes) {
  Forecast all;
  for (const PlannedSetting& planned : settings) {
    const Forecast f = forecast(planned.setting.study, planned.plan, threads);
    all.units += f.units;
    all.lanes += f.lanes;
    all.policy_periods += f.policy_periods;
    all.bytes = std::max(all.bytes, f.bytes);
    all.seconds += f.seconds;
  }
  const std::vector<Part> parts = make_parts(settings);
  std::size_t longest = 0;
  for (const Part& part : parts) longest = std::max(longest, part.last - part.first);
  const std::size_t n = static_cast<std::size_t>(processes), most = (parts.size() + n - 1) / n;
  return fmt::format(
      "settings          {}\n"
      "units             {} replications over all environments and regimes\n"
      "lanes             {}\n"
      "policy-periods    {:.3g}\n"
      "memory            {:.2f} GiB per process at the most, for any number of replications; {:.2f} GiB for "
      "results.h5\n"
      "parts             {} of up to {} replications; {} processes do up to {} each\n"
      "estimated time    {:.0f} s on a CPU, {} threads in each of {} processes ({})\n",
      settings.size(), all.units, all.lanes, all.policy_periods, static_cast<double>(all.bytes) / (1u << 30),
      static_cast<double>(hdf5_bytes(settings)) / (1u << 30), parts.size(), longest, processes, most,
      all.seconds * static_cast<double>(most) / static_cast<double>(parts.size()), threads, processes,
      settings[0].setting.study.engine.text());
}

}  // namespace pandora
