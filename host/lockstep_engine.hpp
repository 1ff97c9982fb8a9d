// The lockstep engine: all lanes of many replications advance one block of B periods at a time on a backend. The driver
// is the same for every backend; the bodies are those of kernels/lockstep/. HostBackend runs them one item after the
// other, which is how CI tests what a GPU would run; kernels/cuda/cuda_backend.cuh launches them.
//
// A backend has: allocate(bytes), which returns what owns the memory (get()) or throws OutOfMemory; upload, download,
// zero, forget(p, bytes): what lies there is of no use any more, which checkers of memory are told; blocks(items,
// body), warps(items, body), form(FormBlock, matrices), slots(), block_size().
#pragma once

// Device code includes this: neither fmt nor Eigen, which nvcc cannot compile with every host compiler.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "host/device.hpp"
#include "host/sweep.hpp"
#include "kernels/arena.hpp"
#include "kernels/error.hpp"
#include "kernels/lockstep/kernels.hpp"

namespace pandora::lockstep {

/// Runs the bodies on the CPU.
class HostBackend {
 public:
  struct Delete {
    void operator()(void* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<void, Delete> allocate(std::size_t bytes) {
    return std::unique_ptr<void, Delete>(::operator new (bytes, std::align_val_t{kAlignment}));
  }
  void upload(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);  // an empty list has no address
  }
  void download(void* to, const void* from, std::size_t bytes) { upload(to, from, bytes); }
  void zero(void* p, std::size_t bytes) { std::memset(p, 0, bytes); }
  void forget(void*, std::size_t) {}
  template <class Body>
  void blocks(int items, const Body& body) {
    for (int item = 0; item < items; ++item) body(SerialTeam{}, item, 0);
  }
  template <class Body>
  void warps(int items, const Body& body) {
    blocks(items, body);
  }
  template <class Real>
  void form(const FormBlock<Real>& body, int matrices) {
    blocks(matrices, body);
  }
  int slots() const { return 1; }
  int block_size() const { return 1; }

 private:
  static constexpr std::size_t kAlignment = 256;
};

/// Where everything of a run lies on the backend.
template <class Real>
struct Layout {
  Shape shape{};
  std::vector<LaneView<Real>> lanes;
  std::vector<int> matrices;  // FormBlock's list
  std::vector<TapeView<Real>> tapes;
  LaneView<Real>* device_lanes = nullptr;
  int* device_matrices = nullptr;
  LaneTally* tallies = nullptr;
  Progress* progress = nullptr;
  int *counters = nullptr, *suspended[2] = {}, *jobs = nullptr;
  ScratchPool<Real> scratch{};

  Layout(Arena& arena, std::span<const UnitOfLanes> units, const BlockOptions& options, int slots, int block_size,
         bool records) {
    const Tape& first = units[0].replication->tape;
    shape.A = first.boxes();
    shape.m = first.contexts.index_size;
    shape.stride = first.contexts.index_stride;
    shape.d = first.contexts.reward_features;
    shape.B = options.block;
    std::size_t count = 0;
    int most = 0;
    for (const UnitOfLanes& unit : units)
      for (const LaneSpec& spec : unit.lanes) {
        ++count;
        if (spec.learning != Learning::none)
          most = std::max(most, std::max(spec.T0, 1) + (spec.online() ? unit.replication->tape.online_rows : 0));
      }
    shape.capacity = most;
    tallies = arena.take<LaneTally>(count);
    progress = arena.take<Progress>(count);
    for (const UnitOfLanes& unit : units) {
      take_tape(arena, *unit.replication);
      for (const LaneSpec& spec : unit.lanes) {
        take_lane(arena, spec, options.estimation);
        if (records) take_record(arena, unit.replication->tape.online_rows);
      }
    }
    const std::size_t boxes = count * static_cast<std::size_t>(shape.A);
    device_lanes = arena.take<LaneView<Real>>(count);
    device_matrices = arena.take<int>(matrices.size());
    counters = arena.take<int>(2);
    for (int*& list : suspended) list = arena.take<int>(count);
    jobs = arena.take<int>(boxes);
    scratch.groups = groups_of(block_size, shape.m);
    scratch.members = block_size;
    scratch.reals = arena.take<Real>(SolveScratch<Real>::reals(shape) * slots);
    scratch.doubles = arena.take<double>(SolveScratch<Real>::doubles(shape, scratch.groups) * slots);
    scratch.ints = arena.take<int>(SolveScratch<Real>::ints(shape, block_size) * slots);
  }

