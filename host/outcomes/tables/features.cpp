#include "host/outcomes/tables/features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "host/ground/base/error.hpp"
#include "host/ground/base/nearest.hpp"

namespace pandora {
namespace {

std::string no_column(const TraceTable& table, const std::string& name, std::vector<std::string> names) {
  for (const PromptColumn& column : table.columns) names.push_back(column.name);
  return fmt::format("has no column {} of prompts{}", in_quotes(name), nearest_text(nearest(name, names)));
}

[[noreturn]] void refuse_missing(const TraceTable& table, std::size_t row, const std::string& column) {
  table.refuse("row {}, column {}: is missing, but a raw column needs a value in every row", row + 1,
               in_quotes(column));
}

std::size_t text_size(const std::string& spec) {
  std::size_t size = 0;
  const char *const begin = spec.data() + 5, *const end = spec.data() + spec.size();
  const auto [last, error] = std::from_chars(begin, end, size);
  if (error != std::errc() || last != end || size == 0 || size > kMostTextFeatures)
    throw Error(ExitCode::usage,
                fmt::format("{} is no feature: text:k has k from 1 to {}", in_quotes(spec), kMostTextFeatures));
  return size;
}

// The most frequent values, ascending.
std::vector<std::string> classes_of(const PromptColumn& column, const TraceTable& table) {
  std::map<std::string_view, std::size_t> counts;
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (!column.texts[row].empty()) ++counts[column.texts[row]];
  if (counts.size() == table.rows() && counts.size() > kMostClasses)
    table.refuse(
        "column {} has a different value in every row, so it has no classes; text:k makes features from the prompt's "
        "text",
        in_quotes(column.name));
  std::vector<std::pair<std::string_view, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  sorted.resize(std::min(sorted.size(), kMostClasses));
  std::vector<std::string> classes;
  for (const auto& [value, count] : sorted) classes.emplace_back(value);
  std::sort(classes.begin(), classes.end());
  return classes;
}

// The input from which a source makes its numbers; without numbers they are missing.
struct Input {
  std::string_view text;
  std::span<const double> numbers;
  std::optional<CountedText> counted = {};
};

// A source's column in a table, which may be that of the prompt's text.
const PromptColumn& column_of(const FeatureSource& source, const TraceTable& table) {
  if (source.kind == FeatureKind::text || source.kind == FeatureKind::length) {
    if (table.text_column == TraceTable::kNone)
      table.refuse("has no text of prompts (a column prompt), from which features are made");
    return table.columns[table.text_column];
  }
  const PromptColumn* const column = find_column(table, source.column);
  if (column == nullptr) table.refuse(no_column(table, source.column, {}));
  const bool is_text = column->kind == PromptColumn::Kind::text;
  if (is_text != (source.kind == FeatureKind::classes))
    table.refuse("column {} holds {}, but features need {}", in_quotes(source.column), is_text ? "texts" : "numbers",
                 is_text ? "numbers" : "texts");
  if (!is_text && column->length != source.length)
    table.refuse("column {} holds {} numbers per prompt, but features need {}", in_quotes(source.column),
                 column->length, source.length);
  return *column;
}

Input input_of(const PromptColumn& column, std::size_t row, const CountedRows& counted) {
  if (column.kind == PromptColumn::Kind::text)
    return {column.texts[row], {}, counted.counts ? std::optional(counted[row]) : std::nullopt};
  return {{}, std::span(column.numbers).subspan(row * column.length, column.length)};
}

void measure(const FeatureSource& source, const Input& input, std::span<double> numbers) {
  if (source.kind == FeatureKind::text)
    return input.counted ? source.projection.apply(*input.counted, numbers)
                         : source.projection.apply(input.text, numbers);
  const bool is_number = source.kind != FeatureKind::length && source.kind != FeatureKind::classes;
  std::fill(numbers.begin(), numbers.end(), is_number ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  if (source.kind == FeatureKind::length) {
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };  // starts a character
    numbers[0] = std::log1p(static_cast<double>(std::count_if(input.text.begin(), input.text.end(), begins)));
  } else if (source.kind == FeatureKind::classes) {
    const auto found = std::lower_bound(source.classes.begin(), source.classes.end(), input.text);
    const bool is_class = found != source.classes.end() && *found == input.text;
    numbers[is_class ? static_cast<std::size_t>(found - source.classes.begin()) : source.classes.size()] = 1.0;
  } else {
    std::copy(input.numbers.begin(), input.numbers.end(), numbers.begin());
  }
}

// A prompt's features. `input_of` returns the input of a source by its number; `numbers` is scratch.
template <class InputOf>
void give(const std::vector<FeatureSource>& sources, const std::vector<FeatureColumn>& columns, const InputOf& input_of,
          std::vector<double>& numbers, std::span<double> features) {
  std::size_t measured = sources.size();  // the source whose numbers are in `numbers`
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const FeatureColumn& column = columns[j];
    const FeatureSource& source = sources[column.source];
    if (measured != column.source) {
      numbers.resize(source.length);
      measure(source, input_of(column.source), numbers);
    }
    measured = column.source;
    const double x = numbers[column.index];  // NaN is left only where a raw column lacks a value
    features[j] = source.kind == FeatureKind::raw ? x
                  : std::isnan(x)                 ? 0.0
                                                  : std::clamp((x - column.mean) / column.spread, -1.0, 1.0);
  }
}

Input input_of(const FeatureSource& source, const Prompt& prompt) {
  if (source.kind == FeatureKind::text || source.kind == FeatureKind::length) return {prompt.text, {}};
  const auto refuse = [&source](const std::string& what) {
    throw Error(ExitCode::usage, fmt::format("column {} of the prompt: {}", in_quotes(source.column), what));
  };
  const auto found = prompt.columns.find(source.column);
  if (found == prompt.columns.end() || std::holds_alternative<std::monostate>(found->second)) {
    if (source.kind == FeatureKind::raw) refuse("is missing, but a raw column needs a value in every row");
    return {};
  }
  if (const auto* const text = std::get_if<std::string>(&found->second)) {
    if (source.kind != FeatureKind::classes) refuse("is a text where a number belongs");
    return {*text, {}};
  }
  Input input;
  if (source.kind == FeatureKind::classes) refuse("is a number where a text belongs");
  if (const auto* const number = std::get_if<double>(&found->second)) input.numbers = {number, 1};
  if (const auto* const vector = std::get_if<std::vector<double>>(&found->second)) input.numbers = *vector;
  if (input.numbers.size() != source.length)
    refuse(fmt::format("has {} numbers where {} belong", input.numbers.size(), source.length));
  for (const double number : input.numbers)
    if (!std::isfinite(number)) refuse("is not finite");
  return input;
}

FeatureSource source_of(const std::string& spec, const TraceTable& table) {
  FeatureSource source;
  if (spec.starts_with("text:")) {
    source.kind = FeatureKind::text;
    source.length = text_size(spec);
  } else if (spec == "length") {
    if (find_column(table, spec) != nullptr)
      table.refuse("has a column length, which is also the name of the text's length; give the column another name");
    source.kind = FeatureKind::length;
  } else {
    const bool raw = spec.starts_with("raw:");
    source.column = raw ? spec.substr(4) : spec;
    const PromptColumn* const column = find_column(table, source.column);
    if (column == nullptr)
      table.refuse(no_column(table, source.column, {"length"}) +
                   "; features are text:k, length, raw:COLUMN and columns");
    source.length = column->length;
    source.kind = raw                                          ? FeatureKind::raw
                  : column->kind == PromptColumn::Kind::vector ? FeatureKind::vector
                  : column->kind == PromptColumn::Kind::text   ? FeatureKind::classes
                                                               : FeatureKind::number;
    if (source.kind == FeatureKind::classes) {
      source.classes = classes_of(*column, table);
      source.length = source.classes.size() + 1;
    }
  }
  (void)column_of(source, table);
  return source;
}

// All numbers of source `number` with their scale on these inputs; a spread of 0 means that the number does not vary.
template <class InputOf>
std::vector<FeatureColumn> columns_of(const FeatureSource& source, std::size_t number, std::size_t inputs,
                                      const InputOf& input_of) {
  std::vector<FeatureColumn> columns(source.length);
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = {number, i, 0, 1};
  if (source.kind == FeatureKind::raw) return columns;
  std::vector<double> numbers(source.length), squares(source.length), seen(source.length);
  for (std::size_t i = 0; i < inputs; ++i) {
    measure(source, input_of(i), numbers);
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      if (std::isnan(numbers[j])) continue;
      const double off = numbers[j] - columns[j].mean;  // Welford
      columns[j].mean += off / ++seen[j];
      squares[j] += off * (numbers[j] - columns[j].mean);
    }
  }
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const double deviation = seen[j] > 0 ? std::sqrt(squares[j] / seen[j]) : 0;
    const bool varies = deviation > 1e-12 * std::max(1e-30, std::abs(columns[j].mean));
    columns[j].spread = varies && std::isfinite(kSpreads * deviation) ? kSpreads * deviation : 0;
  }
  return columns;
}

