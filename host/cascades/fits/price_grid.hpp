// Prices that are tried where none is given, and candidates where a bound is given and the price that keeps it must be
// found.
#pragma once

#include "host/cascades/fits/trained_table.hpp"

namespace pandora {

/// Ascending, each twice the one before: from where the dearest model's dollars hardly count to where a prompt's
/// cheapest answer costs as much as the best quality is worth. With two digits, for people read them. {1} where
/// nothing costs.
std::vector<double> price_grid(const TraceTable& table);

/// A positive number with so many digits that count.
double rounded(double x, int digits);

/// Each model alone, and cascades at prices around the one at which thresholds just keep the bound, in the order in
/// which choose() tries them: from the price that keeps it most easily.
std::vector<CascadeCandidate> candidates_by_bound(const TraceTable& table, const CascadeFitSettings& settings);

}  // namespace pandora
