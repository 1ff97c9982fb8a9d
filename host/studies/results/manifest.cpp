#include "host/studies/results/manifest.hpp"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "host/ground/files/sealed_file.hpp"
#include "host/studies/results/parts.hpp"

namespace pandora {
namespace {

using nlohmann::json;

json value_json(const StudyValue& value) {
  using Kind = StudyValue::Kind;
  switch (value.kind) {
    case Kind::text:
      return value.texts[0];
    case Kind::seed:
      return value.seed;
    case Kind::integer:
      return value.integers[0];
    case Kind::number:
      return std::isfinite(value.numbers[0]) ? json(value.numbers[0]) : json(value.toml());
    case Kind::boolean:
      return value.boolean;
    case Kind::texts:
      return value.texts;
    case Kind::integers:
      return value.integers;
    default:
      return value.numbers;
  }
}

std::string dump(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace);
}

// The checksum of everything else in the manifest stands in the manifest.
std::string manifest_digest(json manifest) {
  manifest.erase("sha256");
  return sha256(dump(manifest));
}

}  // namespace

std::string manifest_text(json manifest) {
  manifest["sha256"] = manifest_digest(manifest);
  return dump(manifest) + "\n";
}

json parse_manifest(const std::string& text) {
  constexpr int kDeepest = 16;  // the parser itself knows no bound
  json manifest = json::parse(
      text,
      [](int depth, json::parse_event_t, json&) {
        if (depth > kDeepest) throw Damaged("is not a manifest");
        return true;
      },
      false);
  if (manifest.is_discarded()) throw Damaged("is truncated or not JSON");
  if (!manifest.is_object() || !manifest.contains("sha256") || !manifest.contains("identity"))
    throw Damaged("is not a manifest");
  if (manifest["sha256"] != manifest_digest(manifest) || text != dump(manifest) + "\n")
    throw Damaged("its checksum differs");
  (void)identity_in(manifest);
  if (!manifest.value("sessions", json::array()).is_array()) throw Damaged("is not a manifest");
  return manifest;
}

json study_json(const StudyConfig& config) {
  json out = json::object();
  for (const auto& [key, value] : config.values()) {
    json* at = &out;
    std::size_t begin = 0;
    for (std::size_t dot; (dot = key.find('.', begin)) != std::string::npos; begin = dot + 1)
      at = &*at->emplace(key.substr(begin, dot - begin), json::object()).first;
    (*at)[key.substr(begin)] = value_json(value);
  }
  json vary = json::object();
  for (const auto& [key, values] : config.varying()) {
    json list = json::array();
    for (const StudyValue& value : values) list.push_back(value_json(value));
    vary[key] = std::move(list);
  }
  if (!vary.empty()) out["vary"] = std::move(vary);
  return out;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace pandora
