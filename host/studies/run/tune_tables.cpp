#include "host/studies/run/tune_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "host/ground/base/split.hpp"
#include "host/ground/tables/table.hpp"
#include "host/studies/results/edge_note.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/study/hyperparameter_values.hpp"

namespace pandora {
namespace {

std::string of(const TuneRace& race) {
  return fmt::format("{}, {}", race.policy, race.reward);
}

std::string choice_text(const TuneCandidate& candidate) {
  return candidate.varied + (candidate.varied.empty() || candidate.hyperparameter.empty() ? "" : " ") +
         candidate.hyperparameter;
}

// Which winners are at an end of what was tried.
void add_edges(const Tuning& tuning, std::vector<std::string>& notes) {
  const auto values = [](const TuneCandidate& candidate) {  // NAME=VALUE;NAME=VALUE
    std::string text = choice_text(candidate);
    std::replace(text.begin(), text.end(), ' ', ';');
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

// The last to stay first, then by regret.
std::vector<const TuneCandidate*> in_order(const TuneRace& race) {
  const auto stayed = [](const TuneCandidate* c) { return c->out == 0 ? std::numeric_limits<int>::max() : c->out; };
  std::vector<const TuneCandidate*> order;
  for (const TuneCandidate& candidate : race.candidates) order.push_back(&candidate);
  std::stable_sort(order.begin(), order.end(), [&](const TuneCandidate* a, const TuneCandidate* b) {
    return stayed(a) != stayed(b) ? stayed(a) > stayed(b) : better(*a, *b);
  });
  return order;
}

Cell number_cell(double value, bool bold = false) {
  return exact_cell(number_text(value, 3), value, bold);
}

}  // namespace

std::string winner_options(const TuneRace& race) {
  std::string text = "--policy " + race.policy;
  const TuneCandidate& winner = race.candidates[race.winner];
  for (const std::string& pair : split(winner.varied, ' '))
    if (!pair.empty()) text += " --set " + shell_word(pair);
  for (const auto& [name, value] : hyperparameter_values(winner.hyperparameter))
    text += fmt::format(" --set hyperparameters.{}={}", name, value);
  return text;
}

namespace {

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
                 lost = judged == &race.judged_standard ? race.lost.difference : Estimate{kUnknown, kUnknown};
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

Columns columns_of(const TuneRace& race) {
  Columns out;
  for (const TuneCandidate* c : in_order(race)) out.add(fields_of(race, *c));
  return out;
}

}  // namespace

std::vector<Table> tune_tables(const Tuning& tuning) {
  std::vector<int> replications;
  std::size_t lanes = 0;
  int last = static_cast<int>(tuning.first_replication) - 1;
  for (const TuneRound& round : tuning.rounds) {
    replications.push_back(round.replications);
    lanes += round.lanes;
    last += round.replications;
  }
  Table candidates;
  candidates.label = "tune";
  candidates.title = fmt::format(
      "Choosing by time-averaged regret x 1000, mean over {} cells ± 1.96 standard errors; {} lanes in {} rounds of {} "
      "replications, numbers {} to {}",
      tuning.cells, lanes, tuning.rounds.size(), fmt::join(replications, ", "), tuning.first_replication, last);
  for (const TuneRace& race : tuning.races) {
    if (race.candidates.size() < 2) continue;
    Table of_race = columns_of(race).table();
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
    if (!race.judged_standard.regrets.empty())
      cells.insert(cells.end(),
                   {choice_text(race.judged_standard), number_cell(race.judged_standard.regret().mean),
                    number_cell(race.lost.difference.mean), number_cell(race.lost.difference.half_width_95)});
    else
      cells.insert(cells.end(),
                   {Cell(chosen && race.standard ? "chosen" : "---"), Cell("---"), Cell("---"), Cell("---")});
    if (chosen) winners.notes.push_back(fmt::format("{}: {}", of(race), winner_options(race)));
  }
  if (!winners.notes.empty())
    winners.notes.insert(winners.notes.begin(),
                         "default - choice: of the best default values that the study names, paired over the same "
                         "replications, with the interval of Student's t. `pandora run` of the study with these "
                         "options gives the judged lanes:");
  add_edges(tuning, winners.notes);
  return {candidates, winners};
}

Columns tune_columns(const Tuning& tuning) {
  Columns out;
  for (const TuneRace& race : tuning.races)
    for (const TuneCandidate* c : in_order(race)) out.add(fields_of(race, *c));
  return out;
}

}  // namespace pandora