 private:
  void take_tape(Arena& arena, const Replication& replication) {
    const Tape& tape = replication.tape;
    const std::size_t rows = static_cast<std::size_t>(tape.contexts.rows), cells = rows * shape.A;
    TapeView<Real> view{};
    view.psi = arena.take<Real>(rows * shape.stride);
    view.phi = arena.take<float>(cells * shape.d);
    view.mu = arena.take<double>(cells);
    view.cost = arena.take<double>(cells);
    view.reward = arena.take<std::uint8_t>(cells);
    view.sigma = arena.take<double>(cells);
    view.calibration_rows = tape.calibration_rows;
    view.online_rows = tape.online_rows;
    view.random_order = replication.instance.stream(Purpose::random_order);
    tapes.push_back(view);
  }

  void take_record(Arena& arena, int periods) {
    const std::size_t T = static_cast<std::size_t>(periods), cells = T * shape.A;
    LaneView<Real>& lane = lanes.back();
    lane.decisions = arena.take<PeriodOutcome>(T);
    lane.outcomes = arena.take<PeriodOutcome>(T);
    lane.scores = arena.take<double>(cells);
    lane.widths = arena.take<double>(cells);
  }

  GramView<Real> take_gram(Arena& arena, bool walks) {
    const std::size_t B = static_cast<std::size_t>(shape.B), stride = static_cast<std::size_t>(shape.stride);
    GramView<Real> g;
    g.P = arena.take<Real>(shape.m * stride);
    if (!walks) return g;
    g.image = arena.take<Real>(B * stride);
    g.gram = arena.take<Real>(B * B);
    g.column = arena.take<Real>(B * B);
    g.u = arena.take<Real>(B * stride);
    g.diagonal = arena.take<Real>(B);
    g.row = arena.take<Real>(B);
    g.log = arena.take<typename GramView<Real>::Update>(B);
    g.count = arena.take<int>(kGramCounts);
    return g;
  }

