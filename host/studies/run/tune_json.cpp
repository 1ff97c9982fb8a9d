// What tuning found, as a file that other programs read.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/ground/machine/build.hpp"
#include "host/studies/results/manifest.hpp"
#include "host/studies/run/tune_tables.hpp"

namespace pandora {
namespace {

using nlohmann::json;

json interval(const Estimate& estimate) {
  return {{"mean", estimate.mean}, {"half_width_95", estimate.half_width_95}};
}

json regrets_json(const TuneCandidate& candidate) {
  return {{"replications", candidate.regrets.size()},
          {"failed", candidate.failed()},
          {"regret_x1000", interval(candidate.regret())},
          {"regrets_x1000", candidate.regrets}};
}

json candidate_json(const TuneCandidate& candidate) {
  json out = regrets_json(candidate);
  out["setting"] = candidate.varied;
  out["hyperparameters"] = candidate.hyperparameter;
  out["out_after_round"] = candidate.out == 0 ? json() : json(candidate.out);
  return out;
}

json race_json(const TuneRace& race) {
  json candidates = json::array();
  for (const TuneCandidate& candidate : race.candidates) candidates.push_back(candidate_json(candidate));
  json out = {{"policy", race.policy},
              {"reward", race.reward},
              {"candidates", std::move(candidates)},
              {"winner", race.winner},
              {"judged", regrets_json(race.judged)},
              {"run_options", winner_options(race)},
              {"default", race.standard ? json(*race.standard) : json()}};
  if (!race.judged_standard.regrets.empty()) {
    out["judged_default"] = regrets_json(race.judged_standard);
    out["default_minus_winner_x1000"] = interval(race.lost.difference);
    out["default_minus_winner_x1000"]["replications"] = race.lost.n;
  }
  return out;
}

}  // namespace

json tune_json(const Tuning& tuning, const StudyConfig& config) {
  json rounds = json::array(), races = json::array();
  for (const TuneRound& round : tuning.rounds)
    rounds.push_back({{"replications", round.replications}, {"lanes", round.lanes}});
  for (const TuneRace& race : tuning.races) races.push_back(race_json(race));
  return {{"program", program_json()},
          {"study_toml", config.toml()},
          {"first_replication_of_choice", tuning.first_replication},
          {"rounds", std::move(rounds)},
          {"judged_replications", tuning.judged_replications},
          {"races", std::move(races)}};
}

}  // namespace pandora
