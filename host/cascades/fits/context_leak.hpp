// A context that says what only the outcomes can have told.
#pragma once

#include <string>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// A sentence for each column of the context from whose value alone the best model of a prompt can be told nearly
/// always: for 95% of the prompts, and with a quarter of the misses of naming one model for all, by quality or by
/// utility at the price. Which model a value stands for is counted on four fifths of the rows for the others; ties are
/// all the best.
std::vector<std::string> suspected_leaks(const TraceTable& table, const std::vector<std::string>& context,
                                         double price);

}  // namespace pandora
