// The results of tuning as tables.
#pragma once

#include "host/ground/tables/columns.hpp"
#include "host/studies/run/tune.hpp"

namespace pandora {

/// Every candidate with its round, and the winners as they were judged.
std::vector<Table> tune_tables(const Tuning& tuning);

/// One row per candidate; those of winners with the results of the judgement.
Columns tune_columns(const Tuning& tuning);

/// Everything, with the regrets of every replication and the study that was tuned: the content of the file that `--out`
/// names.
nlohmann::json tune_json(const Tuning& tuning, const StudyConfig& config);

}  // namespace pandora
