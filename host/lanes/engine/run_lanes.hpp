// The engine: lanes of replications advance on a backend, one block of B periods at a time. Driver and bodies
// (kernels/lane/, kernels/solve/) are the same for every backend. CpuBackend (host/lanes/engine/cpu_backend.hpp) runs
// the bodies one item after the other with vectors; CudaBackend (kernels/cuda/) launches them.
#pragma once

// Device code includes this file, so it must not include fmt or Eigen, which nvcc cannot compile with every host
// compiler.
#include <algorithm>
#include <concepts>
#include <optional>
#include <span>
#include <vector>

#include "host/lanes/engine/layout.hpp"
#include "kernels/base/error.hpp"

namespace pandora::engine {

/// The requirements on a backend. blocks(items, body) and warps(items, body) call body(team, item, slot) for every
/// item, with teams of the two sizes of a device. A backend without vectors also has form(FormBlock, matrices), which
/// multiplies matrices that are too large for a team's memory. allocate throws OutOfMemory. forget tells checkers of
/// memory that the bytes are no longer needed.
template <class B>
concept Backend = requires(B backend, void* there, const void* from, void* to, std::size_t bytes) {
  requires std::same_as<decltype(B::kVectors), const bool>;  // whether teams have vectors, as in the traits
  { backend.traits() } -> std::same_as<BackendTraits>;
  { backend.allocate(bytes).get() } -> std::convertible_to<void*>;  // an object that owns the memory
  backend.upload(there, from, bytes);
  backend.download(to, from, bytes);
  backend.zero(there, bytes);
  backend.forget(there, bytes);
  backend.blocks(1, GatherBlock<float>{});
  backend.warps(1, Calibrate<float>{});
};

/// A run of lanes on a backend, from its memory to its tallies.
template <class Real, Backend B>
class LaneRun {
 public:
  /// `units` is not empty; `records` is empty or has one entry per lane.
  LaneRun(B& backend, std::span<const UnitOfLanes> units, const BlockOptions& options, std::span<LaneRecord> records)
      : backend_(backend),
        units_(units),
        options_(options),
        records_(records),
        keep_(most_kept(records)),
        bytes_(bytes_needed()),
        memory_(backend.allocate(bytes_)),
        arena_(memory_.get()) {
    backend_.zero(memory_.get(), bytes_);  // the initial state of the lanes
    layout_.emplace(arena_, units_, options_, backend_.traits(), keep_);
  }

  std::vector<std::vector<LaneTally>> run(EngineCounters* counters) {
    if (layout_->lanes.empty()) return std::vector<std::vector<LaneTally>>(units_.size());  // nothing to launch
    upload();
    start();
    const int T = units_[0].replication->tape.online_rows;
    const Forgetting& forgetting = options_.estimation.forgetting;
    for (int first = 0, end; first < T; first = end) {
      end =
          std::min({first + (in_cohorts() ? kBlocksOfLaunch : 1) * periods_of_block(), T, forgetting.next(first + 1)});
      const bool forgets = forgetting.happens_after(end);
      if (in_cohorts())
        run_cohorts(first, end, end == T || forgets);
      else
        advance({first, end - first}, end == T || forgets);
      if (forgets) forget(end);
    }
    for (std::size_t k = 0; k < records_.size(); ++k) fetch_record(k);
    if (counters != nullptr) count(*counters);
    return fetch_tallies();
  }

 private:
  using Keep = LaneRecord::Keep;

  static Keep most_kept(std::span<const LaneRecord> records) {
    Keep most = Keep::estimates;
    for (const LaneRecord& record : records) most = std::max(most, record.keep);
    return most;
  }

  std::size_t bytes_needed() const {
    Arena measure;
    [[maybe_unused]] const Layout<Real> layout(measure, units_, options_, backend_.traits(), keep_);
    return measure.used();
  }

  int lanes() const { return static_cast<int>(layout_->lanes.size()); }

