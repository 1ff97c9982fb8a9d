// A column of prompts while its file is read: what its cells say, and of which kind they are.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// What stands in a cell of a file.
struct CellValue {
  enum class Kind { missing, number, text, vector };
  Kind kind = Kind::missing;
  double number = 0;                    ///< finite, unless a file or a caller has another
  std::string_view text = {};           ///< of a text, as it stands in a CSV file, and of a whole number that is a name
  std::span<const double> vector = {};  ///< likewise
};

/// The number that a text spells, blanks around it aside; it may be infinite or NaN.
std::optional<double> number_in(std::string_view text);

/// Whether a text is a word for nothing, as other programs write a missing cell: NA, NaN, None, null, N/A, #N/A, <NA>, -
/// or blanks.
bool is_word_for_nothing(std::string_view text);
/// 1 of True, TRUE, true and yes, 0 of False, FALSE, false and no; nothing of other texts.
std::optional<double> truth_in(std::string_view text);

class ColumnBuilder {
 public:
  explicit ColumnBuilder(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  /// Rows up to the last value that was put.
  std::size_t rows() const { return rows_; }

  /// Values come in the order of rows; rows that are passed over are missing. Numbers and texts together are texts.
  /// Returns nullptr, or why the value cannot stand here: a vector beside what is none, or of another length.
  const char* put(std::size_t row, const CellValue& value);

  /// Whether a row that has a value would have got the same, or none.
  bool agrees(std::size_t row, const CellValue& value) const;

  /// The column for so many rows. `infer`: texts that are all numbers, or all vectors of one length, become those.
  PromptColumn finish(std::size_t rows, bool infer) &&;

 private:
  void fill(std::size_t rows);

  std::string name_;
  bool known_ = false;  // kind_ is what a value said
  PromptColumn::Kind kind_ = PromptColumn::Kind::text;
  std::size_t rows_ = 0, length_ = 1;
  std::vector<double> numbers_;
  TextColumn texts_;
};

}  // namespace pandora
