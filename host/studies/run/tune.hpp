// Chooses hyperparameters by successive halving over replications, and judges the choice on replications that had no
// part in it.
#pragma once

#include "host/ground/statistics/statistics.hpp"
#include "host/studies/results/summary.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {

/// One choice of the hyperparameters of a policy in one reward setting, and of the keys that vary.
struct TuneCandidate {
  std::size_t setting = 0;           ///< its number in the configuration
  std::string varied;                ///< its label; empty if nothing varies
  std::string hyperparameter;        ///< empty if there is none
  std::vector<std::size_t> lanes;    ///< in the setting's plan: one per T_0
  std::vector<double> regrets = {};  ///< x 1000, in the replications so far: means over the cells; NaN if one failed
  int out = 0;                       ///< the round after which it was dropped, from 1; 0: never

  int failed() const;       ///< replications in which a lane failed
  Estimate regret() const;  ///< over the other replications
};

/// The candidates that compete: those of one policy in one reward setting.
struct TuneRace {
  std::string policy, reward;
  std::vector<TuneCandidate> candidates;
  std::size_t winner = 0;
  TuneCandidate judged = {};  ///< the winner on the replications 0 .. R-1 of the study
  /// The candidate with only default values, of the policy's hyperparameters and of the keys that vary; of several the
  /// one that stayed longest. Empty if the study has no such candidate.
  std::optional<std::size_t> standard = {};
  TuneCandidate judged_standard = {};  ///< judged beside the winner, if it is another candidate
  PairedDifference lost = {};          ///< then: its regret minus the winner's, x 1000, over common replications
};

/// The first replication of the choice. No study has so many replications, so that no study, however it grows, is
/// judged on replications that were used in the choice.
inline constexpr std::uint32_t kFirstOfChoice = 1000000000;

/// Whether a stayed longer than b, or equally long, and so in the same replications, and has fewer failures, or as many
/// and the lower mean.
bool stayed_longer(const TuneCandidate& a, const TuneCandidate& b);

struct TuneRound {
  int replications = 0;   ///< new ones, for each remaining candidate
  std::size_t lanes = 0;  ///< the lanes of the round
};

struct Tuning {
  std::vector<TuneRace> races;
  std::vector<TuneRound> rounds;
  std::size_t cells = 0;        ///< the largest number of cells of a race
  int judged_replications = 0;  ///< R
};

/// The rounds of successive halving. In each round the remaining candidates run the same new replications. The better
/// half of each race (rounded up) stays, judged by all its replications so far. The remaining budget is shared evenly
/// by the remaining rounds.
///
/// `candidates`: how many each race has; `lanes`: how many lanes a candidate of each race has in one replication. There
/// are no rounds if no race has two candidates. Throws Error (usage) with the least budget if the budget is less than
/// one replication per round.
std::vector<TuneRound> halving_rounds(const std::vector<std::size_t>& candidates, const std::vector<std::size_t>& lanes,
                                      std::uint64_t budget);

struct TuneOptions {
  std::uint64_t budget = 0;  ///< the most lanes for the choice; the judgement is extra
  SweepOptions sweep;        ///< its progress counts the lanes of candidates and of winners
};

/// Runs the rounds and judges the winners. All settings of the study must share tapes. Throws Error (usage) if there is
/// nothing to choose or the budget is too small, and what run_sweep throws.
Tuning tune(const std::vector<PlannedSetting>& settings, const TuneOptions& options);

}  // namespace pandora