// Fits a projection, and its numbers' scale, to texts. They are counted here if they are not yet.
std::vector<FeatureColumn> fit_texts(FeatureSource& source, std::size_t number, const TextColumn& texts,
                                     const CountedRows& counted, const TextProjection* near) {
  const std::vector<std::size_t> rows = TextProjection::spread(texts.size());
  const TextCounts own = counted.counts == nullptr ? TextCounts::of(texts, rows) : TextCounts();
  const TextCounts& counts = counted.counts == nullptr ? own : *counted.counts;
  std::vector<std::size_t> which;  // of the counted texts
  for (const std::size_t row : rows) which.push_back(counted.counts == nullptr ? which.size() : counted.text_of(row));
  source.projection = TextProjection::fit(counts, which, source.length, near);
  return columns_of(source, number, which.size(), [&](std::size_t i) { return Input{{}, {}, counts[which[i]]}; });
}

}  // namespace

std::string FeatureSource::name(std::size_t index) const {
  constexpr const char* kForms[] = {"text:{1}", "length", "{0}", "{0}={2}", "{0}:{1}", "raw:{0}:{1}"};
  const bool raw_number = kind == FeatureKind::raw && length == 1;
  return fmt::format(fmt::runtime(raw_number ? "raw:{0}" : kForms[static_cast<int>(kind)]), column, index,
                     index < classes.size() ? classes[index] : "(other)");
}

