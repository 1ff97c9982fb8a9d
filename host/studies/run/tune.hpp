// The choice of hyperparameters by successive halving over replications, and a judgement of what was chosen on
// replications that had no part in the choice.
#pragma once

#include "host/ground/statistics/statistics.hpp"
#include "host/studies/results/summary.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {

/// One choice of hyperparameters, and of keys that vary, of a policy with one reward setting.
struct TuneCandidate {
  std::size_t setting = 0;           ///< of the configuration
  std::string varied;                ///< its label; empty if nothing varies
  std::string hyperparameter;        ///< empty if there is none
  std::vector<std::size_t> lanes;    ///< of the setting's plan: one per T_0
  std::vector<double> regrets = {};  ///< x 1000, of the replications so far: means over the cells; NaN where one failed
  int out = 0;                       ///< the round after which it was dropped, from 1; 0: never

  int failed() const;       ///< replications in which a lane failed
  Estimate regret() const;  ///< over the others
};

/// Candidates that compete: those of one policy with one reward setting.
struct TuneRace {
  std::string policy, reward;
  std::vector<TuneCandidate> candidates;
  std::size_t winner = 0;
  TuneCandidate judged = {};  ///< the winner on the replications 0 .. R-1 of the study
  /// The candidate all of whose values are defaults, of the policy's hyperparameters and of the keys that vary; of
  /// several the one that stayed longest. None where the study names no such candidate.
  std::optional<std::size_t> standard = {};
  TuneCandidate judged_standard = {};  ///< judged beside the winner, where it is another candidate
  PairedDifference lost = {};          ///< then: its regret less the winner's, x 1000, over the replications of both
};

/// Where the replications of the choice begin: no study has so many, so that none, however it grows, is judged on what
/// chose its values.
inline constexpr std::uint32_t kFirstOfChoice = 1000000000;

/// Whether a is to be preferred: by fewer failures, then by the mean. Candidates that have run the same replications.
bool better(const TuneCandidate& a, const TuneCandidate& b);
/// Whether a stayed longer than b, or as long and is better.
bool stayed_longer(const TuneCandidate& a, const TuneCandidate& b);

struct TuneRound {
  int replications = 0;   ///< new ones, of each candidate that is left
  std::size_t lanes = 0;  ///< that they take
};

struct Tuning {
  std::vector<TuneRace> races;
  std::vector<TuneRound> rounds;
  std::size_t cells = 0;                ///< the largest number of cells of a race
  std::uint32_t first_replication = 0;  ///< of the choice
  int judged_replications = 0;          ///< R
};

/// The rounds of successive halving: in each the candidates that are left run the same new replications, and the better
/// half of each race (rounded up) stays, judged by all its replications so far. What is left of the budget is shared
/// evenly by the rounds to come.
///
/// `candidates`: of each race; `lanes`: of a candidate of each race in one replication. No rounds where no race has two
/// candidates. Throws Error (usage) if the budget is less than one replication per round, naming the least.
std::vector<TuneRound> halving_rounds(const std::vector<std::size_t>& candidates, const std::vector<std::size_t>& lanes,
                                      std::uint64_t budget);

struct TuneOptions {
  std::uint64_t budget = 0;  ///< lanes that the choice may take; the judgement comes on top
  SweepOptions sweep;        ///< its progress counts the lanes of candidates and of winners
};

/// Runs the rounds and judges the winners. All settings of the study must share tapes. Throws Error (usage) if there is
/// nothing to choose or the budget is too small, and what run_sweep throws.
Tuning tune(const std::vector<PlannedSetting>& settings, const TuneOptions& options);

}  // namespace pandora
