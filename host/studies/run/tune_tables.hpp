// What tuning found, as tables.
#pragma once

#include "host/ground/tables/columns.hpp"
#include "host/studies/run/tune.hpp"

namespace pandora {

/// Every candidate with its round, and the winners as they were judged.
std::vector<Table> tune_tables(const Tuning& tuning);

/// One row per candidate, the winners' with what they were judged at.
Columns tune_columns(const Tuning& tuning);

/// Options of `pandora run` that make a study of the race's winner.
std::string winner_options(const TuneRace& race);

/// All of it, with the regrets of every replication and the study that was tuned: what `--out` keeps.
nlohmann::json tune_json(const Tuning& tuning, const StudyConfig& config);

}  // namespace pandora
