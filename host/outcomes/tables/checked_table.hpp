// What can be said of a table only when all of it is there.
#pragma once

#include "host/outcomes/tables/read_trace.hpp"

namespace pandora {

/// What becomes of a table whose cells hold kMissingCell: rows that lack one, or a price, are refused or
/// dropped; then prompts that stand twice are refused.
inline constexpr double kAbsentCell = -1.0;   ///< never seen
inline constexpr double kMissingCell = -2.0;  ///< seen without a value
/// `repeats`: a prompt may stand in several rows.
TraceTable checked_table(TraceTable table, const FilePlace& place, const TraceOptions& options, bool repeats);

}  // namespace pandora
