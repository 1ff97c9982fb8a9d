#include "host/outcomes/tables/read_trace.hpp"

#include <fmt/format.h>

#include "host/outcomes/tables/trace_forms.hpp"

namespace pandora {
namespace {

// Files that people take for tables and that are none, by their first bytes.
void refuse_other_files(const FilePlace& place, std::string_view beginning) {
  const auto begins = [&beginning](std::string_view bytes) { return beginning.starts_with(bytes); };
  if (begins("\x1F\x8B") || begins("PK\x03\x04") || begins("\x28\xB5\x2F\xFD") || begins("BZh") ||
      begins("\xFD"
             "7zXZ"))
    place.refuse("is compressed; decompress it first");
  if (begins("PAR1")) place.refuse("is a Parquet file; convert it to CSV or JSON lines");
  if (begins("\x80\x04") || begins("\x80\x05") || begins("\x80\x03"))
    place.refuse("is a pickle, which is a program and never opened; convert it to CSV or JSON lines");
  if (begins("\xFF\xFE") || begins("\xFE\xFF")) place.refuse("is UTF-16; convert it: iconv -f UTF-16 -t UTF-8");
}

}  // namespace

void refuse_form(const FilePlace& place, std::string_view found) {
  place.refuse(fmt::format(
      "is no table of a form that is known: {}. Known are CSV with a column M of qualities and M|total_cost "
      "for every model M; CSV or JSON lines with prompt_id, model, quality, cost; JSON lines with "
      "\"models\": {{M: {{\"quality\": ..., \"cost\": ...}}}}",
      found));
}

TraceTable read_trace(const std::filesystem::path& path, const TraceOptions& options) {
  FilePlace place(path);
  RecordStream stream(path, options.progress, place);
  const std::string_view beginning = stream.beginning();
  refuse_other_files(place, beginning);
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && (beginning[first] == '{' || beginning[first] == '[');
  return is_json ? read_json_trace(stream, place, options) : read_csv_trace(stream, place, options);
}

}  // namespace pandora
