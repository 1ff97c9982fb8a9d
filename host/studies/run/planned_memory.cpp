// Computes memory from what is held at once: tapes, lanes, results.
#include "host/studies/run/planned_memory.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/studies/results/lane_contents.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

std::uint64_t u64(int n) {
  return static_cast<std::uint64_t>(n);
}

// Its lanes are those of the study, except for T_0 and the constants that the theory derives from sizes.
Replication tiny_replication(const Study& study, const Plan& plan, int calibration_periods) {
  Study tiny = study;
  tiny.dimensions.context = tiny.dimensions.output = 1;
  tiny.dimensions.radius_draws = std::min(tiny.dimensions.radius_draws, 100);
  tiny.periods = 1;
  tiny.order = false;
  tiny.oracle = {1000, {2, 2, 2}, 10};
  Plan small = plan;
  small.calibration_periods = calibration_periods;
  Unit unit = plan.units[0];
  unit.environment.truncation_radius = INFINITY;
  return prepare_replication(tiny, small, unit, nullptr);
}

bool same_variant(const PlannedLane& a, const PlannedLane& b) {
  return a.policy == b.policy && a.variant.reward == b.variant.reward &&
         a.variant.hyperparameter == b.variant.hyperparameter;
}

// The most expensive lanes of a plan, as many as a thread advances together.
std::vector<LaneSpec> largest_lanes(const Study& study, const Plan& plan, const std::vector<LaneGroup>& groups,
                                    std::size_t most) {
  std::vector<std::pair<std::size_t, LaneSpec>> lanes;
  const auto bytes_of = [&study](const LaneSpec& spec) {
    return memory_on_cpu<float>({study.dimensions, spec.T0, study.periods}, {spec}, {study.estimation, 1});
  };
  for (const LaneGroup& group : groups) {
    if (group.is_code) continue;
    std::vector<int> T0;
    for (std::size_t k = 0; k < group.count; ++k) T0.push_back(plan.lanes[group.first + k].T0);
    std::ranges::sort(T0, std::greater<>());
    T0.resize(std::min(most, T0.size()));
    LaneSpec spec = group.spec;
    for (const int longest : T0) {
      spec.T0 = longest;
      lanes.emplace_back(bytes_of(spec), spec);
    }
  }
  std::ranges::stable_sort(lanes, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<LaneSpec> out;
  for (std::size_t k = 0; k < std::min(most, lanes.size()); ++k) out.push_back(lanes[k].second);
  return out;
}

// The memory of a thread while it runs lanes.
std::uint64_t lane_bytes(const Study& study, const Plan& plan, const std::vector<LaneGroup>& groups) {
  const EngineSettings& engine = study.engine;
  const bool reference = engine.kind == EngineSettings::Kind::reference;
  std::uint64_t code = 0;
  for (const LaneGroup& group : groups) code = std::max(code, group.demand.bytes);
  const std::vector<LaneSpec> lanes =
      largest_lanes(study, plan, groups, reference ? 1 : static_cast<std::size_t>(engine.chunk));
  if (lanes.empty()) return code;
  const TapeSize tape{study.dimensions, plan.calibration_periods, study.periods};
  const BlockOptions options{study.estimation, engine.block};
  std::uint64_t bytes = !reference && engine.precision == EngineSettings::Precision::fp32
                            ? memory_on_cpu<float>(tape, lanes, options)
                            : memory_on_cpu<double>(tape, lanes, options);
  if (reference && lanes[0].fits_jointly()) {  // the covariance of all estimates, in a fit five times
    const std::uint64_t n = u64(study.dimensions.boxes) * u64(study.dimensions.index_size());
    bytes += 5 * sizeof(double) * n * n;
  }
  if (study.decisions)  // the outcomes of the periods, in the engine and copied out of it
    bytes += 2 * lanes.size() * sizeof(PeriodOutcome) * u64(study.periods);
  return std::max(bytes, code);
}

std::uint64_t instance_bytes(const Study& study) {
  std::size_t largest = 0;
  for (const Environment& environment : study.environments)
    largest = std::max(largest, size_of_instance(study.dimensions, environment));
  return study.instances ? sizeof(double) * largest : 0;
}

bool has_linear_indices(const Study& study) {
  return std::ranges::count(study.environments, Indices::linear, &Environment::indices) > 0;
}

std::uint64_t rows_of(const Study& study, const Plan& plan) {
  return 1 + u64(plan.calibration_periods) + u64(study.actions.openings) * u64(study.periods);
}

// The bytes of a context: psi, Q x, l, s, context cost and drawn indices.
std::uint64_t context_bytes(const Study& study) {
  const Dimensions& dim = study.dimensions;
  std::uint64_t located = 0;
  for (const Environment& environment : study.environments)
    located = std::max(located, u64(location_count(dim, environment)) * (4 * u64(dim.reward_features) + 8));
  return 4 * u64(padded_to_vector<float>(dim.index_size())) + located +
         u64(dim.boxes) * (has_linear_indices(study) ? 24 : 16);
}

// The number of units in the longest part (make_parts).
std::uint64_t longest_part(const Study& study, const Plan& plan) {
  const std::uint64_t R = std::min<std::uint64_t>(u64(study.replications), plan.units.size());
  std::uint64_t longest = 1;
  for (std::uint64_t units = 50; units < R; units += 50 * longest) longest *= 2;
  return longest;
}

}  // namespace

