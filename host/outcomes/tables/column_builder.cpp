#include "host/outcomes/tables/column_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/ground/base/printable.hpp"

namespace pandora {
namespace {

using ColumnKind = PromptColumn::Kind;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

std::string text_of(double number) {
  return std::isnan(number) ? std::string() : fmt::format("{}", number + 0.0);
}

std::string text_of(const CellValue& value) {
  return value.kind == CellValue::Kind::text ? std::string(value.text) : text_of(value.number);
}

// A vector's numbers, or the number alone.
std::span<const double> numbers_of(const CellValue& value) {
  if (value.kind == CellValue::Kind::number) return {&value.number, 1};
  return value.vector;
}

// A word in lower case without blanks around it; empty for a long text, which would cost time.
std::string small_word(std::string_view text) {
  text = trimmed(text);
  std::string word(text.substr(0, text.size() > 5 ? 0 : text.size()));
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return word;
}

bool is_one_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Makes a column of texts one of numbers or vectors, if all of its texts are that, or are missing. `read` returns
// whether a text is allowed, and adds its numbers to `cell`; there are none if it is missing. Texts stay if all are
// missing. `length`: of a text's numbers; 0: that of the first that is not missing.
template <class Read>
bool convert(PromptColumn& column, PromptColumn::Kind kind, std::size_t length, const Read& read) {
  std::vector<double> numbers, cell;
  numbers.reserve(column.texts.size());
  for (std::size_t row = 0; row < column.texts.size(); ++row) {
    cell.clear();
    if (!read(column.texts[row], cell)) return false;
    if (cell.empty()) cell.assign(length, kMissing);
    if (length == 0 && !cell.empty()) {  // the rows before it are missing
      length = cell.size();
      numbers.assign(row * length, kMissing);
    }
    if (cell.size() != length) return false;
    numbers.insert(numbers.end(), cell.begin(), cell.end());
  }
  if (std::ranges::all_of(numbers, [](double x) { return std::isnan(x); })) return false;
  column = {std::move(column.name), kind, length, std::move(numbers), {}};
  return true;
}

// A number, or a word for a missing cell. "inf" is refused later, with the table (checked_table).
bool read_number(std::string_view text, std::vector<double>& cell) {
  const std::optional<double> number = number_in(text);
  if (number) cell.push_back(*number + 0.0);
  return number || is_word_for_nothing(text);
}

// A list of finite numbers such as "[0.5, -1e-3]", or blanks.
bool read_vector(std::string_view text, std::vector<double>& cell) {
  text = trimmed(text);
  if (text.empty()) return true;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  while (true) {
    const std::size_t comma = text.find(',');
    const std::optional<double> number = number_in(text.substr(0, comma));
    if (!number || !std::isfinite(*number)) return false;
    cell.push_back(*number + 0.0);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<double> number_in(std::string_view text) {
  return number_of(trimmed(text));
}

bool is_word_for_nothing(std::string_view text) {
  return trimmed(text).empty() ||
         is_one_of(small_word(text), {"na", "nan", "none", "null", "n/a", "#n/a", "<na>", "-"});
}

std::optional<double> truth_in(std::string_view text) {
  const std::string word = small_word(text);
  if (is_one_of(word, {"true", "yes"})) return 1.0;
  return is_one_of(word, {"false", "no"}) ? std::optional(0.0) : std::nullopt;
}

void ColumnBuilder::fill(std::size_t rows) {
  while (kind_ == ColumnKind::text && texts_.size() < rows) texts_.push_back("");
  if (kind_ != ColumnKind::text && this->rows() < rows) numbers_.resize(rows * length_, kMissing);
}

const char* ColumnBuilder::put(std::size_t row, const CellValue& value) {
  if (value.kind == CellValue::Kind::missing) return nullptr;
  const bool is_vector = value.kind == CellValue::Kind::vector;
  if (is_vector && value.vector.empty()) return "is an empty list; give none where nothing is known";
  if (rows() == 0) {
    kind_ = is_vector                               ? ColumnKind::vector
            : value.kind == CellValue::Kind::number ? ColumnKind::number
                                                    : ColumnKind::text;
    length_ = is_vector ? value.vector.size() : 1;
  }
  fill(row);
  if (is_vector != (kind_ == ColumnKind::vector))
    return "is a list of numbers in some rows and something else in others; write it in one way";
  if (is_vector && value.vector.size() != length_) return "has another number of elements than in earlier rows";
  if (value.kind == CellValue::Kind::text && kind_ == ColumnKind::number) {
    for (const double number : numbers_) texts_.push_back(text_of(number));
    numbers_ = {};
    kind_ = ColumnKind::text;
  }
  if (kind_ == ColumnKind::text) texts_.push_back(text_of(value));
  for (std::size_t i = 0; kind_ != ColumnKind::text && i < length_; ++i) numbers_.push_back(numbers_of(value)[i] + 0.0);
  return nullptr;
}

bool ColumnBuilder::agrees(std::size_t row, const CellValue& value) const {
  if (value.kind == CellValue::Kind::missing) return true;
  const bool is_vector = value.kind == CellValue::Kind::vector;
  if (row >= rows() || is_vector != (kind_ == ColumnKind::vector)) return false;
  if (kind_ == ColumnKind::text) return texts_[row] == text_of(value);
  return std::ranges::equal(numbers_of(value), std::span(numbers_).subspan(row * length_, length_));
}

PromptColumn ColumnBuilder::finish(std::size_t rows, bool infer) && {
  fill(rows);  // a column without any value has empty texts
  PromptColumn column{std::move(name_), kind_, length_, std::move(numbers_), std::move(texts_)};
  if (infer && kind_ == ColumnKind::text && !convert(column, ColumnKind::number, 1, read_number))
    (void)convert(column, ColumnKind::vector, 0, read_vector);
  return column;
}

}  // namespace pandora
