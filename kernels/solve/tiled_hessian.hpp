// The Hessian of a box's index loss as a running sum that stays with the box from one solve to the next.
//
// H = sum_s h(z_s) psi_s psi_s' + ridges. With few samples the sum follows the weights h(z_s): a sweep adds the changes
// of those that have changed by more than kChange, few in all. With many, only new samples are read: a sample keeps the
// weight from the first solve with it, as on the CPU (vector_solver.hpp). Every member of the team has a tile of 8 x 8
// in registers, and members meet once for 16 samples.
#pragma once

#include "kernels/solve/samples.hpp"
#include "kernels/solve/tile_memory.hpp"

namespace pandora::engine {

/// A box's sum of curvatures.
template <class Real>
struct RunningHessian {
  static constexpr Real kChange = Real(0.05);  ///< of a weight that can be 1; smaller changes slow convergence little

  Real* sum;     ///< TileMemory::running_reals
  Real* weight;  ///< of the first kOneHessian samples in it
  int* samples;  ///< how many samples are in it
};

/// For teams of one member or of whole warps; the sum does not depend on their size.
template <class Real, class Team>
class TiledHessian {
 public:
  PANDORA_HD TiledHessian(const Team& team, const TileMemory<Real>& memory, const SampleView<Real>& samples,
                          const Ridges& ridges, const SolveScratch<Real>& scratch, const RunningHessian<Real>& running)
      : team_(team), memory_(memory), samples_(samples), ridges_(ridges), scratch_(scratch), running_(running) {}

  /// Brings the sum up to date, in the order of samples, and puts it with the ridges where the factor was. `follows`:
  /// it follows the weights; otherwise only new samples are added. False if no weight has changed enough, so that the
  /// factor, which there must be, stands.
  PANDORA_HD bool update(bool follows, bool has_factor) const {
    // With next to no ridge, what rounding leaves of a weight that has gone would stand for the curvature of a
    // direction without any. Then every sweep sums anew. So does the first solve with many samples, whose sum must be
    // exact.
    constexpr double kNextToNone = 0.01;
    const bool anew = follows ? ridges_.least() < kNextToNone : *running_.samples <= kOneHessian;
    const int known = anew ? 0 : *running_.samples;
    const auto change = [&](int s) {
      const Real now = scratch_.weight[s];
      if (!follows) return now;
      const Real before = s < known ? running_.weight[s] : Real(0), by = now - before,
                 least = s < known ? RunningHessian<Real>::kChange * samples_.weight_of(s) : Real(0);
      const bool changes = by > least || -by > least;
      running_.weight[s] = changes ? now : before;
      return changes ? by : Real(0);
    };
    const auto list = [this](int s, int to, Real weight) {
      scratch_.active[to] = samples_.rows[s];
      scratch_.moment[to] = weight;
    };
    const int count = for_active<Real>(team_, change, follows ? 0 : known, samples_.n, memory_.counts(), list);
    if (count == 0 && has_factor) return false;
    if (team_.rank() == 0) *running_.samples = samples_.n;
    sum_listed(count, known > 0);
    return true;
  }

 private:
  static constexpr int kSide = TileMemory<Real>::kSide, kStrip = TileMemory<Real>::kStrip;

  // Adds the listed samples to the running sum if it goes on, else to 0. A member has a tile of 8 x 8.
  PANDORA_HD void sum_listed(int count, bool goes_on) const {
    const TeamPart<Team> part = part_of(team_);
    const int tiles = memory_.tiles();
    const bool ready =
        !Team::kAlone && part.count >= 4 && tiles <= team_.size() && memory_.width() <= TileMemory<Real>::kSweptWidth;
    if (ready) return sum_from_strips(part, goes_on, count);
    for (int tile = team_.rank(); tile < tiles; tile += team_.size()) {  // body: not taken
      const TilePlace at = place_of_tile(tile);
      Real sum[kSide][kSide];
      start_tile(tile, goes_on, sum);
      for (int l = 0; l < count; ++l) {
        const Real* const row = samples_.psi + static_cast<std::size_t>(scratch_.active[l]) * samples_.stride;
        Real left[kSide], right[kSide];
        load(row + at.i * kSide, left);
        load(row + at.j * kSide, right);
        PANDORA_UNROLL
        for (Real& x : left) x *= scratch_.moment[l];
        add_outer(left, right, sum);
      }
      finish_tile(tile, at, sum);
    }
  }

