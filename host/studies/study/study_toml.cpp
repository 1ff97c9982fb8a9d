// StudyConfig::parse() and set(): every value of a file, and a value that an option replaces.
#include "host/studies/study/study_toml.hpp"

#include <simdjson.h>

#include <charconv>
#include <filesystem>

#include "host/studies/study/environment_keys.hpp"
#include "host/studies/study/hyperparameter_keys.hpp"
#include "host/studies/study/toml_text.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using Kind = StudyValue::Kind;

// The file's text at a node, up to the end of the line.
std::string source_text(const std::vector<std::string>& lines, const toml::node& node) {
  const toml::source_region& region = node.source();
  if (region.begin.line == 0 || region.begin.line > lines.size()) return "";
  const std::string& line = lines[region.begin.line - 1];
  const std::size_t begin = std::min<std::size_t>(region.begin.column - 1, line.size());
  const std::size_t end = region.end.line == region.begin.line ? region.end.column - 1 : line.size();
  std::string out = line.substr(begin, end > begin ? end - begin : 0);
  constexpr std::size_t kMost = 60;
  if (out.size() > kMost) out = out.substr(0, kMost - 3) + "...";
  return out;
}

// An integer in any notation: 10000 or 1e4.
std::optional<std::int64_t> integer_of(const toml::node& node) {
  if (const auto integer = node.value_exact<std::int64_t>()) return *integer;
  constexpr double kBeyond = 0x1p63;
  if (const auto number = node.value_exact<double>();
      number && *number >= -kBeyond && *number < kBeyond && *number == std::floor(*number))
    return static_cast<std::int64_t>(*number);
  return std::nullopt;
}

// The text of a value with named words, from a number, a list or an inline table: { law = "geometric", mean = 100 }
// becomes geometric:100, { box_number = 3, at = 100 } becomes box 3:100, and [[1, 2], [3]] becomes 1+2,3.
std::string words_of(const StudyKey& key, const toml::node& node, const std::string& where, char separator = ',') {
  const auto word = [&](const toml::node& one) -> std::string {
    if (const auto text = one.value_exact<std::string>()) return *text;
    if (const auto integer = one.value_exact<std::int64_t>()) return fmt::format("{}", *integer);
    if (const auto number = one.value_exact<double>()) return fmt::format("{}", *number);
    refuse(where, "is not of the right type; give {}", key.type);
  };
  if (const toml::array* const array = node.as_array()) {  // several tables or texts
    std::vector<std::string> items;
    for (const toml::node& item : *array) items.push_back(words_of(key, item, where, '+'));
    return fmt::format("{}", fmt::join(items, std::string(1, separator)));
  }
  const toml::table* const table = node.as_table();
  if (table == nullptr) return word(node);
  std::vector<std::string> words;
  for (const auto& [name, value] : *table)
    if (std::ranges::count(key.fields, std::string(name.str())) == 0)
      refuse(where, "has no {}; give some of {}", std::string(name.str()), fmt::join(key.fields, ", "));
  if (!table->empty() && !table->contains(key.fields[0])) refuse(where, "has no {}; give it too", key.fields[0]);
  for (const std::string& field : key.fields) {
    const toml::node* const value = table->get(field);
    if (value == nullptr) continue;
    std::vector<std::string> items;
    if (const toml::array* const array = value->as_array())
      for (const toml::node& item : *array) items.push_back(word(item));
    else
      items.push_back(word(*value));
    words.push_back(fmt::format("{}{}", field == "box_number" ? "box " : "", fmt::join(items, ",")));
  }
  return fmt::format("{}", fmt::join(words, ":"));
}

