#include "host/block_engine.hpp"

#include "host/block_lane.hpp"

namespace pandora {
namespace {

template <class Real>
void fill_block(const Tape& tape, WorkingContexts<Real> contexts, int first_period, int B, Block<Real>& block) {
  block.first_period = first_period;
  block.B = B;
  block.psi.resize(static_cast<std::size_t>(B));
  std::fill(block.transposed.begin(), block.transposed.end(), Real(0));
  for (int j = 0; j < B; ++j) {
    const Real* psi = contexts.psi + static_cast<std::size_t>(tape.online_row(first_period + j)) * contexts.stride;
    block.psi[j] = psi;
    Real squares = 0;
    for (int k = 0; k < contexts.m; ++k) {
      block.transposed[static_cast<std::size_t>(k) * block.width + j] = psi[k];
      squares += psi[k] * psi[k];
    }
    block.squared_norm[j] = squares;
  }
}

}  // namespace

template <class Real>
std::vector<LaneTally> run_block_lanes(const Replication& replication, std::span<const LaneSpec> lanes,
                                       const BlockOptions& options, EngineCounters* counters,
                                       std::span<const LaneReplay> replays) {
  const Tape& tape = replication.tape;
  const int m = tape.contexts.index_size, stride = tape.contexts.index_stride;
  SimdVector<Real> converted;
  const Real* psi;
  if constexpr (std::is_same_v<Real, float>) {
    psi = tape.contexts.psi.data();
  } else {
    converted.assign(tape.contexts.psi.begin(), tape.contexts.psi.end());
    psi = converted.data();
  }
  const WorkingContexts<Real> contexts{psi, m, stride};
  EngineCounters local;
  std::vector<BlockLane<Real>> state;
  state.reserve(lanes.size());
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    state.emplace_back(replication, contexts, lanes[k], options.estimation, counters != nullptr ? *counters : local,
                       replays.empty() ? nullptr : &replays[k]);
    state.back().calibrate();
  }
  Workspace<Real> workspace(tape.boxes(), m, stride, tape.contexts.reward_features, options.block);
  Block<Real> block;
  block.width = padded_to_vector<Real>(options.block);
  block.transposed.resize(static_cast<std::size_t>(m) * block.width);
  block.squared_norm.resize(static_cast<std::size_t>(block.width));
  for (int first = 0; first < tape.online_rows; first += options.block) {
    fill_block(tape, contexts, first, std::min(options.block, tape.online_rows - first), block);
    for (BlockLane<Real>& lane : state) lane.advance(block, workspace);
  }
  std::vector<LaneTally> tallies;
  for (const BlockLane<Real>& lane : state) tallies.push_back(lane.tally());
  return tallies;
}

template std::vector<LaneTally> run_block_lanes<float>(const Replication&, std::span<const LaneSpec>,
                                                       const BlockOptions&, EngineCounters*,
                                                       std::span<const LaneReplay>);
template std::vector<LaneTally> run_block_lanes<double>(const Replication&, std::span<const LaneSpec>,
                                                        const BlockOptions&, EngineCounters*,
                                                        std::span<const LaneReplay>);

}  // namespace pandora
