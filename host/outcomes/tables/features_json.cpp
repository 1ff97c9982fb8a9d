// Features of prompts as JSON, written and read.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/ground/files/sealed_file.hpp"
#include "host/outcomes/tables/features.hpp"

namespace pandora {

namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "pandora features 1";
constexpr const char* kKinds[] = {"text", "length", "number", "classes", "vector", "raw"};
constexpr std::size_t kMembers[] = {5, 1, 2, 3, 3, 3};  // how many members a source of each kind has
constexpr double kMostIdf = 16;                         // 1 + log(1 + kMostFitted) is 11

void require(bool holds, const char* problem) {
  if (!holds) throw Damaged(problem);
}

const Json& member(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) throw Damaged(fmt::format("has features without \"{}\"", name));
  return *found;
}
const Json& array_in(const Json& json, const char* name) {
  const Json& found = member(json, name);
  require(found.is_array(), "has features with a value of another type where a list belongs");
  return found;
}
std::string text_in(const Json& json, const char* name) {
  const Json& found = member(json, name);
  require(found.is_string(), "has features with a value of another type where a text belongs");
  return found.get<std::string>();
}
double number_in(const Json& json, const char* name) {
  const Json& found = member(json, name);
  require(found.is_number() && std::isfinite(found.get<double>()), "has features with a value that is no number");
  return found.get<double>();
}
std::size_t size_in(const Json& json, const char* name, std::size_t most) {
  const Json& found = member(json, name);
  require(found.is_number_unsigned() && found.get<std::uint64_t>() <= most,
          "has features with a size or a position that cannot be");
  return found.get<std::size_t>();
}
std::vector<double> numbers_in(const Json& json, const char* name, std::size_t count, double least, double most) {
  const Json& found = array_in(json, name);
  require(found.size() == count, "has features with too few or too many weights");
  std::vector<double> numbers;
  for (const Json& number : found) {
    require(number.is_number(), "has features with a weight that is no number");
    numbers.push_back(number.get<double>());
    require(numbers.back() >= least && numbers.back() <= most, "has features with a weight that cannot be");
  }
  return numbers;
}

Json written(const FeatureSource& source) {
  Json json = {{"kind", kKinds[static_cast<int>(source.kind)]}};
  if (source.kind != FeatureKind::text && source.kind != FeatureKind::length) json["column"] = source.column;
  if (source.kind == FeatureKind::classes) json["classes"] = source.classes;
  if (source.kind == FeatureKind::vector || source.kind == FeatureKind::raw) json["length"] = source.length;
  if (source.kind == FeatureKind::text)
    json.update({{"bits", source.projection.bits},
                 {"size", source.projection.size},
                 {"idf", source.projection.idf},
                 {"basis", source.projection.basis}});
  return json;
}

FeatureSource read_source(const Json& json) {
  require(json.is_object(), "has features from a source that is no object");
  const std::string kind = text_in(json, "kind");
  const auto* const found = std::find(std::begin(kKinds), std::end(kKinds), kind);
  require(found != std::end(kKinds), "has features of a kind that is not known");
  FeatureSource source;
  source.kind = static_cast<FeatureKind>(found - kKinds);
  if (source.kind == FeatureKind::text) {
    TextProjection& projection = source.projection;
    projection.bits = static_cast<int>(size_in(json, "bits", 16));
    projection.size = source.length = size_in(json, "size", kMostTextFeatures);
    require(projection.bits > 0 && projection.size > 0, "has features of nothing");
    const std::size_t buckets = std::size_t{1} << projection.bits;
    projection.idf = numbers_in(json, "idf", buckets, 1, kMostIdf);
    projection.basis = numbers_in(json, "basis", buckets * projection.size, -1, 1);
  } else if (source.kind != FeatureKind::length) {
    source.column = text_in(json, "column");
  }
  if (source.kind == FeatureKind::vector || source.kind == FeatureKind::raw)
    source.length = size_in(json, "length", std::size_t{1} << 24);
  require(source.length > 0, "has features of nothing");
  if (source.kind == FeatureKind::classes) {
    const Json& classes = array_in(json, "classes");
    require(classes.size() <= kMostClasses, "has features with too many classes");
    for (const Json& value : classes) {
      require(value.is_string(), "has features with a class that is no text");
      source.classes.push_back(value.get<std::string>());
      require(source.classes.size() == 1 || source.classes.end()[-2] < source.classes.back(),
              "has features with classes out of order");
      require(!source.classes.back().empty(), "has features with a class without a name");
    }
    source.length = source.classes.size() + 1;
  }
  require(json.size() == kMembers[found - kKinds], "has features with a member too many");
  return source;
}

FeatureColumn read_column(const Json& json, const std::vector<FeatureSource>& sources, const FeatureColumn* before) {
  require(json.is_object() && json.size() == 5, "has a feature that is none");
  FeatureColumn column;
  column.source = size_in(json, "source", kMostFeatures);
  require(column.source < sources.size(), "has a feature from a source that is not there");
  const FeatureSource& source = sources[column.source];
  column.index = size_in(json, "index", source.length - 1);
  column.mean = number_in(json, "mean");
  column.spread = number_in(json, "spread");
  require(column.spread > 0, "has a feature without a spread");
  if (source.kind == FeatureKind::raw)
    require(column.mean == 0 && column.spread == 1, "has a raw feature with a scale");
  require(text_in(json, "name") == source.name(column.index), "has a feature with a wrong name");
  require(before == nullptr || std::pair(before->source, before->index) < std::pair(column.source, column.index),
          "has features out of order");
  return column;
}

}  // namespace

nlohmann::json FeatureMap::to_json() const {
  nlohmann::json json = {{"format", kFormat},
                         {"sources", nlohmann::json::array()},
                         {"columns", nlohmann::json::array()},
                         {"notes", notes_}};
  for (const FeatureSource& source : sources_) json["sources"].push_back(written(source));
  for (const FeatureColumn& column : columns_)
    json["columns"].push_back({{"name", sources_[column.source].name(column.index)},
                               {"source", column.source},
                               {"index", column.index},
                               {"mean", column.mean},
                               {"spread", column.spread}});
  return json;
}

FeatureMap FeatureMap::from_json(const nlohmann::json& json) {
  require(json.is_object() && json.size() == 4, "is no map of features");
  require(text_in(json, "format") == kFormat, "has features of another version of the format");
  FeatureMap map;
  const nlohmann::json& sources = array_in(json, "sources");
  const nlohmann::json& columns = array_in(json, "columns");
  require(sources.size() <= kMostFeatures && columns.size() <= kMostFeatures, "has too many features");
  for (const nlohmann::json& source : sources) map.sources_.push_back(read_source(source));
  for (const nlohmann::json& column : columns)
    map.columns_.push_back(read_column(column, map.sources_, map.columns_.empty() ? nullptr : &map.columns_.back()));
  for (const nlohmann::json& note : array_in(json, "notes")) {
    require(note.is_string(), "has a note that is no text");
    map.notes_.push_back(note.get<std::string>());
  }
  return map;
}

}  // namespace pandora
