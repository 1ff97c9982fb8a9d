// What tuning found, as tables.
#pragma once

#include <vector>

#include "host/run/tune.hpp"
#include "host/tables/table.hpp"

namespace pandora {

/// Every candidate with its round, and the winners as they were judged.
std::vector<Table> tune_tables(const Tuning& tuning);

/// One row per candidate, the winners' with what they were judged at.
Table tune_csv(const Tuning& tuning);

}  // namespace pandora
