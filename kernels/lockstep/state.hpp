// Where the state of a lane lies while many lanes advance in lockstep (GPU engine). Plain pointers into buffers of the
// backend; host/lockstep_engine.hpp lays them out. Sizes: A boxes, m features in rows of `stride`, d reward features,
// B periods per block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/lane.hpp"
#include "kernels/philox.hpp"
#include "kernels/refit_schedule.hpp"
#include "kernels/tally.hpp"
#include "kernels/team.hpp"

namespace pandora::lockstep {

struct Shape {
  int A, m, stride, d, B;
  int capacity;  ///< samples per box, and deployed samples, that a lane has room for
};

/// A replication's tape; rows as in kernels/tape.hpp.
template <class Real>
struct TapeView {
  const Real* psi;             ///< rows x stride
  const float* phi;            ///< rows x A x d
  const double *mu, *cost;     ///< rows x A
  const std::uint8_t* reward;  ///< rows x A
  const double* sigma;         ///< rows x A, oracle indices
  int calibration_rows, online_rows;
  Stream random_order;

  PANDORA_HD int calibration_row(int k) const { return 1 + k; }
  PANDORA_HD int online_row(int period) const { return 1 + calibration_rows + period; }
  PANDORA_HD const Real* psi_of(int row, int stride) const { return psi + static_cast<std::size_t>(row) * stride; }
};

/// An inverse P with the products of the current block: the block transform of kernels/gram_block.hpp.
template <class Real>
struct GramView {
  struct Update {
    int period;
    Real f;
    int columns_before;  // columns C_i that precede it
  };

  Real* P = nullptr;                         ///< m x stride, symmetric, in full; null where the lane keeps none
  Real* image = nullptr;                     ///< B x stride: P psi_j
  Real* gram = nullptr;                      ///< B x B: psi_i' P psi_j for i >= j in row j
  Real* column = nullptr;                    ///< B x B: C_q
  Real* u = nullptr;                         ///< B x stride: u_q
  Real *diagonal = nullptr, *row = nullptr;  ///< B each
  Update* log = nullptr;                     ///< B
  int* count = nullptr;                      ///< updates, columns, materialised (GramCount)
};

/// What a lane's walk must remember while it waits for a solve.
struct Progress {
  int next = 0;         ///< the next period of the block
  int queried_due = 0;  ///< bit a: box a waits for its solve
  int reward_samples = 0, reward_solved_at = 0;
  int refactorisations = 0;
};

/// Samples, those at the last solve and at the last rebuild of Hinv, pending steps, failure and its period.
inline constexpr int kBoxCounts = 6;

template <class Real>
struct BoxView {
  Real* rho = nullptr;                                     ///< stride
  Real* prediction = nullptr;                              ///< B
  Real* coupling = nullptr;                                ///< d x B: N = Psi' Q
  Real* response = nullptr;                                ///< d x stride: Q
  int* rows = nullptr;                                     ///< samples
  int* count = nullptr;                                    ///< kBoxCounts, see below
  Real* pending_scale = nullptr;                           ///< B
  Real *pending_rank = nullptr, *pending_moved = nullptr;  ///< B x d
  Real* theta_moved = nullptr;                             ///< d
  GramView<Real> design, curvature;

  PANDORA_HD int& n() const { return count[0]; }
  PANDORA_HD int& solved_at() const { return count[1]; }
  PANDORA_HD int& curvature_at() const { return count[2]; }
  PANDORA_HD int& pending() const { return count[3]; }

  // A box's failure stays with the box until the lane's next walk collects it: the teams of the lane's other boxes may
  // run at the same time and must not see it come.
  PANDORA_HD Failure failure() const { return static_cast<Failure>(count[4]); }
  PANDORA_HD int failed_period() const { return count[5]; }
  template <class Team>
  PANDORA_HD void fail(const Team& team, Failure what, int period) const {
    team.sync();
    if (team.rank() == 0) {
      count[4] = static_cast<int>(what);
      count[5] = period;
    }
    team.sync();
  }
};

template <class Real>
struct LaneView {
  LaneSpec spec;
  TapeView<Real> tape;
  bool keeps_design = false, tracks = false, tracks_theta = false;
  double* reward_memory = nullptr;  ///< RewardState
  int* deployed = nullptr;          ///< row * A + box of the deployed samples
  Progress* progress = nullptr;
  LaneTally* tally = nullptr;                   ///< with a failure in it, the lane stands still
  const PeriodOutcome* decisions = nullptr;     ///< T outcomes to follow instead of the lane's own, or null
  PeriodOutcome* outcomes = nullptr;            ///< T, to be recorded with what they came from, or null:
  double *scores = nullptr, *widths = nullptr;  ///< T x A
  BoxView<Real> box[kMaxBoxes];
};

/// What the bodies share.
template <class Real>
struct Problem {
  Shape shape;
  double ridge_index, ridge_reward;
  RefitSchedule refit;
  LaneView<Real>* lanes;
};

}  // namespace pandora::lockstep
