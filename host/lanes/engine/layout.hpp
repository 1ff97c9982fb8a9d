// The memory of a run on a backend, and how it is divided.
//
// Lanes advance in groups: all lanes at once on a device, one after the other on a CPU. A lane has its own memory for
// the state that it keeps from block to block. The memory for a single block is shared by the lanes that have the same
// place in their groups, so that on a CPU it stays in the cache.
#pragma once

#include <algorithm>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "host/lanes/engine/cohorts.hpp"
#include "host/lanes/engine/lanes.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/arena.hpp"
#include "kernels/state/backend.hpp"

namespace pandora::engine {

template <class Real>
struct Layout {
  Shape shape{};
  int group = 0;
  bool fits_jointly = false;  // whether any lane does
  bool arms = false;          // whether lanes play arms (kernels/rules/actions.hpp)
  int groups = 0;             // the most groups of boxes of a lane whose slopes are tied; 0: there is none
  std::vector<LaneView<Real>> lanes;
  std::vector<int> matrices;          // the list of FormBlock, group after group
  std::vector<int> group_matrices;    // where each group begins; one more than there are groups
  std::vector<TapeView<Real>> tapes;  // one per unit; then those for lanes without a context: psi is (1, 0, ..., 0)
  // where the data of tapes go, where they lie, and their bytes; none if tapes stay in place
  std::vector<std::tuple<void*, const void*, std::size_t>> uploads;
  std::vector<int> cohorts;  // kCohortLanes places each; none if lanes go from stage to stage
  LaneView<Real>* device_lanes = nullptr;
  int *device_matrices = nullptr, *device_cohorts = nullptr, *queue = nullptr;
  unsigned long long* cycles = nullptr;
  LaneTally* tallies = nullptr;
  Progress* progress = nullptr;
  int *waiting_count = nullptr, *waiting[kKindsOfWaiting] = {};
  int* next_walks = nullptr;  // replaces waiting[kWalks] in every second round
  ScratchPool<Real> scratch{};

  Layout(Arena& arena, std::span<const UnitOfLanes> units, const BlockOptions& options, const BackendTraits& traits,
         LaneRecord::Keep keep)
      : traits_(traits), refit_(options.estimation.refit), forgetting_(options.estimation.forgetting) {
    const Tape& first = units[0].replication->tape;
    shape.A = first.boxes();
    shape.m = first.contexts.index_size;
    shape.stride = first.contexts.index_stride;
    shape.d = first.contexts.reward_features;
    shape.B = options.block;
    shape.width = padded_to_vector<float>(options.block);
    const Actions& actions = units[0].replication->actions;
    arms = actions.wide();
    std::size_t count = 0;
    for (const UnitOfLanes& unit : units)
      for (const LaneSpec& spec : unit.lanes) {
        ++count;
        if (spec.learning != Learning::none)
          shape.capacity = std::max(shape.capacity,
                                    std::max(spec.T0, 1) + (spec.online() ? actions.openings * first.online_rows : 0));
      }
    group = static_cast<int>(std::min<std::size_t>(count, static_cast<std::size_t>(traits.group)));
    tallies = arena.take<LaneTally>(count);
    progress = arena.take<Progress>(count);
    for (const UnitOfLanes& unit : units) {
      take_tape(arena, *unit.replication);
      if (std::any_of(unit.lanes.begin(), unit.lanes.end(), [](const LaneSpec& spec) { return !spec.context; }))
        plain_.push_back(without_context(arena, tapes.back(), size(unit.replication->tape.contexts.rows)));
      for (const LaneSpec& spec : unit.lanes) {
        take_lane(arena, spec, unit.replication->tape);
        take_record(arena, unit.replication->tape.online_rows, keep);
      }
    }
    tapes.insert(tapes.end(), plain_.begin(), plain_.end());
    for (int place = 0; place < group; ++place) take_block(arena, static_cast<std::size_t>(place));
    list_matrices();
    device_lanes = arena.take<LaneView<Real>>(count);
    device_matrices = arena.take<int>(matrices.size());
    if (traits.cohort > 0 && !arms && groups == 0 && go_in_cohorts<Real>(shape))
      cohorts = deal_cohorts(units, refit_, shape.A, size(traits.cohort));
    device_cohorts = arena.take<int>(cohorts.size());
    queue = arena.take<int>(1);
    cycles = arena.take<unsigned long long>(kCountsCycles ? kCountOfPhases : 0);
    waiting_count = arena.take<int>(kKindsOfWaiting);
    for (int kind = 0; kind < kKindsOfWaiting; ++kind)
      waiting[kind] =
          arena.take<int>(static_cast<std::size_t>(group) * (kind == kBoxes || kind == kLargeBoxes ? shape.A : 1));
    next_walks = arena.take<int>(static_cast<std::size_t>(group));
    scratch.groups = groups_of(traits.block_size, shape.m);
    scratch.members = traits.block_size;
    if (fits_jointly)
      scratch.joint =
          padded_to_vector<double>(JointSolve<Real, SerialTeam>::size(shape.A, shape.m, std::max(groups, 1)));
    if (!cohorts.empty()) scratch.walks = RunCohort<Real, kFewBoxes>::walk_bytes(shape, refit_);
    const std::size_t slots = static_cast<std::size_t>(traits.slots);
    scratch.reals = arena.take<Real>(scratch.reals_per_slot(shape) * slots);
    scratch.doubles = arena.take<double>(scratch.doubles_per_slot(shape) * slots);
    scratch.ints = arena.take<int>(scratch.ints_per_slot(shape) * slots);
  }

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }

