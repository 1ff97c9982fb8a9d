// Where in the file of a table something stands, and refusals that say so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pandora {

/// A value as a message shows it: in quotes, one line, cut at a sensible length.
std::string in_quotes(std::string_view value);

struct FilePlace {
  std::string file;        ///< as it may be printed
  std::uint64_t row = 0;   ///< of the data, counted from 1; 0: the header, or none
  std::uint64_t line = 0;  ///< of the file, counted from 1, where the row begins; 0: rows are of no file

  explicit FilePlace(const std::filesystem::path& path);

  /// Error (bad_data): "FILE: what".
  [[noreturn]] void refuse(const std::string& what) const;
  /// The same of a table of no form that is known; `found`: what is there instead.
  [[noreturn]] void refuse_form(std::string_view found) const;
  /// Error (bad_data): "FILE: row 2 (line 7): what".
  [[noreturn]] void refuse_row(const std::string& what) const;
  /// Error (bad_data): "FILE: row 2 (line 7), column "models > a > cost": what".
  [[noreturn]] void refuse_cell(std::initializer_list<std::string_view> column, const std::string& what) const;
};

}  // namespace pandora
