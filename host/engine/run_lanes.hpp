// The engine: lanes of replications advance one block of B periods at a time on a backend. Driver and bodies
// (kernels/lane/, kernels/solve/) are the same for every backend: CpuBackend (host/engine/cpu_backend.hpp) runs them
// one item after the other with vectors, CudaBackend (kernels/cuda/) launches them.
//
// A backend has: allocate(bytes), which returns what owns the memory (get()) or throws OutOfMemory; upload, download,
// zero, forget(p, bytes): what lies there is of no use any more, which checkers of memory are told; blocks(items,
// body), warps(items, body); without vectors form(FormBlock, matrices); traits(); kVectors: whether its teams have
// vectors, as in its traits.
#pragma once

// Device code includes this: neither fmt nor Eigen, which nvcc cannot compile with every host compiler.
#include <algorithm>
#include <span>
#include <vector>

#include "host/engine/layout.hpp"
#include "kernels/base/error.hpp"

namespace pandora::engine {

template <class Real, class Backend>
void upload_tapes(Backend& backend, std::span<const UnitOfLanes> units, const Layout<Real>& layout, bool in_place) {
  const auto upload = [&backend](auto* to, const auto& from) {
    backend.upload(const_cast<std::remove_const_t<std::remove_pointer_t<decltype(to)>>*>(to), from.data(),
                   from.size() * sizeof(from[0]));
  };
  for (std::size_t u = 0; u < units.size(); ++u) {
    const Tape& tape = units[u].replication->tape;
    const TapeView<Real>& view = layout.tapes[u];
    if constexpr (!std::is_same_v<Real, float>)
      upload(view.psi, std::vector<Real>(tape.contexts.psi.begin(), tape.contexts.psi.end()));
    if (in_place) continue;
    if constexpr (std::is_same_v<Real, float>) upload(view.psi, tape.contexts.psi);
    upload(view.phi, tape.phi);
    upload(view.mu, tape.mu);
    upload(view.cost, tape.cost);
    upload(view.reward, tape.reward);
    upload(view.sigma, units[u].replication->sigma);
  }
}

inline constexpr int kFewBoxes = 4;

/// A group of lanes through a block's periods.
template <class Real, class Backend>
void walk(Backend& backend, const Problem<Real>& problem, const Layout<Real>& layout, BlockRange range, int lanes) {
  const int* walking = nullptr;
  for (int count = lanes, round = 0; count > 0; ++round) {
    int found[4] = {};
    backend.zero(layout.counters, sizeof found);
    int* const next = layout.suspended[round % 2];
    const Worklist list{walking,      layout.counters,     next,          layout.counters + 1,
                        layout.jobs,  layout.counters + 2, layout.thetas, layout.counters + 3,
                        layout.joints};
    // A device keeps what every box has in local memory: with room for all that a study may have, much of it.
    if (layout.shape.A <= kFewBoxes)
      backend.warps(count, WalkBlock<Real, kFewBoxes>{problem, range, list});
    else
      backend.warps(count, WalkBlock<Real, kMaxBoxes>{problem, range, list});
    backend.download(found, layout.counters, sizeof found);
    if (found[2] > 0) backend.blocks(found[2], SolveTheta<Real>{problem, range, layout.thetas});
    if (found[1] > 0) backend.blocks(found[1], SolveBoxes<Real>{problem, range, layout.scratch, layout.jobs});
    if (found[3] > 0) backend.blocks(found[3], SolveJoint<Real>{problem, range, layout.scratch, layout.joints});
    count = found[0];
    walking = next;
  }
}

/// Runs the lanes of all units; tallies per unit. The units share dimensions and T. A lane's tally does not depend on
/// what else runs; a lane that fails stops there, and its tally says why. `records` is empty or has one entry per lane.
/// Throws OutOfMemory.
template <class Real, class Backend>
std::vector<std::vector<LaneTally>> run_lanes(Backend& backend, std::span<const UnitOfLanes> units,
                                              const BlockOptions& options, EngineCounters* counters = nullptr,
                                              std::span<LaneRecord> records = {}) {
  const BackendTraits traits = backend.traits();
  const bool record_periods =
      std::any_of(records.begin(), records.end(), [](const LaneRecord& r) { return r.periods; });
  Arena measure;
  Layout<Real>(measure, units, options, traits, record_periods);
  const auto memory = backend.allocate(measure.used());
  backend.zero(memory.get(), measure.used());  // what the lanes' state starts from
  Arena arena(memory.get());
  Layout<Real> layout(arena, units, options, traits, record_periods);
  if (layout.lanes.empty()) return std::vector<std::vector<LaneTally>>(units.size());  // a launch of none is an error

  upload_tapes(backend, units, layout, traits.in_place);
  for (std::size_t k = 0; k < records.size() && record_periods; ++k)
    if (const std::vector<PeriodOutcome>* decisions = records[k].decisions; decisions != nullptr)
      backend.upload(const_cast<PeriodOutcome*>(layout.lanes[k].decisions), decisions->data(),
                     decisions->size() * sizeof(PeriodOutcome));
    else
      layout.lanes[k].decisions = nullptr;
  backend.upload(layout.device_lanes, layout.lanes.data(), layout.lanes.size() * sizeof(layout.lanes[0]));
  backend.upload(layout.device_matrices, layout.matrices.data(), layout.matrices.size() * sizeof(int));
  const int lanes = static_cast<int>(layout.lanes.size()), T = units[0].replication->tape.online_rows;
  const EstimationOptions& estimation = options.estimation;
  const Problem<Real> all{layout.shape, estimation.ridge_index, estimation.ridge_reward, estimation.refit,
                          layout.device_lanes};
  const auto group_at = [&](int first) {
    Problem<Real> group = all;
    group.lanes += first;
    return group;
  };
  backend.warps(lanes, Calibrate<Real>{all});
  backend.blocks(lanes * layout.shape.A, StartBox<Real>{all, layout.scratch});
  if (layout.fits_jointly) backend.blocks(lanes, SolveJoint<Real>{all, {}, layout.scratch, nullptr});
  // Where all lanes go together, a block's end is left to the start of the next, so that P is moved once for both; not
  // where a library forms the images in between.
  const bool library = !Backend::kVectors && ProductMemory<Real>::shared_bytes(layout.shape) == 0;
  const bool joined = layout.group >= lanes && !library;
  for (int first_period = 0; first_period < T; first_period += options.block) {
    const BlockRange range{first_period, std::min(options.block, T - first_period)};
    if constexpr (Backend::kVectors)  // for lanes that learn nothing none is gathered
      backend.blocks(layout.shape.capacity == 0 ? 0 : static_cast<int>(units.size()),
                     GatherBlock<Real>{layout.shape, range, layout.tapes.data()});
    for (int first = 0, group = 0; first < lanes; first += layout.group, ++group) {
      const Problem<Real> problem = group_at(first);
      const int count = std::min(layout.group, lanes - first), boxes = count * layout.shape.A;
      if constexpr (!Backend::kVectors)
        if (const int begin = layout.group_matrices[group]; library)
          backend.form(FormBlock<Real>{problem, range, layout.device_matrices + begin},
                       layout.group_matrices[group + 1] - begin);
      backend.blocks(boxes, AdvanceBlock<Real>{problem, layout.scratch, range, joined && first_period > 0, library});
      walk(backend, problem, layout, range, count);
      if (!joined || first_period + range.B == T)
        backend.blocks(boxes, AdvanceBlock<Real>{problem, layout.scratch, {}, true, false});
    }
  }

  for (std::size_t k = 0; k < records.size(); ++k) {
    const auto fetch = [&backend](auto& to, const auto* from, std::size_t n) {
      to.resize(n);
      backend.download(to.data(), from, n * sizeof(to[0]));
    };
    const LaneView<Real>& lane = layout.lanes[k];
    const std::size_t A = static_cast<std::size_t>(layout.shape.A), m = static_cast<std::size_t>(layout.shape.m),
                      cells = static_cast<std::size_t>(T) * A;
    std::vector<Real> rho;
    for (std::size_t a = 0; a < A && lane.spec.learns_scores(); ++a) {
      fetch(rho, lane.box[a].rho, m);
      records[k].rho.insert(records[k].rho.end(), rho.begin(), rho.end());
    }
    if (lane.spec.learns_reward())
      fetch(records[k].theta, lane.reward_memory, static_cast<std::size_t>(layout.shape.d));
    if (!records[k].periods) continue;
    fetch(records[k].outcomes, lane.outcomes, static_cast<std::size_t>(T));
    fetch(records[k].scores, lane.scores, cells);
    fetch(records[k].widths, lane.widths, cells);
    fetch(records[k].rewards, lane.rewards, cells);
    fetch(records[k].predictions, lane.predictions, cells);
    fetch(records[k].bonuses, lane.bonuses, cells);
  }
  std::vector<LaneTally> tallies(layout.lanes.size());
  std::vector<Progress> progress(layout.lanes.size());
  backend.download(tallies.data(), layout.tallies, tallies.size() * sizeof(LaneTally));
  backend.download(progress.data(), layout.progress, progress.size() * sizeof(Progress));
  if (counters != nullptr)
    for (const Progress& lane : progress) {
      counters->index_solves += static_cast<std::uint64_t>(lane.index_solves);
      counters->index_gradients += static_cast<std::uint64_t>(lane.index_gradients);
      counters->reward_solves += static_cast<std::uint64_t>(lane.reward_solves);
      counters->repairs += static_cast<std::uint64_t>(lane.repairs);
    }
  std::vector<std::vector<LaneTally>> out;
  auto next = tallies.begin();
  for (const UnitOfLanes& unit : units) {
    const auto end = next + static_cast<std::ptrdiff_t>(unit.lanes.size());
    out.emplace_back(next, end);
    next = end;
  }
  return out;
}

/// run_lanes over halves, quarters, ... where all units at once do not fit.
template <class Real, class Backend>
std::vector<std::vector<LaneTally>> run_in_memory(Backend& backend, std::span<const UnitOfLanes> units,
                                                  const BlockOptions& options, EngineCounters* counters = nullptr,
                                                  std::span<LaneRecord> records = {}) {
  try {
    return run_lanes<Real>(backend, units, options, counters, records);
  } catch (const OutOfMemory&) {
    if (units.size() == 1) throw;
  }
  const std::size_t half = units.size() / 2;
  std::size_t lanes = 0;
  for (const UnitOfLanes& unit : units.first(half)) lanes += records.empty() ? 0 : unit.lanes.size();
  auto out = run_in_memory<Real>(backend, units.first(half), options, counters, records.first(lanes));
  auto rest = run_in_memory<Real>(backend, units.subspan(half), options, counters, records.subspan(lanes));
  std::move(rest.begin(), rest.end(), std::back_inserter(out));
  return out;
}

}  // namespace pandora::engine