std::vector<LaneGroup> lane_groups(const Study& study, const Plan& plan) {
  std::vector<LaneGroup> groups;
  for (std::size_t k = 0; k < plan.lanes.size(); ++k) {
    if (k == 0 || !same_variant(plan.lanes[k - 1], plan.lanes[k])) groups.emplace_back().first = k;
    ++groups.back().count;
  }
  try {
    constexpr int kCalibration = 10;
    const int calibration = std::min(plan.calibration_periods, kCalibration);
    const Replication replication = tiny_replication(study, plan, calibration);
    for (LaneGroup& group : groups) {
      const PlannedLane* const lanes = &plan.lanes[group.first];
      const auto largest = std::max_element(lanes, lanes + group.count,
                                            [](const PlannedLane& a, const PlannedLane& b) { return a.T0 < b.T0; });
      const PolicyVariant& variant = largest->variant;
      group.is_code = static_cast<bool>(variant.custom);
      if (variant.custom && variant.demand) group.demand = variant.demand(study.dimensions, largest->T0, study.periods);
      if (!variant.custom) group.spec = variant.lane(replication, std::min(largest->T0, calibration));
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // a user's environment or policy may refuse such a study
  }
  return groups;
}

std::uint64_t tape_bytes(const Study& study, const Plan& plan) {
  const std::uint64_t A = u64(study.dimensions.boxes), d = u64(study.dimensions.reward_features);
  // phi, mu, cost, reward and sigma.
  return rows_of(study, plan) * (context_bytes(study) + A * (4 * d + 8 + 8 + 4) + A * 8);
}

std::uint64_t sweep_bytes(const Study& study, const Plan& plan, const std::vector<LaneGroup>& groups, int threads) {
  const Dimensions& dim = study.dimensions;
  const std::uint64_t A = u64(dim.boxes), M = u64(study.oracle.samples), rows = rows_of(study, plan),
                      contexts = context_bytes(study), inputs = A * 16, sigma = A * 8,  // for sigma: its inputs
      quantiles = has_linear_indices(study) ? 4 * u64(draws_behind_costs(dim)) : 0;
  const bool contextual = std::ranges::count(study.regimes, Regime::B) > 0,
             exact = std::ranges::count(study.regimes, Regime::A) > 0;
  // Projected shocks, sorted, with the cost terms of the boxes; or points, cumulative, G and sums of the exact solver.
  const std::uint64_t sample = M * (8 + std::max<std::uint64_t>(contextual ? 4 * A + 8 : 0, exact ? 4 * 8 : 0));
  const std::uint64_t grid =
      contextual ? 8 * u64(study.oracle.grid.shift) * u64(study.oracle.grid.scale) * u64(study.oracle.grid.cost) : 0;
  const std::uint64_t orders = study.order ? u64(study.order_contexts) * (contexts + inputs + sigma) : 0;
  const std::uint64_t preparation =
      std::max(sample + grid, quantiles) + std::max(orders, study.regret ? rows * inputs : 0);
  const std::uint64_t lanes = study.regret ? lane_bytes(study, plan, groups) : 0;
  // A thread prepares a unit, or runs a chunk of lanes, possibly of a unit that others run too. At most one unit more
  // than there are threads holds a tape.
  const std::uint64_t units = plan.units.size(), chunk = u64(study.engine.chunk),
                      chunks = units * ((plan.lanes.size() + chunk - 1) / chunk), workers = u64(threads),
                      preparing = std::min(workers, units),
                      beside = std::max(std::min(workers, chunks), preparing) - preparing;
  const std::uint64_t tapes = study.regret ? std::min(workers + 1, units) * tape_bytes(study, plan) : 0;
  return tapes + preparing * std::max(preparation, lanes) + beside * lanes;
}

UnitBytes unit_bytes(const Study& study, const Plan& plan) {
  const Dimensions& dim = study.dimensions;
  const std::uint64_t lanes = study.regret ? plan.lanes.size() : 0,
                      estimates =
                          study.estimates
                              ? sizeof(double) * (u64(dim.boxes) * u64(dim.index_size()) + u64(dim.reward_features))
                              : 0,
                      choices = u64(dim.boxes) * 12 + 4, instance = instance_bytes(study);
  constexpr std::uint64_t kNote = 64;  // the allocator's overhead
  // Decisions on a table of outcomes, and the prompts behind the periods; there are four copies while a part is
  // written.
  const std::uint64_t outcomes = of_table(study) && periods_are_prompts(study.environments[0])
                                     ? 5 * 4 * (lanes + rows_of_period(study)) * u64(study.periods)
                                     : 0;
  // The study's decisions; four times while a part is written, or a file of them.
  const std::uint64_t decisions = study.decisions ? 5 * lanes * u64(study.periods) * (entries_of_period(study) + 8) : 0;
  return {sizeof(UnitResult) + instance + outcomes + decisions +
              lanes * (sizeof(LaneTally) + sizeof(LaneNotes) + kNote + estimates),
          24 + instance + lanes * (sizeof(double) * (study.regret ? tally_size(study) : 0) + choices + estimates)};
}

std::uint64_t part_bytes(const Study& study, const Plan& plan) {
  const UnitBytes unit = unit_bytes(study, plan);
  return longest_part(study, plan) * (unit.kept + 4 * unit.written);
}

std::uint64_t table_bytes(const Study& study, const Plan& plan) {
  const UnitBytes unit = unit_bytes(study, plan);
  const std::uint64_t R = std::min<std::uint64_t>(u64(study.replications), plan.units.size());
  // Tables are made from a whole group (environment, regime). results.h5 is put together in memory, from all groups.
  const std::uint64_t hdf5 = study.hdf5 ? 2 * plan.units.size() * unit.written + R * unit.written : 0;
  const std::uint64_t curves = study.regret ? plan.units.size() / R * plan.lanes.size() * kMostCheckpoints * 100 : 0;
  return R * unit.kept + longest_part(study, plan) * 4 * unit.written + hdf5 + curves;
}

}  // namespace pandora