  // The lanes from `first` on, in the form that bodies take.
  Problem<Real> problem(int first = 0) const {
    const EstimationOptions& estimation = options_.estimation;
    return {layout_->shape,   estimation.index_ridges(), estimation.ridge_payoff,      estimation.ridge_reward,
            estimation.refit, estimation.refit_reward,   layout_->device_lanes + first};
  }

  template <class To, class From>
  void upload_to(To* to, const From& from) {
    backend_.upload(const_cast<std::remove_const_t<To>*>(to), from.data(), from.size() * sizeof(from[0]));
  }

  void upload() {
    for (const auto& [to, from, bytes] : layout_->uploads) backend_.upload(to, from, bytes);
    std::vector<Real> psi;
    for (std::size_t u = 0; u < units_.size() && !std::is_same_v<Real, float>; ++u) {
      const SimdVector<float>& given = units_[u].replication->tape.contexts.psi;
      psi.assign(given.begin(), given.end());
      upload_to(layout_->tapes[u].psi, psi);
    }
    psi.clear();  // for lanes without a context
    for (std::size_t u = units_.size(); u < layout_->tapes.size(); ++u) {
      const std::size_t stride = static_cast<std::size_t>(layout_->shape.stride);
      psi.resize(static_cast<std::size_t>(units_[0].replication->tape.contexts.rows) * stride, Real(0));
      for (std::size_t at = 0; at < psi.size(); at += stride) psi[at] = Real(1);
      upload_to(layout_->tapes[u].psi, psi);
    }
    for (std::size_t k = 0; k < records_.size() && keep_ == Keep::everything; ++k)
      if (const std::vector<PeriodOutcome>* decisions = records_[k].decisions; decisions != nullptr)
        upload_to(layout_->lanes[k].decisions, *decisions);
      else
        layout_->lanes[k].decisions = nullptr;
    upload_to(layout_->device_lanes, layout_->lanes);
    upload_to(layout_->device_matrices, layout_->matrices);
    upload_to(layout_->device_cohorts, layout_->cohorts);
  }

  void start() {
    const Problem<Real> all = problem();
    backend_.warps(lanes(), Calibrate<Real>{all});
    backend_.blocks(lanes() * layout_->shape.A, StartBox<Real>{all, layout_->scratch});
    solve_jointly(lanes(), all, {}, nullptr);
  }

  // Solves the lanes of a list, or all, whose boxes are fitted together.
  void solve_jointly(int count, const Problem<Real>& of, BlockRange range, const int* list) {
    if (!layout_->fits_jointly || count == 0) return;
    backend_.blocks(count, SolveJoint<Real>{of, range, layout_->scratch, list});
    if (layout_->groups > 0) backend_.blocks(count, SolveJoint<Real, true>{of, range, layout_->scratch, list});
  }

  // Makes samples fade, or forgets them, at the end of `period`, between two blocks.
  void forget(int period) {
    const Problem<Real> all = problem();
    const Forgetting& how = options_.estimation.forgetting;
    const double factor = how.fades_after(period) ? how.factor() : 1.0;
    backend_.warps(lanes(), ForgetSamples<Real>{all, factor, how.first_kept(period), how.last_kept(period)});
    backend_.blocks(lanes(), RefitReward<Real>{all, period});
    backend_.blocks(lanes() * layout_->shape.A, StartBox<Real>{all, layout_->scratch, period});
    solve_jointly(lanes(), all, {period, 0}, nullptr);
  }

  // Whether a library (cuBLAS) forms the products with which a block starts, because they are too large for a team's
  // memory. It works between the end of one block and the start of the next.
  bool library() const { return !B::kVectors && ProductMemory<Real>::shared_bytes(layout_->shape) == 0; }

  bool in_cohorts() const { return !layout_->cohorts.empty(); }

  // A block has room for B updates of a box, of which a period brings one for each opening.
  int periods_of_block() const { return options_.block / units_[0].replication->actions.openings; }

