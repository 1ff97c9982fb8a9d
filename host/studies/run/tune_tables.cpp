// Candidates and winners as tables, columns and JSON.
#include "host/studies/run/tune_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "host/ground/base/printable.hpp"
#include "host/ground/machine/build.hpp"
#include "host/ground/tables/table.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/results/table_notes.hpp"

namespace pandora {
namespace {

using nlohmann::json;

std::string of(const TuneRace& race) {
  return fmt::format("{}, {}", race.policy, race.reward);
}

std::string choice_text(const TuneCandidate& candidate) {
  return candidate.varied + (candidate.varied.empty() || candidate.hyperparameter.empty() ? "" : " ") +
         candidate.hyperparameter;
}

// Adds notes on winners whose values are at an end of those that were tried.
void add_edges(const Tuning& tuning, std::vector<std::string>& notes) {
  const auto values = [](const TuneCandidate& candidate) {  // NAME=VALUE;NAME=VALUE
    std::string text = choice_text(candidate);
    std::ranges::replace(text, ' ', ';');
    return text;
  };
  EdgeNote edges;
  for (const TuneRace& race : tuning.races) {
    std::vector<std::string> tried;
    for (const TuneCandidate& candidate : race.candidates) tried.push_back(values(candidate));
    edges.see(of(race), values(race.candidates[race.winner]), tried);
  }
  edges.add_to(notes);
}

// The candidates that stayed longest first, then by regret.
std::vector<const TuneCandidate*> in_order(const TuneRace& race) {
  std::vector<const TuneCandidate*> order;
  for (const TuneCandidate& candidate : race.candidates) order.push_back(&candidate);
  std::ranges::stable_sort(order, [](const auto* a, const auto* b) { return stayed_longer(*a, *b); });
  return order;
}

// The options of `pandora run` for a study of the race's winner.
std::string winner_options(const TuneRace& race) {
  std::string text = "--policy " + race.policy;
  const TuneCandidate& winner = race.candidates[race.winner];
  for (const std::string& pair : split(winner.varied, ' '))
    if (!pair.empty()) text += " --set " + shell_word(pair);
  for (const auto& [name, value] : hyperparameter_values(winner.hyperparameter))
    text += fmt::format(" --set hyperparameters.{}.{}={}", race.policy, name, value);
  return text;
}

Cell number_cell(double value, bool bold = false) {
  return exact_cell(number_text(value, 3), value, bold);
}

Fields fields_of(const TuneRace& race, const TuneCandidate& c) {
  constexpr const char* kDigits = "{:.9g}";
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const bool chosen = c.out == 0, standard = race.standard && &c == &race.candidates[*race.standard];
  const TuneCandidate* const judged = chosen                                              ? &race.judged
                                      : standard && !race.judged_standard.regrets.empty() ? &race.judged_standard
                                                                                          : nullptr;
  const auto of_judged = [&](auto&& number) {
    return judged == nullptr ? kUnknown : static_cast<double>(number(*judged));
  };
  const Estimate regret = c.regret(),
                 lost = judged == &race.judged_standard ? race.lost.difference : Estimate{kUnknown};
  return {{"policy", race.policy},
          {"reward", race.reward},
          {"setting", c.varied},
          Field("hyperparameters", c.hyperparameter).shown("choice", Cell(choice_text(c), chosen)),
          Field("replications", c.regrets.size()).shown("replications", 0),
          Field("failed", c.failed()).shown("failed", 0),
          Field("regret_x1000", regret.mean, kDigits).shown("regret", 3, chosen),
          Field("half_width_95_x1000", regret.half_width_95, kDigits).shown("± (95%)", 3),
          Field("out_after_round", chosen ? kUnknown : c.out, "{}")
              .shown("out after round", chosen ? "" : fmt::format("{}", c.out)),
          {"chosen", chosen},
          {"judged_replications", of_judged([](const TuneCandidate& j) { return j.regrets.size(); }), "{}"},
          {"judged_failed", of_judged([](const TuneCandidate& j) { return j.failed(); }), "{}"},
          {"judged_regret_x1000", of_judged([](const TuneCandidate& j) { return j.regret().mean; }), kDigits},
          {"judged_half_width_95_x1000", of_judged([](const TuneCandidate& j) { return j.regret().half_width_95; }),
           kDigits},
          {"default", standard},
          {"minus_chosen_x1000", lost.mean, kDigits},
          {"minus_chosen_half_width_95_x1000", lost.half_width_95, kDigits}};
}

json interval(const Estimate& estimate) {
  return {{"mean", estimate.mean}, {"half_width_95", estimate.half_width_95}};
}

json regrets_json(const TuneCandidate& candidate) {
  return {{"replications", candidate.regrets.size()},
          {"failed", candidate.failed()},
          {"regret_x1000", interval(candidate.regret())},
          {"regrets_x1000", candidate.regrets}};
}

json race_json(const TuneRace& race) {
  json candidates = json::array();
  for (const TuneCandidate& candidate : race.candidates) {
    json& out = candidates.emplace_back(regrets_json(candidate));
    out["setting"] = candidate.varied;
    out["hyperparameters"] = candidate.hyperparameter;
    out["out_after_round"] = candidate.out == 0 ? json() : json(candidate.out);
  }
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

Columns columns_of(std::span<const TuneRace> races) {
  Columns out;
  for (const TuneRace& race : races)
    for (const TuneCandidate* c : in_order(race)) out.add(fields_of(race, *c));
  return out;
}

}  // namespace

std::vector<Table> tune_tables(const Tuning& tuning) {
  std::vector<int> replications;
  std::size_t lanes = 0;
  int last = static_cast<int>(kFirstOfChoice) - 1;
  for (const TuneRound& round : tuning.rounds) {
    replications.push_back(round.replications);
    lanes += round.lanes;
    last += round.replications;
  }
  Table candidates;
  candidates.label = "tune";
  candidates.title = fmt::format(
      "Choosing by time-averaged regret x 1000, mean over {} cells ± 95% by Student's t; {} lanes in {} rounds of {} "
      "replications, numbers {} to {}",
      tuning.cells, lanes, tuning.rounds.size(), fmt::join(replications, ", "), kFirstOfChoice, last);
  for (const TuneRace& race : tuning.races) {
    if (race.candidates.size() < 2) continue;
    Table of_race = columns_of({&race, 1}).table();
    candidates.columns = std::move(of_race.columns);
    candidates.rows.push_back({{}, of(race), !candidates.rows.empty()});
    std::move(of_race.rows.begin(), of_race.rows.end(), std::back_inserter(candidates.rows));
  }
  Table winners;
  winners.label = "tuned";
  winners.title = fmt::format(
      "What was chosen, judged by time-averaged regret x 1000 on {} replications that had no part in the choice, "
      "numbers 0 to {}",
      tuning.judged_replications, tuning.judged_replications - 1);
  winners.columns = {"policy",         "choice",       "regret",           "± (95%)",      "when it was chosen",
                     "default values", "their regret", "default - choice", "± of it (95%)"};
  for (const TuneRace& race : tuning.races) {
    const TuneCandidate& winner = race.candidates[race.winner];
    const Estimate judged = race.judged.regret();
    const bool chosen = race.candidates.size() > 1;
    winners.rows.push_back({{of(race), choice_text(winner), number_cell(judged.mean), number_cell(judged.half_width_95),
                             chosen ? number_cell(winner.regret().mean) : Cell("---")}});
    std::vector<Cell>& cells = winners.rows.back().cells;
    if (race.judged_standard.regrets.empty())
      cells.insert(cells.end(), {chosen && race.standard ? "chosen" : "---", "---", "---", "---"});
    else
      cells.insert(cells.end(),
                   {choice_text(race.judged_standard), number_cell(race.judged_standard.regret().mean),
                    number_cell(race.lost.difference.mean), number_cell(race.lost.difference.half_width_95)});
    if (chosen) winners.notes.push_back(fmt::format("{}: {}", of(race), winner_options(race)));
  }
  if (!winners.notes.empty())
    winners.notes.insert(
        winners.notes.begin(),
        "default - choice: of the best default values that the study names, paired over the same replications, with "
        "the interval of Student's t. `pandora run` of the study with these options gives the judged lanes:");
  add_edges(tuning, winners.notes);
  return {candidates, winners};
}

Columns tune_columns(const Tuning& tuning) {
  return columns_of(tuning.races);
}

json tune_json(const Tuning& tuning, const StudyConfig& config) {
  json rounds = json::array(), races = json::array();
  for (const TuneRound& round : tuning.rounds)
    rounds.push_back({{"replications", round.replications}, {"lanes", round.lanes}});
  for (const TuneRace& race : tuning.races) races.push_back(race_json(race));
  return {{"program", program_json()},
          {"study_toml", config.toml()},
          {"first_replication_of_choice", kFirstOfChoice},
          {"rounds", std::move(rounds)},
          {"judged_replications", tuning.judged_replications},
          {"races", std::move(races)}};
}

}  // namespace pandora
