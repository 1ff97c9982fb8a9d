// Checks of a table that are possible only when all of it has been read.
#pragma once

#include "host/outcomes/tables/read_trace.hpp"

namespace pandora {

/// Checks a table whose cells may hold kMissingCell. Rows with a missing cell or price are refused or dropped; then
/// prompts that occur twice are refused.
inline constexpr double kAbsentCell = -1.0;   ///< never seen
inline constexpr double kMissingCell = -2.0;  ///< seen without a value
/// `repeats`: a prompt may have several rows.
TraceTable checked_table(TraceTable table, const FilePlace& place, const TraceOptions& options, bool repeats);

}  // namespace pandora
