// The shared memory of a block of threads in which the lanes of a replication walk (kernels/lane/warp_walk.hpp).
#pragma once

#include <cstddef>

#include "kernels/base/members.hpp"
#include "kernels/rules/refit_schedule.hpp"
#include "kernels/state/backend.hpp"
#include "kernels/state/state.hpp"

namespace pandora::engine {

/// The most lanes of a cohort. Under `tracking` a lane needs two and a half times as much memory. Two of them leave
/// room for as many blocks on a multiprocessor as four lanes under other schedules.
PANDORA_HD constexpr int lanes_of_cohort(const RefitSchedule& refit) {
  return refit.kind == RefitSchedule::Kind::tracking ? 2 : kCohortLanes;
}

/// A block of the tape, and a place for each of the lanes. All arrays begin at multiples of 16 bytes, so that two or
/// four numbers are read at a time.
struct WalkMemory {
  int A, d, B;  ///< of the shape
  bool tracks;  ///< whether the schedule is `tracking`, whose lanes have more arrays
  double* start;

  static constexpr int kSums = 12, kRow = kWarp + 1;  ///< a tally's sums; the row keeps their terms in different banks
  static constexpr int kBoxes = 3, kFeatures = 10;    ///< the paper's shape, which has specialised code
  static constexpr int kMostFeatures = 16;            ///< lanes with fewer features fill up with zeros

  static PANDORA_HD constexpr WalkMemory of_cohort(const Shape& s, const RefitSchedule& refit, void* start) {
    return {s.A, s.d, s.B, refit.kind == RefitSchedule::Kind::tracking, static_cast<double*>(start)};
  }
  static PANDORA_HD constexpr std::size_t cohort_bytes(const Shape& s, const RefitSchedule& refit) {
    return of_cohort(s, refit, nullptr).bytes(lanes_of_cohort(refit));
  }

  PANDORA_HD constexpr int features() const { return A == kBoxes && d == kFeatures ? kFeatures : kMostFeatures; }
  static PANDORA_HD constexpr int even(int n) { return (n + 1) / 2 * 2; }
  /// Where column i of a Gram matrix begins. Every column has a multiple of four elements.
  static PANDORA_HD constexpr int column_at(int i) { return (i / 4 + 1) * (i / 4 * 8 + i % 4 * 4); }
  /// Reals between N_a[i] and N_a[i+1]: eight members that read four each then use different banks.
  static PANDORA_HD constexpr int coupling_row(int features) { return features / 8 * 8 + 4; }

  // Doubles of a lane's Gram matrices (whose place scores, values and the tally's terms take later), of a whole lane,
  // and of the tape.
  PANDORA_HD constexpr int gram_doubles() const {
    const int grams = (tracks ? 2 : 1) * A * column_at(B) / 2, counted = 2 * even(B * A) + even(kSums * kRow);
    return grams > counted ? grams : counted;
  }
  PANDORA_HD constexpr int lane_doubles() const {
    return gram_doubles() + (2 * A + 1) * features() +
           (tracks ? (A * kWarp + A + 1) * coupling_row(features()) / 2 : 0);
  }
  PANDORA_HD constexpr int tape_doubles() const {
    return B * A * features() + 3 * even(B * A) + 2 * even((B * A + 1) / 2);
  }
  PANDORA_HD constexpr std::size_t bytes(int lanes) const {
    return sizeof(double) * static_cast<std::size_t>(tape_doubles() + lanes * lane_doubles());
  }

  /// Copies a block's tape into shared memory. The whole team calls this.
  template <class Team, class Real>
  PANDORA_HD void stage(const Team& team, const TapeView<Real>& tape, BlockRange range) const {
    const int width = features();
    const std::size_t first = static_cast<std::size_t>(tape.online_row(range.first_period)) * A;
    for (int k = team.rank(); k < range.B * A; k += team.size()) {
      mu()[k] = tape.mu[first + k];
      cost()[k] = tape.cost[first + k];
      sigma()[k] = tape.sigma[first + k];
      reward()[k] = tape.reward[first + k];
      told()[k] = tape.told[first + k];
    }
    for (int k = team.rank(); k < range.B * A * width; k += team.size())
      phi(0, 0)[k] = k % width < d ? static_cast<double>(tape.phi[(first + k / width) * d + k % width]) : 0.0;
    team.sync();
  }

  PANDORA_HD double* phi(int j, int a) const { return start + (j * A + a) * features(); }
  PANDORA_HD double* mu() const { return phi(B, 0); }
  PANDORA_HD double* cost() const { return mu() + even(B * A); }
  PANDORA_HD double* sigma() const { return cost() + even(B * A); }
  PANDORA_HD float* reward() const { return reinterpret_cast<float*>(sigma() + even(B * A)); }
  PANDORA_HD float* told() const { return reward() + 2 * even((B * A + 1) / 2); }
  PANDORA_HD double* lane(int l) const { return start + tape_doubles() + l * lane_doubles(); }
};
static_assert(WalkMemory{3, 10, 32, false, nullptr}.bytes(kCohortLanes) <= std::size_t{48} << 10);
static_assert(WalkMemory{3, 10, 32, true, nullptr}.bytes(2) <= std::size_t{48} << 10);
// The largest shape that WarpWalk takes has room too.
static_assert(WalkMemory{4, 16, 32, false, nullptr}.bytes(kCohortLanes) <= kMostShared);
static_assert(WalkMemory{4, 16, 32, true, nullptr}.bytes(2) <= kMostShared);

}  // namespace pandora::engine
