#include "host/outcomes/tables/features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/ground/base/error.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/outcomes/tables/file_place.hpp"

namespace pandora {
namespace {

double characters_of(std::string_view text) {
  return static_cast<double>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string FeatureMap::name_of(const Source& source, std::size_t index) {
  switch (source.kind) {
    case Kind::text:
      return fmt::format("text:{}", index);
    case Kind::length:
      return "length";
    case Kind::number:
      return source.column;
    case Kind::classes:
      return source.column + "=" + (index < source.classes.size() ? source.classes[index] : "(other)");
    case Kind::vector:
      return fmt::format("{}:{}", source.column, index);
    case Kind::raw:
      return source.length == 1 ? "raw:" + source.column : fmt::format("raw:{}:{}", source.column, index);
  }
  return "";
}

std::vector<std::string> FeatureMap::names() const {
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(name_of(sources_[column.source], column.index));
  return names;
}

FeatureMap::Input FeatureMap::Bound::input(std::size_t row) const {
  if (column == nullptr) return {table->text(row), {}};
  if (column->kind == PromptColumn::Kind::text) return {column->texts[row], {}};
  return {{}, std::span(column->numbers).subspan(row * column->length, column->length)};
}

FeatureMap::Bound FeatureMap::bind(const Source& source, const TraceTable& table) {
  if (source.kind == Kind::text || source.kind == Kind::length) {
    if (table.text_column == TraceTable::kNone)
      table.refuse("has no text of prompts (a column prompt), which features are made of");
    return {nullptr, &table};
  }
  const PromptColumn* const column = find_column(table, source.column);
  std::vector<std::string> names;
  for (const PromptColumn& other : table.columns) names.push_back(other.name);
  if (column == nullptr)
    table.refuse(fmt::format("has no column {} of prompts{}", in_quotes(source.column),
                             nearest_text(nearest(source.column, names))));
  const bool is_text = column->kind == PromptColumn::Kind::text;
  if (is_text != (source.kind == Kind::classes))
    table.refuse(fmt::format("column {} holds {} where features are made of {}", in_quotes(source.column),
                             is_text ? "texts" : "numbers", is_text ? "numbers" : "texts"));
  if (!is_text && column->length != source.length)
    table.refuse(fmt::format("column {} holds {} numbers a prompt where features are made of {}",
                             in_quotes(source.column), column->length, source.length));
  return {column, &table};
}

void FeatureMap::measure(const Source& source, const Input& input, std::span<double> numbers) {
  switch (source.kind) {
    case Kind::text:
      return source.projection.apply(input.text, numbers);
    case Kind::length:
      numbers[0] = std::log1p(characters_of(input.text));
      return;
    case Kind::classes: {
      std::fill(numbers.begin(), numbers.end(), 0.0);
      const auto found = std::lower_bound(source.classes.begin(), source.classes.end(), input.text);
      const bool is_class = found != source.classes.end() && *found == input.text;
      numbers[is_class ? static_cast<std::size_t>(found - source.classes.begin()) : source.classes.size()] = 1.0;
      return;
    }
    default:
      std::fill(numbers.begin(), numbers.end(), std::numeric_limits<double>::quiet_NaN());
      std::copy(input.numbers.begin(), input.numbers.end(), numbers.begin());
  }
}

template <class InputOf>
void FeatureMap::give(const InputOf& input_of, std::vector<double>& numbers, std::span<double> features) const {
  std::size_t measured = sources_.size();  // which source `numbers` are of
  for (std::size_t j = 0; j < size(); ++j) {
    const Column& column = columns_[j];
    const Source& source = sources_[column.source];
    if (measured != column.source) {
      numbers.resize(source.length);
      measure(source, input_of(column.source), numbers);
    }
    measured = column.source;
    const double x = numbers[column.index];  // NaN stays only where a raw column lacks a value
    features[j] = source.kind == Kind::raw ? x
                  : std::isnan(x)          ? 0.0
                                           : std::clamp((x - column.mean) / column.spread, -1.0, 1.0);
  }
}

std::vector<double> FeatureMap::apply(const TraceTable& table, unsigned threads) const {
  std::vector<double> features(table.rows() * size());
  std::vector<Bound> bound;
  for (const Source& source : sources_) bound.push_back(bind(source, table));
  const std::size_t rows = table.rows(),
                    shares = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(1, rows / 256));
  in_parallel(shares, shares, [&](std::size_t k) {
    std::vector<double> numbers;
    for (std::size_t row = rows * k / shares; row < rows * (k + 1) / shares; ++row) {
      const auto of_row = std::span(features).subspan(row * size(), size());
      give([&](std::size_t source) { return bound[source].input(row); }, numbers, of_row);
      for (std::size_t j = 0; j < size(); ++j)
        if (std::isnan(of_row[j]))
          table.refuse(fmt::format("row {}, column {}: is missing, and a raw column must be whole", row + 1,
                                   in_quotes(sources_[columns_[j].source].column)));
    }
  });
  return features;
}

FeatureMap::Input FeatureMap::input_of(const Source& source, const Prompt& prompt) {
  if (source.kind == Kind::text || source.kind == Kind::length) return {prompt.text, {}};
  const auto refuse = [&source](const std::string& what) {
    throw Error(ExitCode::usage, fmt::format("column {} of the prompt: {}", in_quotes(source.column), what));
  };
  const auto found = prompt.columns.find(source.column);
  if (found == prompt.columns.end() || std::holds_alternative<std::monostate>(found->second)) {
    if (source.kind == Kind::raw) refuse("is missing, and a raw column must be whole");
    return {};
  }
  if (const auto* const text = std::get_if<std::string>(&found->second)) {
    if (source.kind != Kind::classes) refuse("is a text where a number belongs");
    return {*text, {}};
  }
  Input input;
  if (source.kind == Kind::classes) refuse("is a number where a text belongs");
  if (const auto* const number = std::get_if<double>(&found->second)) input.numbers = {number, 1};
  if (const auto* const vector = std::get_if<std::vector<double>>(&found->second)) input.numbers = *vector;
  if (input.numbers.size() != source.length)
    refuse(fmt::format("has {} numbers where {} belong", input.numbers.size(), source.length));
  for (const double number : input.numbers)
    if (!std::isfinite(number)) refuse("is not finite");
  return input;
}

std::vector<double> FeatureMap::apply(const Prompt& prompt) const {
  std::vector<double> features(size()), numbers;
  give([&](std::size_t source) { return input_of(sources_[source], prompt); }, numbers, features);
  return features;
}

double logit_of_score(double score) {
  const double p = std::clamp(score, 0.01, 0.99);
  return std::log(p / (1 - p));
}

}  // namespace pandora
