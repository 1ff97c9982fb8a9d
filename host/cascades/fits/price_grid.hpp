// Prices that are tried where none is given.
#pragma once

#include <vector>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// Ascending, each twice the one before: from where the dearest model's dollars hardly count to where a prompt's
/// cheapest answer costs as much as the best quality is worth. With two digits, for people read them. {1} where
/// nothing costs.
std::vector<double> price_grid(const TraceTable& table);

/// A positive number with so many digits that count.
double rounded(double x, int digits);

}  // namespace pandora