  // Runs many blocks of periods. `last`: this launch also ends its last block; otherwise the next launch does.
  void run_cohorts(int first, int end, bool last) {
    if constexpr (!B::kVectors) {
      backend_.zero(layout_->queue, sizeof *layout_->queue);
      backend_.blocks(static_cast<int>(layout_->cohorts.size()) / kCohortLanes,
                      RunCohort<Real, kFewBoxes>{problem(),
                                                 layout_->scratch,
                                                 {first, end, options_.block, unfinished_, last},
                                                 layout_->device_cohorts,
                                                 layout_->queue,
                                                 layout_->cycles});
      unfinished_ = !last;
    }
  }

  // Runs a block of periods, one group of lanes after the other (layout.hpp). `last`: the block's end is not left to
  // the start of the next block.
  void advance(BlockRange range, bool last) {
    if constexpr (B::kVectors)  // not needed for lanes that learn nothing
      backend_.blocks(layout_->shape.capacity == 0 ? 0 : static_cast<int>(layout_->tapes.size()),
                      GatherBlock<Real>{layout_->shape, range, layout_->tapes.data()});
    // If all lanes go together, the end of a block is left to the start of the next, so that P is moved only once for
    // both. This is not possible if a library forms the images in between.
    const bool joined = layout_->group >= lanes() && !library();
    for (int first = 0, group = 0; first < lanes(); first += layout_->group, ++group) {
      const Problem<Real> here = problem(first);
      const int count = std::min(layout_->group, lanes() - first), boxes = count * layout_->shape.A;
      if constexpr (!B::kVectors)
        if (const int begin = layout_->group_matrices[group]; library())
          backend_.form(FormBlock<Real>{here, range, layout_->device_matrices + begin},
                        layout_->group_matrices[group + 1] - begin);
      backend_.blocks(boxes, AdvanceBlock<Real>{here, layout_->scratch, range, joined && unfinished_, library()});
      walk(here, range, count);
      if (!joined || last) backend_.blocks(boxes, AdvanceBlock<Real>{here, layout_->scratch, {}, true, false});
    }
    unfinished_ = joined && !last;
  }

  // Takes a group of lanes through a block's periods.
  void walk(const Problem<Real>& here, BlockRange range, int lanes) {
    Worklist list{nullptr, layout_->waiting_count, {}};
    std::copy(std::begin(layout_->waiting), std::end(layout_->waiting), list.waiting);
    int* other = layout_->next_walks;
    for (int count = lanes; count > 0;) {
      int found[kKindsOfWaiting] = {};
      backend_.zero(list.count, sizeof found);
      // A device keeps numbers of every box in local memory. Room for the most boxes that a study may have would take
      // much of it.
      if (layout_->arms)
        backend_.warps(count, WalkBlock<Real, kMaxBoxes, true>{here, range, list});
      else if (layout_->shape.A <= kFewBoxes)
        backend_.warps(count, WalkBlock<Real, kFewBoxes>{here, range, list});
      else
        backend_.warps(count, WalkBlock<Real, kMaxBoxes>{here, range, list});
      backend_.download(found, list.count, sizeof found);
      const auto solve = [&](Waiting kind, const auto& body) {
        if (found[kind] > 0) backend_.blocks(found[kind], body);
      };
      solve(kThetas, SolveTheta<Real>{here, range, list.waiting[kThetas]});
      solve(kBoxes, SolveBoxes<Real, false>{here, range, layout_->scratch, list.waiting[kBoxes]});
      if constexpr (!B::kVectors)
        solve(kLargeBoxes, SolveBoxes<Real, true>{here, range, layout_->scratch, list.waiting[kLargeBoxes]});
      solve_jointly(found[kJoints], here, range, list.waiting[kJoints]);
      count = found[kWalks];
      list.lanes = list.waiting[kWalks];
      std::swap(list.waiting[kWalks], other);
    }
  }

