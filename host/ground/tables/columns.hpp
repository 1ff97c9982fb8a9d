// Named columns: a result in full precision, as CSV files, data frames and tables have it.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/ground/statistics/statistics.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora {

/// The entry of a row in one column.
struct Field {
  enum class Kind { text, number, integer, flag };

  std::string column;
  Kind kind = Kind::text;
  std::string text;  ///< the text in CSV; empty: unknown
  double number = std::numeric_limits<double>::quiet_NaN();
  bool in_csv = true, in_frames = true;  ///< whether CSV files and data frames have the column
  std::string title = {};                ///< the column's title in tables; empty: tables do not have it
  Cell cell = {};

  Field(std::string name, std::string content) : column(std::move(name)), text(std::move(content)) {}
  /// NaN and infinite numbers count as unknown.
  Field(std::string name, double value, const char* format = "{:.6f}");
  template <std::integral T>
  Field(std::string name, T value)
      : column(std::move(name)),
        kind(std::same_as<T, bool> ? Kind::flag : Kind::integer),
        text(fmt::format("{}", std::same_as<T, bool> ? value + 0 : value)),
        number(static_cast<double>(value)) {}
  /// A field that only tables have.
  static Field shown_only(std::string title, Cell cell);

  Field& shown(std::string as, int decimals, bool bold = false);
  Field& shown(std::string as, Cell content);
};
using Fields = std::vector<Field>;

/// Appends the mean, the half-width, and the standard error, whose name has standard_error in place of half_width_95.
void append(Fields& row, const std::string& column, const std::string& half_width, const Estimate& estimate,
            const char* format = "{:.6f}");
void append(Fields& row, Fields more);

class Columns {
 public:
  struct Column {
    Field head;  ///< without the entries of a row
    std::vector<std::string> texts = {};
    std::vector<double> numbers = {};
    std::vector<Cell> cells = {};
  };

  /// All rows must have the same columns.
  void add(const Fields& row);
  /// Removes all rows and keeps the columns.
  void drop_rows();

  std::size_t rows() const { return columns_.empty() ? 0 : columns_[0].texts.size(); }
  const std::vector<Column>& columns() const { return columns_; }

  std::string csv() const;
  /// The table without a title.
  Table table() const;

 private:
  std::vector<Column> columns_;
};

/// The columns by name, as for data frames: lists of texts, of booleans, or of numbers with all digits; null for
/// unknown entries.
nlohmann::json columns_json(const Columns& columns);

}  // namespace pandora