void append(const StudyKey& key, const toml::node& node, StudyValue& value) {
  switch (key.kind) {
    case Kind::text:
      if (!key.fields.empty()) return value.texts.push_back(words_of(key, node, value.where));
      [[fallthrough]];
    case Kind::texts:
      if (const auto text = node.value_exact<std::string>()) return value.texts.push_back(*text);
      break;
    case Kind::integer:
    case Kind::integers:
      if (const auto integer = integer_of(node)) return value.integers.push_back(*integer);
      break;
    case Kind::number:
    case Kind::numbers:
      if (const auto integer = node.value_exact<std::int64_t>())
        return value.numbers.push_back(static_cast<double>(*integer));
      if (const auto number = node.value_exact<double>()) return value.numbers.push_back(*number);
      break;
    case Kind::boolean:
      if (const auto boolean = node.value_exact<bool>()) return static_cast<void>(value.boolean = *boolean);
      break;
    case Kind::seed:
      if (const auto integer = integer_of(node); integer && *integer >= 0)
        return static_cast<void>(value.seed = static_cast<std::uint64_t>(*integer));
      if (const auto text = node.value_exact<std::string>()) {
        const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value.seed);
        if (error == std::errc() && !text->empty() && end == text->data() + text->size()) return;
      }
      break;
  }
  refuse(value.where, "is not of the right type; give {}", key.type);
}

StudyValue value_of(const StudyKey& key, const toml::node& node, std::string where) {
  StudyValue value;
  value.kind = key.kind;
  value.where = std::move(where);
  if (!key.is_list()) {
    append(key, node, value);
    return value;
  }
  const toml::array* array = node.as_array();
  if (array == nullptr) refuse(value.where, "is not of the right type; give a {}", key.type);
  for (const toml::node& item : *array) append(key, item, value);
  return value;
}

// A table's path for a file in another folder: relative paths are relative to `base`.
StudyValue with_path(const StudyKey& key, StudyValue value, const fs::path& base) {
  if (key.is_path && !value.texts[0].empty())
    value.texts[0] = fs::absolute(base / value.texts[0]).lexically_normal().string();
  return value;
}

struct Entry {
  std::string key;
  const toml::node* node;
};

void require_length(const std::string& key, const std::string& where) {
  if (key.size() > kLongestKey)
    refuse(where, "a key of {} characters; no key of a study has more than {}", key.size(), kLongestKey);
}

// Every value of the file with its dotted key, and every empty table.
void flatten(const toml::table& table, const std::string& prefix, const std::string& file, std::vector<Entry>& out) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    require_length(key, fmt::format("{}:{}", file, node.source().begin.line));
    const auto has_fields = [inside = in_scenario(key).key] {
      return is_key(inside) && !key_named(inside, "").fields.empty();
    };
    if (const toml::table* inner = node.as_table(); inner != nullptr && !inner->empty() && !has_fields())
      flatten(*inner, key + ".", file, out);
    else
      out.push_back({key, &node});
  }
}

bool is_table_of_keys(const std::string& name) {
  if (name == "vary" || name == "scenario" || name == "environment" ||
      find_environment(environment_in(name + ".")) != nullptr || find_policy(policy_in(name + ".")) != nullptr)
    return true;
  return std::ranges::any_of(general_keys(), [&](const StudyKey& key) { return key.name.starts_with(name + "."); });
}

// Every value of the file, in its order.
std::vector<Entry> entries_of(const toml::table& table, const std::string& name) {
  std::vector<Entry> entries;
  flatten(table, "", name, entries);
  std::ranges::stable_sort(entries, {}, [](const Entry& entry) {
    const toml::source_position& at = entry.node->source().begin;
    return std::pair(at.line, at.column);
  });
  return entries;
}

std::vector<StudyValue> values_to_try(const StudyKey& key, const toml::node& node, const std::string& where) {
  require_varies(key, where);
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) refuse(where, "give a list of the values to try");
  std::vector<StudyValue> values;
  std::set<std::string> seen;
  for (const toml::node& item : *array) {
    values.push_back(value_of(key, item, where));
    if (!seen.insert(values.back().toml()).second)
      refuse(where, "{} is named twice; name each once", values.back().toml());
  }
  return values;
}

}  // namespace

