// One lane's state in the fast engine, and its way through a block.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "host/block_engine.hpp"
#include "host/index_solver.hpp"
#include "host/reward_learner.hpp"
#include "kernels/gram_block.hpp"

namespace pandora {

/// B consecutive online periods, shared by all lanes of the chunk.
template <class Real>
struct Block {
  int first_period = 0;
  int B = 0;
  int width = 0;                  ///< B rounded up to whole vectors
  std::vector<const Real*> psi;   ///< B rows
  SimdVector<Real> transposed;    ///< m x width, feature-major
  SimdVector<Real> squared_norm;  ///< ||psi_j||^2
};

/// Everything that does not outlive a lane's turn in a block; one per thread.
template <class Real>
struct Workspace {
  Workspace(int boxes, int m, int stride, int d, int B);

  std::vector<GramBlock<Real>> design;     ///< per box
  std::vector<GramBlock<Real>> curvature;  ///< per box
  SimdVector<Real> prediction;             ///< A x width: psi_i' rho_hat_a as it stands
  SimdVector<Real> coupling;               ///< A x d x width: N = Psi' Q
};

/// The contexts in working precision, rows of the tape.
template <class Real>
struct WorkingContexts {
  const Real* psi;
  int m, stride;
};

template <class Real>
class BlockLane {
 public:
  BlockLane(const Replication& replication, WorkingContexts<Real> contexts, const LaneSpec& spec,
            const EstimationOptions& options, EngineCounters& counters, const LaneReplay* replay);

  /// Learns from x_0 or the T_0 calibration periods.
  void calibrate();

  /// Forms the block's products, walks its periods and applies the updates. Nothing once the lane has failed.
  void advance(const Block<Real>& block, Workspace<Real>& workspace);

  const LaneTally& tally() const { return tally_; }

 private:
  struct Box {
    SimdVector<Real> rho;                // rho_hat (eq:known-theta-rho-estimator), (eq:hat:rho:at); LinUCB: eta_hat
    SimdVector<Real> design_inverse;     // V^-1 (eq:known-theta-V), or LinUCB's A^-1
    SimdVector<Real> curvature_inverse;  // `tracking`: Hinv
    SimdVector<Real> theta_response;     // `tracking`, reward unknown: Q = Hinv M, d rows; d rho = Q d theta
    std::vector<int> rows;               // samples
    std::vector<Real> cost, mu;          // mu: mu*, or its plug-in of (eq:plugin:loss)
    int solved_at = 0, curvature_at = 0;
    WeightedInverse<Real> newton;  // what the solves of few samples work with
    SimdVector<Real> curvature;    // `geometric`, `every`: sum h psi psi' that preconditions the next solve
    int curvature_upto = 0;        // samples in `curvature`
    // Newton steps that rho has yet to make, one entry per update of the block since the last flush (see flush):
    std::vector<double> pending_scale;  // e / s; 0 where an exact solve replaces the step
    std::vector<double> pending_rank;   // d each: r, by which Q gains v r'
    std::vector<double> pending_moved;  // d each: theta_moved before the sample
    std::vector<double> theta_moved;    // theta's moves since the last flush
  };

  template <class Body>
  void guarded(Body&& body);
  void learn_calibration();
  void advance_block(const Block<Real>& block, Workspace<Real>& work);
  void walk(const Block<Real>& block, Workspace<Real>& work);
  void learn(const Block<Real>& block, Workspace<Real>& work, int j, const PeriodOutcome& outcome);
  void learn_payoff(const Block<Real>& block, Workspace<Real>& work, int j, int a);
  void track_sample(const Block<Real>& block, Workspace<Real>& work, int j, int a, bool exact_follows);
  void track_theta(const Block<Real>& block, Workspace<Real>& work, const double* move);
  void flush(Workspace<Real>& work, int a);
  static void clear_pending(Box& box);
  double reward_of(int a, int row) const;
  void start_box(const Block<Real>& block, Workspace<Real>& work, int a);
  void start_curvature(const Block<Real>& block, Workspace<Real>& work, int a);

  void add_index_sample(int a, int row);
  void observe_reward(int a, int row);
  void solve_reward();
  void solve_box(int a, Workspace<Real>* work);
  void refresh_rewards(int a);
  void rebuild_curvature(int a);
  void rebuild_design(int a);
  double payoff(int a, int row) const { return tape_.reward[tape_.at(row, a)] - tape_.cost[tape_.at(row, a)]; }
  SampleView<Real> samples(const Box& box) const;
  Preconditioner own_preconditioner(Box& box);

  const Replication& replication_;
  const Tape& tape_;
  const WorkingContexts<Real> contexts_;
  const LaneSpec& spec_;
  const EstimationOptions& options_;
  EngineCounters& counters_;
  const LaneReplay* replay_;
  const int A_, d_;
  const bool keeps_design_, tracks_, tracks_theta_;
  std::vector<Box> boxes_;
  RewardLearner reward_;
  int period_ = 0;  // 1..T, 0 while calibrating
  LaneTally tally_;
};

}  // namespace pandora
