// Prices that are tried where none is given.
#pragma once

#include <vector>

#include "host/traces/trace_table.hpp"

namespace pandora {

/// Ascending, each twice the one before: from where the dearest model's dollars hardly count to where a prompt's
/// cheapest answer costs as much as the best quality is worth. Prices that lie apart by `factor` are asked for where 2
/// is not meant. {1} where nothing costs.
std::vector<double> price_grid(const TraceTable& table, double factor = 2.0);

}  // namespace pandora