  void take_tape(Arena& arena, const Replication& replication) {
    const Tape& tape = replication.tape;
    const Feedback& feedback = tape.feedback;
    const std::size_t rows = size(tape.contexts.rows), cells = rows * shape.A;
    const auto place = [&](const auto& values, std::size_t count) {
      if (traits_.in_place) return values.data();
      auto* const to = arena.take<std::remove_cvref_t<decltype(values[0])>>(count);
      uploads.emplace_back(to, values.data(), values.size() * sizeof(values[0]));
      return static_cast<decltype(values.data())>(to);
    };
    TapeView<Real> view{};
    if constexpr (std::is_same_v<Real, float>)
      view.psi = place(tape.contexts.psi, rows * shape.stride);
    else
      view.psi = arena.take<Real>(rows * shape.stride);
    view.phi = place(tape.phi, cells * shape.d);
    view.mu = place(tape.mu, cells);
    view.cost = place(tape.cost, cells);
    view.reward = place(tape.reward, cells);
    view.told = feedback.told.empty() ? view.reward : place(feedback.told, cells);
    view.told_first = feedback.at_once() ? nullptr : place(feedback.first, feedback.first.size());
    view.told_period = place(feedback.period, feedback.period.size());
    view.there = tape.there_by_row.empty() ? nullptr : place(tape.there_by_row, rows);
    view.sigma = place(replication.sigma, cells);
    if (!replication.optimal.empty()) view.optimal = place(replication.optimal, replication.optimal.size());
    if (!replication.committed.empty()) view.committed = place(replication.committed, replication.committed.size());
    take_transposed(arena, view);
    view.late = feedback.late;
    view.calibration_rows = tape.calibration_rows;
    view.online_rows = tape.online_rows;
    view.random_order = replication.instance.stream(Purpose::random_order);
    view.exploration = replication.instance.stream(Purpose::exploration);
    tapes.push_back(view);
  }

  void take_transposed(Arena& arena, TapeView<Real>& view) const {
    if (!traits_.vectors) return;
    view.transposed = arena.take<Real>(size(shape.m) * shape.width);
    view.squared_norm = arena.take<Real>(size(shape.width));
  }

  TapeView<Real> without_context(Arena& arena, TapeView<Real> view, std::size_t rows) const {
    view.psi = arena.take<Real>(rows * shape.stride);
    take_transposed(arena, view);
    return view;
  }

  void take_record(Arena& arena, int periods, LaneRecord::Keep keep) {
    const std::size_t T = size(periods), cells = T * shape.A;
    LaneView<Real>& lane = lanes.back();
    if (keep == LaneRecord::Keep::estimates) return;
    lane.outcomes = arena.take<PeriodOutcome>(T);
    if (keep == LaneRecord::Keep::outcomes) return;
    lane.decisions = arena.take<PeriodOutcome>(T);
    lane.scores = arena.take<double>(cells);
    lane.widths = arena.take<double>(cells);
    lane.rewards = arena.take<double>(cells);
    lane.predictions = arena.take<double>(cells);
    lane.bonuses = arena.take<double>(cells);
  }

  void take_lane(Arena& arena, const LaneSpec& spec, const Tape& tape) {
    const std::size_t index = lanes.size(), matrix = size(shape.m) * shape.stride;
    LaneView<Real> lane;
    lane.spec = spec;
    lane.needs = needs_of(spec, refit_);
    lane.tape = spec.context ? tapes.back() : plain_.back();
    lane.progress = progress != nullptr ? progress + index : nullptr;
    lane.tally = tallies != nullptr ? tallies + index : nullptr;
    if (spec.learns_reward()) {
      lane.reward_memory = arena.take<double>(size(RewardState::size(shape.d) + reward_scratch(shape.d)));
      lane.deployed = arena.take<int>(size(shape.capacity));
      if (fades(spec)) lane.reward_weight = arena.take<float>(size(RewardTable::padded(shape.capacity)));
      if (dates(spec)) lane.reward_learned = arena.take<int>(size(shape.capacity));
      if (traits_.vectors) lane.reward_table = arena.take<float>(RewardTable::size(shape.d, shape.capacity));
    }
    if (!tape.feedback.at_once() && spec.online() && (spec.learns_reward() || spec.learns_payoff()))
      lane.chosen = arena.take<unsigned char>(size(tape.online_rows));
    if (spec.fits_jointly()) {
      lane.joint = arena.take<JointState>(1);
      fits_jointly = true;
      if (spec.fits_tied()) groups = std::max(groups, SlopeGroups<true>(spec, shape.A).count());
    }
    for (int a = 0; a < shape.A && spec.learning != Learning::none; ++a) {
      BoxView<Real>& box = lane.box[a];
      box.progress = arena.take<BoxProgress>(1);
      box.rho = arena.take<Real>(size(shape.stride));
      box.rows = arena.take<int>(size(shape.capacity));
      if (fades(spec)) box.weight = arena.take<Real>(size(shape.capacity));
      if (dates(spec)) box.learned = arena.take<int>(size(shape.capacity));
      const std::size_t stored = size(StoredInverse<Real>(shape, traits_.vectors).size());
      if (lane.needs.design) box.design.P = arena.take<Real>(stored);
      if (lane.needs.curvature) box.curvature.P = arena.take<Real>(stored);
      if (lane.needs.response) box.response = arena.take<Real>(size(shape.d) * shape.stride);
      if (!solves(lane)) continue;
      if (!traits_.vectors) {
        box.hessian = arena.take<Real>(size(TileMemory<Real>::running_reals(shape.m)));
        box.inverse_weight = arena.take<Real>(size(std::min(shape.capacity, kOneHessian)));
        continue;
      }
      box.inverse = arena.take<Real>(matrix);
      box.inverse_weight = arena.take<Real>(size(std::min(shape.capacity, traits_.newton_samples)));
      if (shape.capacity > traits_.newton_samples) box.hessian = arena.take<Real>(matrix);
    }
    lanes.push_back(lane);
  }

