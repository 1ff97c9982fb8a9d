#include <fmt/format.h>

#include "host/outcomes/tables/csv_fields.hpp"
#include "host/outcomes/tables/named_columns.hpp"
#include "host/outcomes/tables/trace_forms.hpp"

namespace pandora {
namespace {

class CsvReader {
 public:
  CsvReader(RecordStream& stream, FilePlace& place, const TraceOptions& options)
      : stream_(stream), place_(place), columns_(place, options, true) {}

  TraceTable read() {
    read_header();
    std::string_view record;
    while (stream_.next(RecordStream::Form::csv, record)) {
      split(record);
      if (fields_.size() != columns_.size())
        place_.refuse_row(fmt::format("has {} fields where the header has {}", fields_.size(), columns_.size()));
      cells_.clear();
      for (const std::string_view field : fields_) {
        cells_.push_back({field.empty() ? CellValue::Kind::missing : CellValue::Kind::text});
        cells_.back().text = field;
      }
      columns_.take(cells_);
    }
    return std::move(columns_).finish();
  }

 private:
  void split(std::string_view record) {
    if (const char* const problem = split_csv(record, fields_, unescaped_)) place_.refuse_row(problem);
  }

  void read_header() {
    std::string_view record;
    place_.row = static_cast<std::uint64_t>(-1);  // so that the header is row 0
    if (!stream_.next(RecordStream::Form::csv, record)) place_.refuse("is empty");
    split(record);
    for (const auto& [separator, name] : {std::pair(';', "semicolons"), std::pair('\t', "tabs")})
      if (fields_.size() == 1 && record.find(separator) != std::string_view::npos)
        place_.refuse(
            fmt::format("its columns are separated by {}; separate them by commas, and write numbers with a "
                        "decimal point, as the to_csv of pandas does",
                        name));
    columns_.name({fields_.begin(), fields_.end()});
  }

  RecordStream& stream_;
  FilePlace& place_;
  NamedColumns columns_;
  std::vector<std::string_view> fields_;
  std::vector<CellValue> cells_;
  std::string unescaped_;
};

}  // namespace

TraceTable read_csv_trace(RecordStream& stream, FilePlace& place, const TraceOptions& options) {
  return CsvReader(stream, place, options).read();
}

}  // namespace pandora
