// The memory of a lane's state while lanes advance in blocks of B periods: plain pointers into a backend's memory,
// which host/lanes/engine/layout.hpp lays out. Sizes: A boxes, m features in rows of `stride`, d reward features.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/base/team.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/rules/needs.hpp"
#include "kernels/rules/ridges.hpp"
#include "kernels/rules/shrinkage.hpp"
#include "kernels/rules/tally.hpp"

namespace pandora::engine {

struct Shape {
  int A, m, stride, d, B;
  int width;     ///< B in whole vectors: the row length of arrays that have a number for each pair of a block's periods
  int capacity;  ///< the most samples per box, and the most deployed samples, of a lane
};

/// A replication's tape; rows as in kernels/tape/tape.hpp.
template <class Real>
struct TapeView {
  const Real* psi;          ///< rows x stride
  const float* phi;         ///< rows x A x d
  const double *mu, *cost;  ///< rows x A
  const float* reward;      ///< rows x A
  const float* told;        ///< rows x A, the value that learners are told instead
  const double* sigma;      ///< rows x A, oracle indices
  /// T, of arms: the decisions of benchmarks where boxes may be deployed unopened (Follow); else null
  const PeriodOutcome *optimal, *committed;
  const std::uint16_t* there;           ///< rows, which boxes are there; null: all
  const int *told_first, *told_period;  ///< Feedback's lists; null: every reward is told at the end of its own period
  bool late;                            ///< whether some reward is told after its own period
  int calibration_rows, online_rows;
  Stream random_order, exploration;
  /// The block's contexts feature by feature (m x width, zero beyond the block) and ||psi_j||^2 (width), for teams with
  /// vectors; null for others. See GatherBlock.
  Real *transposed, *squared_norm;

  PANDORA_HD unsigned there_in(int row) const { return there != nullptr ? there[row] : kAllBoxes; }
  PANDORA_HD int calibration_row(int k) const { return 1 + k; }
  PANDORA_HD int online_row(int period) const { return 1 + calibration_rows + period; }
  PANDORA_HD const Real* psi_of(int row, int stride) const { return psi + static_cast<std::size_t>(row) * stride; }
};

/// A block of consecutive online periods.
struct BlockRange {
  int first_period;
  int B;
};

/// Its contexts: B rows of `stride` elements, zero beyond m.
template <class Real>
struct BlockContexts {
  const Real* psi;
  const Real *transposed, *squared_norm;
  int B, stride;

  PANDORA_HD BlockContexts(const TapeView<Real>& tape, const Shape& shape, BlockRange range)
      : psi(tape.psi_of(tape.online_row(range.first_period), shape.stride)),
        transposed(tape.transposed),
        squared_norm(tape.squared_norm),
        B(range.B),
        stride(shape.stride) {}
};

struct GramCounts {
  int updates, columns, materialised;
  int late;      ///< rows of u from here on are images of samples that come later (kernels/lane/late.hpp)
  bool settled;  ///< whether columns were applied to P since the images were formed
};

/// An inverse P with the products of the current block: the block transform of kernels/lane/gram.hpp.
template <class Real>
struct GramView {
  struct Update {
    int period;
    Real f;
    int columns_before;  // number of columns C_i before it
  };

  Real* P = nullptr;                         ///< symmetric (see StoredInverse); null where the lane keeps none
  Real* image = nullptr;                     ///< B x stride: P psi_j
  Real* gram = nullptr;                      ///< B x width: psi_i' P psi_j for i >= j in row j
  Real* column = nullptr;                    ///< B x width: C_q
  Real* u = nullptr;                         ///< B x stride: u_q
  Real *diagonal = nullptr, *row = nullptr;  ///< width each
  Update* log = nullptr;                     ///< B
  GramCounts* count = nullptr;
};

/// The state that a lane's walk keeps while it waits for a solve, and the lane's counters.
struct Progress {
  int next = 0;       ///< the next period of the block
  int due = 0;        ///< the solves that are due: bit a is box a, kThetaDue theta_hat, kJointDue all boxes together
  int joint_due = 0;  ///< whether a joint solve must come regardless of the schedule
  int reward_samples = 0;
  int reward_samples_at_solve = 0;  ///< at the last exact solve of theta_hat
  double multiplier = 0.0;          ///< of LaneSpec::pacing
  int repairs = 0;                  ///< inverses rebuilt because a width left its bounds
  int index_solves = 0, index_gradients = 0, reward_solves = 0;
};

/// Adds to one of a lane's counters, to which its other boxes may add at the same time.
PANDORA_HD inline void add_to(int* counter, int n) {
  PANDORA_ON_DEVICE(atomicAdd(counter, n), *counter += n);
}

/// The counters of a box.
struct BoxProgress {
  int samples = 0;
  double faded = 0.0;            ///< by how much the samples' weights fall short of 1 each, in all
  int samples_at_solve = 0;      ///< at the last exact solve of rho_hat
  int samples_at_curvature = 0;  ///< when Hinv was last rebuilt
  int samples_in_hessian = 0;    ///< samples in BoxView::hessian
  double reward_widths = 0.0;    ///< sum_s ||phi_s||^2_{Phi^-1}, where a bonus needs it
  int follows = 0;               ///< whether BoxView::inverse has been started
  int pending = 0;               ///< Newton steps of the block that rho has yet to take
  Failure failure = Failure::none;
  int failed_period = 0;

