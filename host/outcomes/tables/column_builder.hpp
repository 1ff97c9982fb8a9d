// A column of prompts while its file is read: the values of its cells, and their kind.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// The value of a cell in a file.
struct CellValue {
  enum class Kind { missing, number, text, vector };
  Kind kind = Kind::missing;
  double number = 0;                    ///< finite, unless a file or a caller has another
  std::string_view text = {};           ///< for a text, as in a CSV file, and for a whole number that is a name
  std::span<const double> vector = {};  ///< likewise
};

/// The number that a text spells, with blanks around it ignored; it may be infinite or NaN.
std::optional<double> number_in(std::string_view text);

/// Whether a text stands for a missing cell, as other programs write it: NA, NaN, None, null, N/A, #N/A, <NA>, - or
/// blanks.
bool is_word_for_nothing(std::string_view text);
/// 1 for True, TRUE, true and yes, 0 for False, FALSE, false and no; nothing for other texts.
std::optional<double> truth_in(std::string_view text);

class ColumnBuilder {
 public:
  explicit ColumnBuilder(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  /// The number of rows up to the last value.
  std::size_t rows() const { return texts_.size() + numbers_.size() / length_; }

  /// Adds a value; values come in the order of rows, and rows that are passed over are missing. A column with numbers
  /// and texts becomes texts. Returns nullptr, or the reason why the value is not allowed: a vector among other kinds
  /// of values, or one of another length.
  const char* put(std::size_t row, const CellValue& value);

  /// Whether a row that has a value would have got the same value, or none.
  bool agrees(std::size_t row, const CellValue& value) const;

  /// Makes the column, with that many rows. `infer`: a column of texts that are all numbers, or all vectors of one
  /// length, becomes numbers or vectors.
  PromptColumn finish(std::size_t rows, bool infer) &&;

 private:
  void fill(std::size_t rows);

  std::string name_;
  PromptColumn::Kind kind_ = PromptColumn::Kind::text;  // that of the first value, until there are texts
  std::size_t length_ = 1;
  std::vector<double> numbers_;
  TextColumn texts_;
};

}  // namespace pandora
