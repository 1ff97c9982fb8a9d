// Reads a table's file row by row, in pieces, so that memory holds only a few rows.
#pragma once

#include <cstddef>

#include "host/ground/files/inflated_file.hpp"
#include "host/outcomes/tables/read_trace.hpp"

namespace pandora {

/// Returns the result of `body`. An Unreadable becomes an error that names `place`.
template <class Body>
auto readable(const FilePlace& place, const Body& body) {
  try {
    return body();
  } catch (const Unreadable& problem) {
    place.refuse(problem.what());
  }
}

class RecordStream {
 public:
  enum class Form { lines, csv };  ///< in csv a line end within quotes does not end a row
  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

  /// How many bytes after a row may be read, whatever they hold; simdjson does so.
  static constexpr std::size_t kPadding = 64;

  /// `place` follows the rows and must outlive the stream. Throws Error (bad_data) if the file cannot be read or is
  /// larger than kMostTraceFile.
  RecordStream(const std::filesystem::path& path, Progress progress, FilePlace& place);

  /// The first bytes after a byte order mark: the whole file or a mebibyte. Call it only before the first next().
  std::string_view beginning() const { return std::string_view(buffer_).substr(begin_); }

  /// Gets the next row that is not blank, without its line end; false after the last. The row is valid until the next
  /// call. Throws Error (bad_data) if a row is longer than kMostRecord or, in csv, not UTF-8.
  bool next(Form form, std::string_view& record);
  /// Whether that row ends the file without a line end.
  bool is_cut() const { return cut_; }

 private:
  bool read_on();  // false at the file's end
  bool find_end(Form form, std::size_t& end);

  InflatedFile file_;
  Progress progress_;
  FilePlace& place_;
  std::string buffer_;                   // bytes that were read; those from begin_ on are not taken yet
  std::size_t begin_ = 0, scanned_ = 0;  // [begin_, scanned_) does not contain the row's end
  bool in_quotes_ = false, at_end_ = false, cut_ = false;
  std::uint64_t done_ = 0, told_ = 0, lines_ = 0;  // bytes read, bytes of the file at the last progress, lines taken
};

}  // namespace pandora
