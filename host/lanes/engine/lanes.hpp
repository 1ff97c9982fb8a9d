// The settings of the engine in a study, its inputs and its results.
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

/// Which engine simulates the lanes, and how. Precision and block length change rounding. The kind also changes where
/// solvers stop, and a near-tie may then go the other way. The chunk changes nothing.
struct EngineSettings {
  enum class Kind { blocked, reference };
  enum class Precision { fp32, fp64 };

  Kind kind = Kind::blocked;
  Precision precision = Precision::fp32;  ///< for `blocked`; `reference` always uses double
  int block = 32;                         ///< B, periods per block
  int chunk = 6;                          ///< lanes that a thread advances together

  std::string text() const;  ///< such as "blocked, single precision, blocks of 32"
};

struct BlockOptions {
  EstimationOptions estimation;
  int block = 32;  ///< B, at least 1
};

/// A record of a lane's periods and of what it had learned in the end; also decisions to follow instead of its own.
struct LaneRecord {
  /// What the record keeps: only what was learned; also the decisions of the periods; or everything below.
  enum class Keep { estimates, outcomes, everything } keep = Keep::everything;
  const std::vector<PeriodOutcome>* decisions = nullptr;  ///< T outcomes, or none; such a lane estimates no mu*
  std::vector<PeriodOutcome> outcomes;                    ///< T; only periods before a failure are filled
  std::vector<double> scores;                             ///< T x A, before each period's walk
  std::vector<double> widths;                             ///< T x A: ||psi||_{V^-1}, zero if the lane keeps none
  std::vector<double> rewards;      ///< T x A: the lane's mu of an output that it saw (eq:mu:tilde), zero elsewhere
  std::vector<double> predictions;  ///< T x A: rho_hat' psi, or LinUCB's eta_hat' psi; zero if none is learned
  std::vector<double> bonuses;      ///< T x A: the amount added to it before the link, c ||psi||_{V^-1} for DOW
  std::vector<double> rho;          ///< A x m: rho_hat, or LinUCB's eta_hat; empty if none is learned
  std::vector<double> theta;        ///< d: theta_hat; empty if none is learned
};

/// Counts of events that are worth reporting after a run.
struct EngineCounters {
  std::uint64_t index_solves = 0, index_gradients = 0, reward_solves = 0;
  std::uint64_t repairs = 0;                    ///< inverses rebuilt because a width left its bounds
  std::map<std::string, std::uint64_t> cycles;  ///< cycles of a device's cohorts by phase, in builds that count them
};

/// A replication and its lanes.
struct UnitOfLanes {
  const Replication* replication;
  std::vector<LaneSpec> lanes;
};

}  // namespace pandora
