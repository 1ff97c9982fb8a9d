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
  return std::isnan(number) ? std::string() : fmt::format("{}", number);
}

std::string text_of(const CellValue& value) {
  return value.kind == CellValue::Kind::text ? std::string(value.text) : text_of(value.number + 0.0);
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

// Texts as numbers, if all of them are numbers or words for a missing cell. "inf" is refused later, with the table
// (checked_table).
std::optional<PromptColumn> numeric(const TextColumn& texts) {
  PromptColumn column;
  column.kind = ColumnKind::number;
  column.numbers.reserve(texts.size());
  bool any = false;
  for (std::size_t row = 0; row < texts.size(); ++row) {
    const std::optional<double> number = number_in(texts[row]);
    if (!number && !is_word_for_nothing(texts[row])) return std::nullopt;
    any |= number && !std::isnan(*number);
    column.numbers.push_back(number ? *number + 0.0 : kMissing);
  }
  return any ? std::optional(std::move(column)) : std::nullopt;
}

// The finite numbers in a text such as "[0.5, -1e-3]"; nothing if the text is no such list.
std::optional<std::vector<double>> vector_in(std::string_view text) {
  text = trimmed(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<double> numbers;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::optional<double> number = number_in(text.substr(0, comma));
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers.push_back(*number + 0.0);
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

std::optional<PromptColumn> vectors(const TextColumn& texts) {
  PromptColumn column;
  column.kind = ColumnKind::vector;
  column.length = 0;
  for (std::size_t row = 0; row < texts.size(); ++row) {
    if (trimmed(texts[row]).empty()) {
      column.numbers.insert(column.numbers.end(), column.length, kMissing);
      continue;
    }
    const std::optional<std::vector<double>> vector = vector_in(texts[row]);
    if (vector && column.length == 0) {  // the rows before it are missing
      column.length = vector->size();
      column.numbers.assign(row * column.length, kMissing);
    }
    if (!vector || vector->size() != column.length) return std::nullopt;
    column.numbers.insert(column.numbers.end(), vector->begin(), vector->end());
  }
  return column.length > 0 ? std::optional(std::move(column)) : std::nullopt;
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
  if (known_ && rows > rows_ && kind_ != ColumnKind::text)
    numbers_.insert(numbers_.end(), (rows - rows_) * length_, kMissing);
  for (std::size_t row = rows_; known_ && kind_ == ColumnKind::text && row < rows; ++row) texts_.push_back("");
  rows_ = std::max(rows_, rows);
}

const char* ColumnBuilder::put(std::size_t row, const CellValue& value) {
  if (value.kind == CellValue::Kind::missing) return nullptr;
  const bool is_vector = value.kind == CellValue::Kind::vector;
  if (is_vector && value.vector.empty()) return "is an empty list; give none where nothing is known";
  if (!known_) {
    const std::size_t before = std::max(rows_, row);
    kind_ = is_vector                               ? ColumnKind::vector
            : value.kind == CellValue::Kind::number ? ColumnKind::number
                                                    : ColumnKind::text;
    length_ = is_vector ? value.vector.size() : 1;
    rows_ = 0;
    known_ = true;
    fill(before);
  }
  fill(row);
  if (is_vector != (kind_ == ColumnKind::vector))
    return "is a list of numbers in some rows and something else in others; write it in one way";
  if (is_vector && value.vector.size() != length_) return "has another number of elements than in rows before";
  if (value.kind == CellValue::Kind::text && kind_ == ColumnKind::number) {
    for (const double number : numbers_) texts_.push_back(text_of(number));
    numbers_ = {};
    kind_ = ColumnKind::text;
  }
  if (is_vector)
    for (const double number : value.vector) numbers_.push_back(number + 0.0);
  else if (kind_ == ColumnKind::number)
    numbers_.push_back(value.number + 0.0);
  else
    texts_.push_back(text_of(value));
  rows_ = row + 1;
  return nullptr;
}

bool ColumnBuilder::agrees(std::size_t row, const CellValue& value) const {
  if (value.kind == CellValue::Kind::missing) return true;
  if (!known_ || row >= rows_) return false;
  if (value.kind == CellValue::Kind::vector)
    return kind_ == ColumnKind::vector && value.vector.size() == length_ &&
           std::equal(value.vector.begin(), value.vector.end(), numbers_.begin() + static_cast<long>(row * length_));
  if (kind_ == ColumnKind::vector) return false;
  if (kind_ == ColumnKind::number) return value.kind == CellValue::Kind::number && numbers_[row] == value.number;
  return texts_[row] == text_of(value);
}

PromptColumn ColumnBuilder::finish(std::size_t rows, bool infer) && {
  known_ = true;  // a column without any value has empty texts
  rows_ = texts_.size() + numbers_.size() / length_;
  fill(rows);
  PromptColumn column{std::move(name_), kind_, length_, std::move(numbers_), std::move(texts_)};
  if (!infer || kind_ != ColumnKind::text) return column;
  std::optional<PromptColumn> found = numeric(column.texts);
  if (!found) found = vectors(column.texts);
  if (!found) return column;
  found->name = std::move(column.name);
  return std::move(*found);
}

}  // namespace pandora
