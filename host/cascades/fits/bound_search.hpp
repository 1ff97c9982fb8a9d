// Candidates where a bound is given and the price that keeps it must be found.
#pragma once

#include <vector>

#include "host/cascades/fits/trained_table.hpp"

namespace pandora {

/// Each model alone, and cascades at prices around the one at which thresholds just keep the bound, in the order in
/// which choose() tries them: from the price that keeps it most easily.
std::vector<CascadeCandidate> candidates_by_bound(const TraceTable& table, const CascadeFitSettings& settings);

}  // namespace pandora
