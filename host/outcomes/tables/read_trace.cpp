#include "host/outcomes/tables/read_trace.hpp"

#include <algorithm>

#include "host/outcomes/tables/json_rows.hpp"
#include "host/outcomes/tables/named_columns.hpp"
#include "host/outcomes/tables/record_stream.hpp"

namespace pandora {
namespace {

// Reads a CSV file. The header tells whether it is wide or long, and whether commas, semicolons or tabs separate
// fields.
class CsvReader {
 public:
  CsvReader(RecordStream& stream, FilePlace& place, const TraceOptions& options)
      : stream_(stream), place_(place), columns_(place, options, true) {}

  TraceTable read() {
    read_header();
    std::string_view record;
    while (stream_.next(RecordStream::Form::csv, record)) {
      split(record);
      if (cells_.size() != columns_.size())
        place_.refuse_row("has {} fields where the header has {}", cells_.size(), columns_.size());
      columns_.take(cells_);
    }
    return std::move(columns_).finish();
  }

 private:
  // Splits a row into its cells (RFC 4180, with any separator), without their quotes. A field that begins with a quote
  // ends with one, and two quotes inside stand for one; other fields hold no quote and no carriage return. Fields stay
  // valid as long as `record`, until the next call.
  void split(std::string_view record) {
    cells_.clear();
    unescaped_.clear();
    unescaped_.reserve(record.size());  // views into it must stay valid
    for (std::size_t at = 0;; ++at) {   // a field follows every separator, even if it is empty
      std::string_view field;
      if (at < record.size() && record[at] == '"') {
        field = quoted_field(record, at);
        if (at < record.size() && record[at] != separator_)
          place_.refuse_row(
              "something stands between a closing quote and the next {}; a quote inside a field is written twice",
              separator_ == ','    ? "comma"
              : separator_ == ';'  ? "semicolon"
              : separator_ == '\t' ? "tab"
                                   : "separator");
      } else {
        field = record.substr(at, record.find(separator_, at) - at);
        if (field.find('"') != std::string_view::npos)
          place_.refuse_row(
              "a quote stands inside a field that does not begin with one; such a field is put in quotes, and its "
              "quotes are written twice");
        if (field.find('\r') != std::string_view::npos)
          place_.refuse_row("a carriage return stands outside quotes; lines end with a line feed");
        at += field.size();
      }
      cells_.push_back({field.empty() ? CellValue::Kind::missing : CellValue::Kind::text, 0.0, field, {}});
      if (at == record.size()) return;
    }
  }

  // The quoted field that begins at record[at]; moves `at` behind it.
  std::string_view quoted_field(std::string_view record, std::size_t& at) {
    const std::size_t start = unescaped_.size();
    for (std::size_t from = at + 1;; from = at + 1) {
      const std::size_t quote = record.find('"', from);
      if (quote == std::string_view::npos) place_.refuse_row("a quote that is opened is not closed");
      at = quote + 1;
      const bool doubled = at < record.size() && record[at] == '"';
      if (!doubled && unescaped_.size() == start) return record.substr(from, quote - from);
      unescaped_ += record.substr(from, (doubled ? at : quote) - from);
      if (!doubled) return std::string_view(unescaped_).substr(start);
    }
  }

  // Chooses the separator that is most frequent between the quotes of the header; commas if that is unclear.
  void choose_separator(std::string_view header) {
    std::size_t most = 0;
    for (const char separator : {',', ';', '\t'}) {
      std::size_t count = 0;
      bool quoted = false;
      for (const char c : header) {
        quoted ^= c == '"';
        count += c == separator && !quoted;
      }
      if (count <= most) continue;
      most = count;
      separator_ = separator;
    }
  }

  void read_header() {
    constexpr std::string_view kSeparator = "sep=";  // spreadsheets may state the separator in a first line
    const auto take_line = [this](std::string_view& record) {
      place_.row = static_cast<std::uint64_t>(-1);  // so that the header is row 0
      if (!stream_.next(RecordStream::Form::csv, record)) place_.refuse("is empty");
    };
    std::string_view record;
    take_line(record);
    if (record.size() == kSeparator.size() + 1 && record.starts_with(kSeparator)) {
      separator_ = record.back();
      take_line(record);
    } else {
      choose_separator(record);
    }
    split(record);
    std::vector<std::string> names;
    for (const CellValue& cell : cells_) names.emplace_back(cell.text);
    columns_.name(std::move(names));
  }

  RecordStream& stream_;
  FilePlace& place_;
  NamedColumns columns_;
  char separator_ = ',';
  std::vector<CellValue> cells_;
  std::string unescaped_;
};

// Refuses files that people mistake for tables, recognised by their first bytes.
void refuse_other_files(const FilePlace& place, std::string_view beginning) {
  const auto begins = [&](std::initializer_list<std::string_view> marks) {
    return std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) { return beginning.starts_with(mark); });
  };
  if (begins({"PK\x03\x04", "\x28\xB5\x2F\xFD", "BZh",
              "\xFD"
              "7zXZ"}))
    place.refuse("is compressed, but not by gzip, which can be read; decompress it first");
  if (begins({"PAR1"})) place.refuse("is a Parquet file; convert it to CSV or JSON lines");
  if (begins({"\x80\x04", "\x80\x05", "\x80\x03"}))
    place.refuse("is a pickle, which may run any code and is never opened; convert it to CSV or JSON lines");
  if (begins({"\xFF\xFE", "\xFE\xFF"})) place.refuse("is UTF-16; convert it: iconv -f UTF-16 -t UTF-8");
}

}  // namespace

TraceTable read_trace(const std::filesystem::path& path, const TraceOptions& options) {
  FilePlace place(path);
  if (std::filesystem::is_directory(path)) return read_trace_folder(path, options);
  RecordStream stream(path, options.progress, place);
  const std::string_view beginning = stream.beginning();
  refuse_other_files(place, beginning);
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && (beginning[first] == '{' || beginning[first] == '[');
  if (!is_json) return CsvReader(stream, place, options).read();
  if (beginning[first] == '[') return read_trace_folder(path, options);
  TableBuilder builder(place, options, false);
  DecisionRows decisions(place, builder);
  JsonRows(place, builder, decisions).take_lines(stream);
  decisions.finish();
  return std::move(builder).finish();
}

}  // namespace pandora