  void fetch_record(std::size_t k) {
    const auto fetch = [this](auto& to, const auto* from, std::size_t n) {
      to.resize(n);
      backend_.download(to.data(), from, n * sizeof(to[0]));
    };
    LaneRecord& record = records_[k];
    const LaneView<Real>& lane = layout_->lanes[k];
    const std::size_t A = static_cast<std::size_t>(layout_->shape.A), m = static_cast<std::size_t>(layout_->shape.m),
                      T = static_cast<std::size_t>(units_[0].replication->tape.online_rows);
    std::vector<Real> rho;
    for (std::size_t a = 0; a < A && lane.spec.learns_scores(); ++a) {
      fetch(rho, lane.box[a].rho, m);
      record.rho.insert(record.rho.end(), rho.begin(), rho.end());
    }
    if (lane.spec.learns_reward()) fetch(record.theta, lane.reward_memory, static_cast<std::size_t>(layout_->shape.d));
    if (record.keep == Keep::estimates) return;
    fetch(record.outcomes, lane.outcomes, T);
    if (record.keep == Keep::outcomes) return;
    fetch(record.scores, lane.scores, T * A);
    fetch(record.widths, lane.widths, T * A);
    fetch(record.rewards, lane.rewards, T * A);
    fetch(record.predictions, lane.predictions, T * A);
    fetch(record.bonuses, lane.bonuses, T * A);
  }

  void count(EngineCounters& counters) {
    if constexpr (kCountsCycles) {
      unsigned long long cycles[kCountOfPhases];
      backend_.download(cycles, layout_->cycles, sizeof cycles);
      for (int phase = 0; phase < kCountOfPhases; ++phase) counters.cycles[kPhaseNames[phase]] += cycles[phase];
    }
    std::vector<Progress> progress(layout_->lanes.size());
    backend_.download(progress.data(), layout_->progress, progress.size() * sizeof(Progress));
    for (const Progress& lane : progress) {
      counters.index_solves += static_cast<std::uint64_t>(lane.index_solves);
      counters.index_gradients += static_cast<std::uint64_t>(lane.index_gradients);
      counters.reward_solves += static_cast<std::uint64_t>(lane.reward_solves);
      counters.repairs += static_cast<std::uint64_t>(lane.repairs);
    }
  }

  std::vector<std::vector<LaneTally>> fetch_tallies() {
    std::vector<LaneTally> tallies(layout_->lanes.size());
    backend_.download(tallies.data(), layout_->tallies, tallies.size() * sizeof(LaneTally));
    std::vector<std::vector<LaneTally>> out;
    auto next = tallies.begin();
    for (const UnitOfLanes& unit : units_) {
      const auto end = next + static_cast<std::ptrdiff_t>(unit.lanes.size());
      out.emplace_back(next, end);
      next = end;
    }
    return out;
  }

  // The blocks of periods in one launch of cohorts. Other streams get their turn only between launches: each of the
  // many launches that prepare the next replications waits for one of these to end, about 10 ms. No launch may take
  // seconds, because systems that show a desktop on the device would end it.
  static constexpr int kBlocksOfLaunch = 16;

  B& backend_;
  std::span<const UnitOfLanes> units_;
  const BlockOptions& options_;
  std::span<LaneRecord> records_;
  const Keep keep_;
  const std::size_t bytes_;
  decltype(std::declval<B&>().allocate(std::size_t{})) memory_;
  Arena arena_;
  std::optional<Layout<Real>> layout_;
  bool unfinished_ = false;  // whether the end of the last block is left to the start of the next
};

/// Runs the lanes of all units and returns tallies per unit. The units share dimensions and T. A lane's tally does not
/// depend on the other lanes. A lane that fails stops, and its tally says why. `records` is empty or has one entry per
/// lane. Throws OutOfMemory.
template <class Real, Backend B>
std::vector<std::vector<LaneTally>> run_lanes(B& backend, std::span<const UnitOfLanes> units,
                                              const BlockOptions& options, EngineCounters* counters = nullptr,
                                              std::span<LaneRecord> records = {}) {
  return LaneRun<Real, B>(backend, units, options, records).run(counters);
}

/// run_lanes over halves, quarters, ... if all units do not fit at once.
template <class Real, Backend B>
std::vector<std::vector<LaneTally>> run_in_memory(B& backend, std::span<const UnitOfLanes> units,
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