InScenario in_scenario(const std::string& key) {
  constexpr std::string_view kPrefix = "scenario.";
  if (!key.starts_with(kPrefix)) return {std::nullopt, key};
  const std::size_t dot = std::min(key.find('.', kPrefix.size()), key.size());
  return {key.substr(kPrefix.size(), dot - kPrefix.size()), key.substr(std::min(dot + 1, key.size()))};
}

void require_varies(const StudyKey& key, const std::string& where) {
  if (key.is_list() || key.name == "title" || key.name.starts_with("output.") || !key.varies)
    refuse(where, "{} cannot vary; keys of the study with a single value can", key.name);
}

StudyValue value_from_word(const StudyKey& key, const std::string& word, const std::string& where) {
  return value_of(key, *table_of_word(word, where).get("v"), where);
}

StudyConfig StudyConfig::parse(const std::string& text, const std::string& name, bool foreign) {
  const toml::table table = table_of(text, name);
  const std::vector<std::string> lines = split(text, '\n');
  StudyConfig config;
  config.foreign_ = foreign;
  std::set<std::string> given;
  for (const auto& [full, node] : entries_of(table, name)) {
    const std::string where =
        fmt::format("{}:{}: {} = {}", name, node->source().begin.line, full, source_text(lines, *node));
    const InScenario at = in_scenario(full);
    if (at.scenario) config.begin_scenario(*at.scenario, where);
    const bool is_whole = at.scenario && at.key.empty();
    if (node->is_table() && (foreign || is_whole || is_table_of_keys(at.key))) continue;
    if (is_whole) refuse(where, "is no table; write [{}] and the keys that it replaces below it", full);
    if (!given.insert(full).second) refuse(where, "is given twice; give it once");
    if (full.starts_with("vary.")) {
      const StudyKey key = key_named(full.substr(5), where);
      config.varying_.emplace_back(key.name, values_to_try(key, *node, where));
      continue;
    }
    if (foreign && !is_key(at.key)) {
      if (const std::string policy = policy_in(at.key); !policy.empty() && find_policy(policy) == nullptr) continue;
      config.passed_over_.push_back(full);
      continue;
    }
    const StudyKey key = key_named(at.key, where);
    if (at.scenario) require_varies(key, where);
    config.put(full, with_path(key, value_of(key, *node, where), fs::path(name).parent_path()));
  }
  config.refuse_varying();
  (void)config.settings();  // checks ranges and contradictions
  return config;
}

void StudyConfig::set(const std::string& name, const std::string& word, const std::string& given) {
  constexpr std::size_t kMost = 120;
  const std::string where = given.size() > kMost ? given.substr(0, kMost - 3) + "..." : given;
  if (!simdjson::validate_utf8(word)) refuse(where, "is not text in UTF-8");
  require_length(name, where);
  const toml::table table = table_of_word(word, where);
  const toml::node& node = *table.get("v");
  const InScenario at = in_scenario(name);
  const StudyKey key = name == "scenario"
                           ? StudyKey{{"scenario", Kind::texts, "list of names of scenarios", "", ""}, "", {}}
                           : key_named(at.key, where);
  if (at.scenario) {
    require_scenario(*at.scenario, where);
    require_varies(key, where);
  }
  // A seed beyond int64, or a title that is a number, is taken as text although it has no quotes.
  const bool wants_text =
      (key.kind == Kind::text && key.fields.empty()) || (key.kind == Kind::seed && !integer_of(node));
  if (!key.is_list() || node.is_array())
    return assign(name, with_path(key,
                                  wants_text ? value_of(key, toml::value<std::string>{node.value_or(word)}, where)
                                             : value_of(key, node, where),
                                  ""));
  toml::array array;
  for (const std::string& item : split(word.empty() ? "" : word + ",", ','))
    if (key.kind == Kind::texts)
      array.push_back(item);
    else
      table_of_word(item, where).get("v")->visit([&array](const auto& v) { array.push_back(v); });
  assign(name, value_of(key, array, where));
}

}  // namespace pandora