  // For teams with a tile for every member. A strip of 16 rows is summed while the next one is copied, which takes no
  // registers, and the indices of the strip after it are loaded. Tiles begin with another warp in every solve. At
  // m = 101 one of four warps has no tile, and it should not belong to the same scheduler in all blocks of a
  // multiprocessor.
  PANDORA_HD void sum_from_strips(const TeamPart<Team>& part, bool goes_on, int count) const {
    constexpr int kOfWarp = kStrip / 4;  // rows of a strip that a warp copies, at most
    const int pieces = memory_.width() / 4, piece = part.team.rank(), panels = memory_.panels(),
              stride = memory_.row_stride(), parts = part.count, warp = part.index, row_stride = samples_.stride / 4,
              tile = (team_.rank() + samples_.n % parts * kWarp) % team_.size();
    const Four<Real>* const features = fours(samples_.psi) + piece;
    const int* const active = scratch_.active;
    const bool mine = tile < memory_.tiles();
    const TilePlace at = place_of_tile(mine ? tile : 0);
    Real sum[kSide][kSide];
    int row[kOfWarp];  // of the strip that is copied next; -1: nothing to copy
    const auto look = [&](int first) {
      PANDORA_UNROLL
      for (int k = 0; k < kOfWarp; ++k) {
        const int s = warp + k * parts;
        row[k] = s < kStrip && first + s < count && piece < pieces ? active[first + s] : -1;
      }
    };
    const auto copy = [&](int first, int buffer) {
      Real* const to = memory_.rows(buffer) + (piece % 2 * panels + piece / 2) * 4;
      PANDORA_UNROLL
      for (int k = 0; k < kOfWarp; ++k)
        if (row[k] >= 0) team_.copy(fours(to + (warp + k * parts) * stride), features + row[k] * row_stride);
      if (const int s = team_.rank(); s < kStrip && first + s < count)
        team_.copy(memory_.weights(buffer) + s, scratch_.moment + first + s);
    };
    start_tile(mine ? tile : 0, goes_on, sum);
    look(0);
    copy(0, 0);
    look(kStrip);
    PANDORA_ROLLED
    for (int first = 0, buffer = 0; first < count; first += kStrip, buffer ^= 1) {
      team_.arrived();
      team_.sync();
      copy(first + kStrip, buffer ^ 1);
      look(first + 2 * kStrip);
      if (!mine) continue;
      const int here = count - first < kStrip ? count - first : kStrip;
      const Real *const rows = memory_.rows(buffer), *left = rows + at.i * 4, *right = rows + at.j * 4,
                        *weight = memory_.weights(buffer);
      PANDORA_ROLLED
      for (int s = 0; s < here; ++s, left += stride, right += stride) {  // loop: hessian sample
        Real a[kSide], b[kSide];
        load(left, a, panels * 4);
        load(right, b, panels * 4);
        PANDORA_UNROLL
        for (Real& x : a) x *= weight[s];
        add_outer(a, b, sum);
      }
    }
    team_.arrived();
    team_.sync();  // the strips lie where the tiles will be stored
    if (mine) finish_tile(tile, at, sum);
  }

  // The start of a tile's sum: the running sum, or 0.
  PANDORA_HD void start_tile(int tile, bool goes_on, Real (&sum)[kSide][kSide]) const {
    PANDORA_UNROLL
    for (int r = 0; r < kSide; ++r) PANDORA_UNROLL
    for (int half = 0; half < 2; ++half) {
      const Four<Real> four = goes_on ? fours(running_.sum)[(2 * r + half) * memory_.tiles() + tile] : Four<Real>{};
      PANDORA_UNROLL
      for (int e = 0; e < 4; ++e) sum[r][4 * half + e] = four.of[e];
    }
  }
  // Adds the ridges; the diagonal beyond m is 1, which the factor leaves unchanged.
  PANDORA_HD void finish_tile(int tile, TilePlace at, const Real (&sum)[kSide][kSide]) const {
    PANDORA_UNROLL
    for (int r = 0; r < kSide; ++r) {
      const int k = at.i * kSide + r;
      const Real diagonal = at.i != at.j ? Real(0) : k < samples_.m ? static_cast<Real>(ridges_.of(k)) : Real(1);
      PANDORA_UNROLL
      for (int half = 0; half < 2; ++half) {
        const Real* const from = sum[r] + 4 * half;
        Four<Real> out{from[0], from[1], from[2], from[3]};
        fours(running_.sum)[(2 * r + half) * memory_.tiles() + tile] = out;
        if (r / 4 == half) out.of[r % 4] += diagonal;
        fours(memory_.tile(tile))[2 * r + half] = out;
      }
    }
  }

  const Team& team_;
  const TileMemory<Real> memory_;
  const SampleView<Real>& samples_;
  const Ridges& ridges_;
  const SolveScratch<Real>& scratch_;
  const RunningHessian<Real>& running_;
};

}  // namespace pandora::engine