  void take_lane(Arena& arena, const LaneSpec& spec, const EstimationOptions& options) {
    const std::size_t B = static_cast<std::size_t>(shape.B), d = static_cast<std::size_t>(shape.d);
    const int index = static_cast<int>(lanes.size());
    LaneView<Real> lane;
    lane.spec = spec;
    lane.tape = tapes.back();
    lane.keeps_design = spec.has_width_bonus() || spec.learns_payoff();
    lane.tracks = spec.learns_index() && spec.online() && options.refit.kind == RefitSchedule::Kind::tracking;
    lane.tracks_theta = lane.tracks && spec.learns_reward();
    lane.progress = progress != nullptr ? progress + index : nullptr;
    lane.tally = tallies != nullptr ? tallies + index : nullptr;
    if (spec.learns_reward()) {
      lane.reward_memory =
          arena.take<double>(static_cast<std::size_t>(RewardState::size(shape.d) + reward_scratch(shape.d)));
      lane.deployed = arena.take<int>(static_cast<std::size_t>(shape.capacity));
    }
    for (int a = 0; a < shape.A && spec.learning != Learning::none; ++a) {
      BoxView<Real>& box = lane.box[a];
      box.rho = arena.take<Real>(static_cast<std::size_t>(shape.stride));
      box.prediction = arena.take<Real>(B);
      box.rows = arena.take<int>(static_cast<std::size_t>(shape.capacity));
      box.count = arena.take<int>(kBoxCounts);
      box.theta_moved = arena.take<Real>(d);
      box.pending_scale = arena.take<Real>(B);
      if (lane.keeps_design) {
        box.design = take_gram(arena, spec.online() || spec.has_width_bonus());
        if (spec.online() || spec.has_width_bonus()) matrices.push_back((index * shape.A + a) * 2);
      }
      if (lane.tracks) {
        box.curvature = take_gram(arena, true);
        matrices.push_back((index * shape.A + a) * 2 + 1);
      }
      if (lane.tracks_theta) {
        box.coupling = arena.take<Real>(d * B);
        box.response = arena.take<Real>(d * static_cast<std::size_t>(shape.stride));
        box.pending_rank = arena.take<Real>(B * d);
        box.pending_moved = arena.take<Real>(B * d);
      }
    }
    lanes.push_back(lane);
  }
};

/// Runs the lanes of all units at once; tallies per unit. The units share dimensions and T. A lane's tally does not
/// depend on what else runs; a lane that fails stops there, and its tally says why. `records` is empty or has one entry
/// per lane. Throws OutOfMemory.
template <class Real, class Backend>
std::vector<std::vector<LaneTally>> run_lockstep(Backend& backend, std::span<const UnitOfLanes> units,
                                                 const BlockOptions& options, EngineCounters* counters = nullptr,
                                                 std::span<LaneRecord> records = {}) {
  Arena measure;
  Layout<Real>(measure, units, options, backend.slots(), backend.block_size(), !records.empty());
  const auto memory = backend.allocate(measure.used());
  backend.zero(memory.get(), measure.used());  // what the lanes' state starts from
  Arena arena(memory.get());
  Layout<Real> layout(arena, units, options, backend.slots(), backend.block_size(), !records.empty());
  if (layout.lanes.empty()) return std::vector<std::vector<LaneTally>>(units.size());  // a launch of none is an error

  const auto upload = [&backend](auto* to, const auto& from) {
    backend.upload(const_cast<std::remove_const_t<std::remove_pointer_t<decltype(to)>>*>(to), from.data(),
                   from.size() * sizeof(from[0]));
  };
  for (std::size_t u = 0; u < units.size(); ++u) {
    const Tape& tape = units[u].replication->tape;
    const TapeView<Real>& view = layout.tapes[u];
    if constexpr (std::is_same_v<Real, float>) {
      upload(view.psi, tape.contexts.psi);
    } else {
      upload(view.psi, std::vector<Real>(tape.contexts.psi.begin(), tape.contexts.psi.end()));
    }
    upload(view.phi, tape.phi);
    upload(view.mu, tape.mu);
    upload(view.cost, tape.cost);
    upload(view.reward, tape.reward);
    upload(view.sigma, units[u].replication->sigma);
  }
  for (std::size_t k = 0; k < records.size(); ++k)
    if (records[k].decisions != nullptr)
      upload(layout.lanes[k].decisions, *records[k].decisions);
    else
      layout.lanes[k].decisions = nullptr;
  upload(layout.device_lanes, layout.lanes);
  upload(layout.device_matrices, layout.matrices);
  const int lanes = static_cast<int>(layout.lanes.size()), boxes = lanes * layout.shape.A;
  const EstimationOptions& estimation = options.estimation;
  const Problem<Real> problem{layout.shape, estimation.ridge_index, estimation.ridge_reward, estimation.refit,
                              layout.device_lanes};
  backend.warps(lanes, Calibrate<Real>{problem});
  backend.blocks(boxes, StartBox<Real>{problem, layout.scratch});
  const int T = units[0].replication->tape.online_rows;
  std::uint64_t solves = 0;
  for (int first = 0; first < T; first += options.block) {
    const BlockRange range{first, std::min(options.block, T - first)};
    backend.form(FormBlock<Real>{problem, range, layout.device_matrices}, static_cast<int>(layout.matrices.size()));
    backend.blocks(boxes, BeginBlock<Real>{problem, range, layout.scratch});
    const int* walking = nullptr;
    for (int count = lanes, round = 0; count > 0; ++round) {
      int found[2] = {};
      backend.zero(layout.counters, sizeof found);
      int* const next = layout.suspended[round % 2];
      backend.warps(count, WalkBlock<Real>{problem, range,
                                           Worklist{walking, layout.counters, next, layout.counters + 1, layout.jobs}});
      backend.download(found, layout.counters, sizeof found);
      if (found[1] > 0) backend.blocks(found[1], SolveBoxes<Real>{problem, range, layout.scratch, layout.jobs});
      solves += static_cast<std::uint64_t>(found[1]);
      count = found[0];
      walking = next;
    }
    backend.blocks(boxes, FinishBlock<Real>{problem});
  }

  for (std::size_t k = 0; k < records.size(); ++k) {
    const auto fetch = [&backend](auto& to, const auto* from, std::size_t n) {
      to.resize(n);
      backend.download(to.data(), from, n * sizeof(to[0]));
    };
    const LaneView<Real>& lane = layout.lanes[k];
    const std::size_t cells = static_cast<std::size_t>(T) * layout.shape.A;
    fetch(records[k].outcomes, lane.outcomes, static_cast<std::size_t>(T));
    fetch(records[k].scores, lane.scores, cells);
    fetch(records[k].widths, lane.widths, cells);
  }
  std::vector<LaneTally> tallies(layout.lanes.size());
  std::vector<Progress> progress(layout.lanes.size());
  backend.download(tallies.data(), layout.tallies, tallies.size() * sizeof(LaneTally));
  backend.download(progress.data(), layout.progress, progress.size() * sizeof(Progress));
  std::vector<std::vector<LaneTally>> out;
  std::size_t lane = 0;
  for (const UnitOfLanes& unit : units) {
    out.emplace_back();
    for (std::size_t k = 0; k < unit.lanes.size(); ++k, ++lane) {
      out.back().push_back(tallies[lane]);
      if (counters != nullptr)
        counters->refactorisations += static_cast<std::uint64_t>(progress[lane].refactorisations);
    }
  }
  if (counters != nullptr) counters->index_solves += solves;
  return out;
}

/// run_lockstep over halves, quarters, ... where all units at once do not fit.
template <class Real, class Backend>
std::vector<std::vector<LaneTally>> run_in_memory(Backend& backend, std::span<const UnitOfLanes> units,
                                                  const BlockOptions& options, EngineCounters* counters = nullptr,
                                                  std::span<LaneRecord> records = {}) {
  try {
    return run_lockstep<Real>(backend, units, options, counters, records);
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

}  // namespace pandora::lockstep
