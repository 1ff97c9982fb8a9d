#include "host/outcomes/tables/file_place.hpp"

#include <fmt/format.h>

#include "host/ground/base/error.hpp"
#include "host/ground/base/printable.hpp"

namespace pandora {
namespace {

std::string row_text(const FilePlace& place) {
  return place.row == 0    ? "the header"
         : place.line == 0 ? fmt::format("row {}", place.row)
                           : fmt::format("row {} (line {})", place.row, place.line);
}

}  // namespace

std::string in_quotes(std::string_view value) {
  return '"' + printable(value, 80) + '"';
}

FilePlace::FilePlace(const std::filesystem::path& path) : file(printable(path.string())) {}

void FilePlace::refuse(const std::string& what) const {
  // Names of the caller's may hold U+0000, which would end what().
  throw Error(ExitCode::bad_data, fmt::format("{}: {}", file, printable(what, what.size())));
}

void FilePlace::refuse_form(std::string_view found) const {
  refuse(fmt::format(
      "is no table of a form that is known: {}. Known are CSV with a column M of qualities and M|total_cost "
      "for every model M; CSV or JSON lines with prompt_id, model, quality, cost; JSON lines with "
      "\"models\": {{M: {{\"quality\": ..., \"cost\": ...}}}}",
      found));
}

void FilePlace::refuse_row(const std::string& what) const {
  refuse(fmt::format("{}: {}", row_text(*this), what));
}

void FilePlace::refuse_cell(std::initializer_list<std::string_view> column, const std::string& what) const {
  std::string name;
  for (const std::string_view part : column) name.append(name.empty() ? "" : " > ").append(part);
  refuse(fmt::format("{}, column {}: {}", row_text(*this), in_quotes(name), what));
}

}  // namespace pandora
