// The forms of tables: what read_trace chooses from.
#pragma once

#include <string_view>

#include "host/outcomes/tables/record_stream.hpp"
#include "host/outcomes/tables/table_builder.hpp"

namespace pandora {

/// A CSV file, wide or long by its header.
TraceTable read_csv_trace(RecordStream& stream, FilePlace& place, const TraceOptions& options);

/// A file of an object a line, nested or long by its first.
TraceTable read_json_trace(RecordStream& stream, FilePlace& place, const TraceOptions& options);

/// What forms there are, for refusals of a header that is of none; ends with what was found instead.
[[noreturn]] void refuse_form(const FilePlace& place, std::string_view found);

}  // namespace pandora
