// Which engine, as a study chooses it; what engines are given and what they give back.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/rules/estimation.hpp"
#include "kernels/rules/tally.hpp"
#include "pandora/replication.hpp"

namespace pandora {

/// Which engine simulates the lanes, and how. Precision and block length change rounding, the kind also where
/// solvers stop; a near-tie may then flip. The chunk changes nothing.
struct EngineSettings {
  enum class Kind { blocked, reference };
  enum class Precision { fp32, fp64 };

  Kind kind = Kind::blocked;
  Precision precision = Precision::fp32;  ///< of `blocked`; `reference` is always double
  int block = 32;                         ///< B, periods per block
  int chunk = 6;                          ///< lanes that a thread advances together

  std::string text() const;  ///< such as "blocked, single precision, blocks of 32"
};

struct BlockOptions {
  EstimationOptions estimation;
  int block = 32;  ///< B, at least 1
};

/// What happened in a lane's periods, what it had learned in the end, and decisions to follow instead of its own.
struct LaneRecord {
  /// What is kept: what was learned; the decisions of the periods too; or all below.
  enum class Keep { estimates, outcomes, everything } keep = Keep::everything;
  const std::vector<PeriodOutcome>* decisions = nullptr;  ///< T outcomes, or none; who follows them estimates no mu*
  std::vector<PeriodOutcome> outcomes;                    ///< T; those of the periods before a failure count
  std::vector<double> scores;                             ///< T x A, before each period's walk
  std::vector<double> widths;                             ///< T x A: ||psi||_{V^-1}, zero where none is kept
  std::vector<double> rewards;      ///< T x A: the lane's mu of an output that it saw (eq:mu:tilde), zero elsewhere
  std::vector<double> predictions;  ///< T x A: rho_hat' psi, or LinUCB's eta_hat' psi; zero if none is learned
  std::vector<double> bonuses;      ///< T x A: what is added to it before the link, c ||psi||_{V^-1} for DOW
  std::vector<double> rho;          ///< A x m: rho_hat, or LinUCB's eta_hat; empty if none is learned
  std::vector<double> theta;        ///< d: theta_hat; empty if none is learned
};

/// Counts of events worth knowing after a run.
struct EngineCounters {
  std::uint64_t index_solves = 0, index_gradients = 0, reward_solves = 0;
  std::uint64_t repairs = 0;                    ///< inverses rebuilt because a width left its bounds
  std::map<std::string, std::uint64_t> cycles;  ///< of a device's cohorts by phase, where they are counted
};

/// A replication and its lanes.
struct UnitOfLanes {
  const Replication* replication;
  std::vector<LaneSpec> lanes;
};

}  // namespace pandora
