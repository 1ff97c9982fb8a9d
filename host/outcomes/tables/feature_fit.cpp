#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "host/ground/base/error.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/file_place.hpp"

namespace pandora {

class FeatureFit {
 public:
  FeatureFit(const TraceTable& table, FeatureMap& map) : table_(table), map_(map) {}

  void add(const std::string& spec) {
    map_.sources_.push_back(source_of(spec));
    const FeatureMap::Source& source = map_.sources_.back();
    const std::vector<FeatureMap::Column> all = columns_of(source);
    const std::size_t before = map_.columns_.size();
    std::copy_if(all.begin(), all.end(), std::back_inserter(map_.columns_), [](const auto& c) { return c.spread > 0; });
    if (const std::size_t dropped = before + all.size() - map_.columns_.size(); dropped > 0)
      map_.notes_.push_back(dropped == 1 && all.size() == 1
                                ? fmt::format("{} does not vary and is left out", in_quotes(spec))
                                : fmt::format("{} of the {} numbers of {} do not vary and are left out", dropped,
                                              all.size(), in_quotes(spec)));
    if (map_.columns_.size() > kMostFeatures)
      throw Error(ExitCode::usage, fmt::format("more than {} features of a prompt", kMostFeatures));
  }

 private:
  using Kind = FeatureMap::Kind;

  FeatureMap::Source source_of(const std::string& spec) const {
    FeatureMap::Source source;
    if (spec.starts_with("text:")) {
      source.kind = Kind::text;
      source.length = text_size(spec);
    } else if (spec == "length") {
      if (find_column(table_, spec) != nullptr)
        table_.refuse("has a column length, which is also the name of the text's length; give the column another name");
      source.kind = Kind::length;
    } else {
      const bool raw = spec.starts_with("raw:");
      source.column = raw ? spec.substr(4) : spec;
      const PromptColumn* const column = find_column(table_, source.column);
      if (column == nullptr) refuse_column(source.column);
      source.length = column->length;
      if (raw)
        source.kind = Kind::raw;
      else if (column->kind == PromptColumn::Kind::vector)
        source.kind = Kind::vector;
      else if (column->kind == PromptColumn::Kind::text)
        give_classes(source, *column);
    }
    (void)FeatureMap::bind(source, table_);
    if (source.kind == Kind::text)
      source.projection = TextProjection::fit(table_.columns[table_.text_column].texts, source.length);
    return source;
  }

  static std::size_t text_size(const std::string& spec) {
    std::size_t size = 0;
    const char *const begin = spec.data() + 5, *const end = spec.data() + spec.size();
    const auto [last, error] = std::from_chars(begin, end, size);
    if (error != std::errc() || last != end || size == 0 || size > kMostTextFeatures)
      throw Error(ExitCode::usage,
                  fmt::format("{} is no feature: text:k has k from 1 to {}", in_quotes(spec), kMostTextFeatures));
    return size;
  }

  [[noreturn]] void refuse_column(const std::string& name) const {
    std::vector<std::string> names = {"length"};
    for (const PromptColumn& column : table_.columns) names.push_back(column.name);
    table_.refuse(fmt::format("has no column {} of prompts{}; features are text:k, length, raw:COLUMN and columns",
                              in_quotes(name), nearest_text(nearest(name, names))));
  }

  void give_classes(FeatureMap::Source& source, const PromptColumn& column) const {
    source.kind = Kind::classes;
    std::unordered_map<std::string_view, std::size_t> counts;
    for (std::size_t row = 0; row < table_.rows(); ++row)
      if (!column.texts[row].empty()) ++counts[column.texts[row]];
    if (counts.size() == table_.rows() && counts.size() > kMostClasses)
      table_.refuse(
          fmt::format("column {} has another value in every row: no classes can be made of it; text:k makes features "
                      "of the prompt's text",
                      in_quotes(column.name)));
    std::vector<std::pair<std::string_view, std::size_t>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    sorted.resize(std::min(sorted.size(), kMostClasses));
    for (const auto& [value, count] : sorted) source.classes.emplace_back(value);
    std::sort(source.classes.begin(), source.classes.end());
    source.length = source.classes.size() + 1;
  }

  // All numbers of a source with their scale; a spread of 0: it does not vary.
  std::vector<FeatureMap::Column> columns_of(const FeatureMap::Source& source) const {
    std::vector<FeatureMap::Column> columns(source.length);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = {map_.sources_.size() - 1, i, 0, 1};
    if (source.kind == Kind::raw) return columns;
    const FeatureMap::Bound bound = FeatureMap::bind(source, table_);
    // The rows that a projection was fitted on, or all.
    const std::size_t rows = table_.rows(), used = source.kind == Kind::text ? std::min(rows, kMostFitted) : rows;
    std::vector<double> numbers(source.length), squares(source.length), seen(source.length);
    for (std::size_t i = 0; i < used; ++i) {
      FeatureMap::measure(source, bound.input(i * rows / used), numbers);
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

  const TraceTable& table_;
  FeatureMap& map_;
};

FeatureMap FeatureMap::fit(const TraceTable& calibration, const std::vector<std::string>& specs) {
  FeatureMap map;
  FeatureFit fit(calibration, map);
  for (auto spec = specs.begin(); spec != specs.end(); ++spec) {
    const bool is_text = spec->starts_with("text:");
    for (auto before = specs.begin(); before != spec; ++before)
      if (*before == *spec || (is_text && before->starts_with("text:")))
        throw Error(ExitCode::usage, fmt::format("feature {} stands twice", in_quotes(*spec)));
    fit.add(*spec);
  }
  for (const Source& source : map.sources_)
    if (source.kind == Kind::raw) {
      const PromptColumn& column = *find_column(calibration, source.column);
      for (std::size_t i = 0; i < column.numbers.size(); ++i)
        if (std::isnan(column.numbers[i]))
          calibration.refuse(fmt::format("row {}, column {}: is missing, and a raw column must be whole",
                                         i / column.length + 1, in_quotes(column.name)));
    }
  return map;
}

}  // namespace pandora