std::vector<std::string> FeatureMap::names() const {
  std::vector<std::string> names;
  for (const FeatureColumn& column : columns_) names.push_back(sources_[column.source].name(column.index));
  return names;
}

std::vector<double> FeatureMap::apply(const TraceTable& table, const CountedRows& counted) const {
  std::vector<double> features(table.rows() * size()), numbers;
  std::vector<const PromptColumn*> bound;
  for (const FeatureSource& source : sources_) bound.push_back(&column_of(source, table));
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto of_row = std::span(features).subspan(row * size(), size());
    const auto input = [&](std::size_t source) { return input_of(*bound[source], row, counted); };
    give(sources_, columns_, input, numbers, of_row);
    for (std::size_t j = 0; j < size(); ++j)
      if (std::isnan(of_row[j])) refuse_missing(table, row, sources_[columns_[j].source].column);
  }
  return features;
}

std::vector<double> FeatureMap::apply(const Prompt& prompt) const {
  std::vector<double> features(size()), numbers;
  const auto input = [&](std::size_t source) { return input_of(sources_[source], prompt); };
  give(sources_, columns_, input, numbers, features);
  return features;
}

FeatureMap FeatureMap::fit(const TraceTable& calibration, const std::vector<std::string>& specs,
                           const CountedRows& counted, const FeatureMap* near) {
  FeatureMap map;
  const TextProjection* start = nullptr;
  for (std::size_t s = 0; near != nullptr && s < near->sources_.size(); ++s)
    if (near->sources_[s].kind == FeatureKind::text) start = &near->sources_[s].projection;
  for (auto spec = specs.begin(); spec != specs.end(); ++spec) {
    const bool is_text = spec->starts_with("text:");
    for (auto before = specs.begin(); before != spec; ++before)
      if (*before == *spec || (is_text && before->starts_with("text:")))
        throw Error(ExitCode::usage, fmt::format("feature {} stands twice", in_quotes(*spec)));
    FeatureSource& source = map.sources_.emplace_back(source_of(*spec, calibration));
    const std::size_t number = map.sources_.size() - 1, before = map.size();
    const PromptColumn& column = column_of(source, calibration);
    const auto input = [&](std::size_t row) { return input_of(column, row, {}); };
    const std::vector<FeatureColumn> all = is_text ? fit_texts(source, number, column.texts, counted, start)
                                                   : columns_of(source, number, calibration.rows(), input);
    std::copy_if(all.begin(), all.end(), std::back_inserter(map.columns_), [](const auto& c) { return c.spread > 0; });
    if (const std::size_t dropped = before + all.size() - map.size(); dropped > 0)
      map.notes_.push_back(dropped == 1 && all.size() == 1
                               ? fmt::format("{} does not vary and is left out", in_quotes(*spec))
                               : fmt::format("{} of the {} numbers of {} do not vary and are left out", dropped,
                                             all.size(), in_quotes(*spec)));
    if (map.size() > kMostFeatures)
      throw Error(ExitCode::usage, fmt::format("more than {} features of a prompt", kMostFeatures));
  }
  for (const FeatureSource& source : map.sources_) {
    if (source.kind != FeatureKind::raw) continue;
    const PromptColumn& column = *find_column(calibration, source.column);
    const auto none = std::ranges::find_if(column.numbers, [](double x) { return std::isnan(x); });
    if (none != column.numbers.end())
      refuse_missing(calibration, static_cast<std::size_t>(none - column.numbers.begin()) / column.length, column.name);
  }
  return map;
}

double logit_of_score(double score) {
  const double p = std::clamp(score, 0.01, 0.99);
  return std::log(p / (1 - p));
}

}  // namespace pandora