  bool fades(const LaneSpec& spec) const { return spec.online() && forgetting_.half_life > 0.0; }
  bool dates(const LaneSpec& spec) const { return spec.online() && forgetting_.dated(); }

  // Whether rho_hat is ever solved for. Lanes that learn from queries but use no index solve for it too.
  static bool solves(const LaneView<Real>& lane) {
    return !lane.spec.learns_payoff() && !lane.spec.fits_jointly() && (lane.spec.learns_index() || lane.spec.online());
  }

  GramView<Real> take_gram(Arena& arena) {
    const std::size_t B = size(shape.B), stride = size(shape.stride), width = size(shape.width);
    GramView<Real> g;
    g.image = arena.take<Real>(B * stride);
    g.gram = arena.take<Real>(B * width);
    g.column = arena.take<Real>(B * width);
    g.u = arena.take<Real>(B * stride);
    g.diagonal = arena.take<Real>(width);
    g.row = arena.take<Real>(width);
    g.log = arena.take<typename GramView<Real>::Update>(B);
    g.count = arena.take<GramCounts>(1);
    return g;
  }

  // Allocates the memory of a block for all lanes at this place of their groups: the union of their needs.
  void take_block(Arena& arena, std::size_t place) {
    bool learns = false, designs = false, curvatures = false, responses = false;
    for (std::size_t k = place; k < lanes.size(); k += size(group)) {
      learns = learns || lanes[k].spec.learning != Learning::none;
      designs = designs || lanes[k].needs.widths;
      curvatures = curvatures || lanes[k].needs.curvature;
      responses = responses || lanes[k].needs.response;
    }
    const std::size_t B = size(shape.B), d = size(shape.d), width = size(shape.width);
    for (int a = 0; a < shape.A && learns; ++a) {
      BoxView<Real> block;
      block.prediction = arena.take<Real>(width);
      block.theta_moved = arena.take<Real>(d);
      block.pending_scale = arena.take<Real>(B);
      if (designs) block.design = take_gram(arena);
      if (curvatures) block.curvature = take_gram(arena);
      if (responses) {
        block.coupling = arena.take<Real>(d * width);
        block.pending_rank = arena.take<Real>(B * d);
        block.pending_moved = arena.take<Real>(B * d);
      }
      for (std::size_t k = place; k < lanes.size(); k += size(group)) share(lanes[k], lanes[k].box[a], block);
    }
  }

  static void share(const LaneView<Real>& lane, BoxView<Real>& box, const BoxView<Real>& block) {
    if (lane.spec.learning == Learning::none) return;
    box.prediction = block.prediction;
    box.theta_moved = block.theta_moved;
    box.pending_scale = block.pending_scale;
    const auto products = [](GramView<Real>& to, GramView<Real> from) {
      from.P = to.P;
      to = from;
    };
    if (lane.needs.widths) products(box.design, block.design);
    if (lane.needs.curvature) products(box.curvature, block.curvature);
    if (!lane.needs.response) return;
    box.coupling = block.coupling;
    box.pending_rank = block.pending_rank;
    box.pending_moved = block.pending_moved;
  }

  void list_matrices() {
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      if (k % size(group) == 0) group_matrices.push_back(static_cast<int>(matrices.size()));
      for (int a = 0; a < shape.A && lanes[k].spec.learning != Learning::none; ++a) {
        const int box = static_cast<int>(k % size(group)) * shape.A + a;
        if (lanes[k].needs.widths) matrices.push_back(2 * box);
        if (lanes[k].needs.curvature) matrices.push_back(2 * box + 1);
      }
    }
    group_matrices.push_back(static_cast<int>(matrices.size()));
  }

  BackendTraits traits_;
  RefitSchedule refit_;
  Forgetting forgetting_;
  std::vector<TapeView<Real>> plain_;
};

}  // namespace pandora::engine