  /// The number of samples by their weights, rounded.
  PANDORA_HD int counted() const { return static_cast<int>(::floor(samples - faded + 0.5)); }
};

template <class Real>
struct BoxView {
  BoxProgress* progress = nullptr;
  Real* rho = nullptr;       ///< stride: rho_hat (eq:known-theta-rho-estimator), (eq:hat:rho:at); LinUCB: eta_hat
  Real* response = nullptr;  ///< d x stride: Q = Hinv M; rho moves by Q d theta
  int* rows = nullptr;       ///< samples
  Real* weight = nullptr;    ///< one for each sample; null: 1
  int* learned = nullptr;    ///< the period (1, 2, ...; 0: the calibration) in which each was learned; null: unused
  GramView<Real> design;     ///< V^-1 (eq:known-theta-V), or LinUCB's A^-1
  GramView<Real> curvature;  ///< Hinv (`tracking`), or C_aa of a shrunk fit
  // Data that solvers keep from one solve to the next (kernels/solve/). On the CPU: the inverse that follows the
  // weights of few samples. Everywhere: the running sum of curvatures that preconditions solves with many samples. On
  // devices it follows the weights of few samples, which then stand in `inverse_weight`.
  Real *inverse = nullptr, *inverse_weight = nullptr, *hessian = nullptr;
  // For the block:
  Real* prediction = nullptr;                              ///< width: psi_i' rho at present
  Real* coupling = nullptr;                                ///< d x width: N = Psi' Q
  Real* pending_scale = nullptr;                           ///< B: e / s; 0 where an exact solve replaces the step
  Real *pending_rank = nullptr, *pending_moved = nullptr;  ///< B x d: r, by which Q gains v r'; theta_moved before
  Real* theta_moved = nullptr;                             ///< d: theta_hat's moves since the last flush

  /// Adds a sample. One member calls it.
  PANDORA_HD void add(int row, int now) const {
    const int sample = progress->samples++;
    rows[sample] = row;
    if (weight != nullptr) weight[sample] = Real(1);
    if (learned != nullptr) learned[sample] = now;
  }

  // A box's failure stays in the box until the lane's next walk collects it. The teams of the lane's other boxes may
  // run at the same time, and their results must not depend on it.
  template <class Team>
  PANDORA_HD void fail(const Team& team, Failure what, int period) const {
    team.sync();
    if (team.rank() == 0) {
      progress->failure = what;
      progress->failed_period = period;
    }
    team.sync();
  }
};

template <class Real>
struct LaneView {
  LaneSpec spec;
  LaneNeeds needs;
  TapeView<Real> tape;
  double* reward_memory = nullptr;  ///< RewardState, and the scratch of its solves
  int* deployed = nullptr;          ///< row * A + box of the deployed samples
  float* reward_weight = nullptr;   ///< of the deployed samples, with the periods in which they were told; null as
  int* reward_learned = nullptr;    ///< BoxView::weight and BoxView::learned
  unsigned char* chosen = nullptr;  ///< T: the box deployed in each period, where rewards come late
  float* reward_table = nullptr;    ///< for teams with vectors: the deployed samples by feature
  JointState* joint = nullptr;      ///< for lanes that fit jointly
  Progress* progress = nullptr;
  LaneTally* tally = nullptr;                ///< a lane with a failure in it stands still
  const PeriodOutcome* decisions = nullptr;  ///< T outcomes to follow instead of the lane's own, or null
  PeriodOutcome* outcomes = nullptr;         ///< T, to be recorded, or null
  // T x A: the numbers behind the outcomes, or null
  double *scores = nullptr, *widths = nullptr, *rewards = nullptr, *predictions = nullptr, *bonuses = nullptr;
  BoxView<Real> box[kMaxBoxes];

  /// Whether samples may join the design after their own period.
  PANDORA_HD bool learns_late() const { return spec.learns_payoff() && tape.late && chosen != nullptr; }
};

/// The data that the bodies share. `lanes` are those that advance together.
template <class Real>
struct Problem {
  Shape shape;
  Ridges ridge_index;
  double ridge_payoff, ridge_reward;
  RefitSchedule refit;
  RewardSchedule refit_reward;
  LaneView<Real>* lanes;

  /// The ridges of a lane's V, or of LinUCB's A.
  PANDORA_HD Ridges design_ridges(const LaneSpec& spec) const {
    return spec.learns_payoff() ? Ridges(ridge_payoff) : ridge_index;
  }
};

}  // namespace pandora::engine
