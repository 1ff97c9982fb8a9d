#include "host/study_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

// toml++ 3.3 asserts what a file may break ("[!]"): without NDEBUG the program would abort, with it clang takes the
// assertion for the truth. Here, the one place that includes it, a broken assertion is a broken file.
namespace {
struct BrokenAssertion : std::runtime_error {
  BrokenAssertion() : std::runtime_error("it has a character where none can be, such as \"[!]\"") {}
};
constexpr void assert_of_toml(bool holds) {
  if (!holds) throw BrokenAssertion();
}
}  // namespace
#if defined(NDEBUG)
#undef NDEBUG
#define PANDORA_NDEBUG
#endif
#define TOML_ASSERT(expression) assert_of_toml(static_cast<bool>(expression))
#include <toml++/toml.h>
#if defined(PANDORA_NDEBUG)
#define NDEBUG
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "host/environments.hpp"
#include "host/policies/cascade_search.hpp"
#include "kernels/error.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw Error(ExitCode::usage, fmt::format("{}: {}", where, problem));
}

// ---- keys -----------------------------------------------------------------------------------------------------------

struct Key {
  std::string name;
  Kind kind = Kind::text;
  std::string type, unit, meaning;
  std::string standard;  // TOML
  bool stays = true;     // it is a part of what results belong to
  std::function<void(Study&, const StudyValue&)> apply;
};

template <class T>
void require_range(const StudyValue& value, T found, T least, T most) {
  if (found < least) refuse(value.where, fmt::format("out of range; give an integer of at least {}", least));
  if (found > most) refuse(value.where, fmt::format("out of range; give an integer of at most {}", most));
}

int count(const StudyValue& value, int least, int most) {
  require_range<std::int64_t>(value, value.integers[0], least, most);
  return static_cast<int>(value.integers[0]);
}

double positive(const StudyValue& value) {
  const double x = value.numbers[0];
  if (!(x > 0.0 && std::isfinite(x))) refuse(value.where, "out of range; give a finite number above 0");
  return x;
}

std::size_t choice(const StudyValue& value, const std::string& found, const std::vector<std::string>& names) {
  const auto at = std::find(names.begin(), names.end(), found);
  if (at == names.end()) refuse(value.where, fmt::format("\"{}\" is unknown; use {}", found, fmt::join(names, ", ")));
  return static_cast<std::size_t>(at - names.begin());
}

template <class T>
void require_distinct(const StudyValue& value, const std::vector<T>& list) {
  if (list.empty()) refuse(value.where, "is empty; name at least one");
  std::set<T> seen;
  for (const T& item : list)
    if (!seen.insert(item).second) refuse(value.where, fmt::format("{} is named twice; name each once", item));
}

constexpr int kMostPeriods = 1000000000;  // rows of a tape are counted in int

Key counter(std::string name, std::string unit, std::string meaning, int least, int most, int standard,
            std::function<void(Study&, int)> set) {
  std::string type = most == std::numeric_limits<int>::max() ? fmt::format("integer, at least {}", least)
                                                             : fmt::format("integer from {} to {}", least, most);
  return {std::move(name),
          Kind::integer,
          std::move(type),
          std::move(unit),
          std::move(meaning),
          fmt::format("{}", standard),
          true,
          [=, set = std::move(set)](Study& s, const StudyValue& v) { set(s, count(v, least, most)); }};
}

const std::vector<std::string> kLaws = {"uniform", "gaussian", "student_t5", "own"};

std::vector<Key> make_general_keys() {
  constexpr int kAny = std::numeric_limits<int>::max();
  std::vector<Key> keys;
  const auto add = [&keys](Key key) { keys.push_back(std::move(key)); };
  add({"title", Kind::text, "text", "", "What the study is about.", "\"\"", true, [](Study&, const StudyValue&) {}});
  add({"seed", Kind::seed, "integer from 0 to 2^64 - 1 (above 2^63 - 1 in quotes)", "", "Seed of all draws.", "1", true,
       [](Study& s, const StudyValue& v) { s.seed = v.seed; }});
  add(counter("replications", "", "R, replications of every cell.", 1, 100000000, kPaperReplications,
              [](Study& s, int n) { s.replications = n; }));
  add(counter("periods", "periods", "T, the horizon.", 1, kMostPeriods, kPaperPeriods,
              [](Study& s, int n) { s.periods = n; }));
  add({"T0", Kind::integers, "list of different integers, at least 0", "periods",
       "T_0, calibration periods before the horizon; a cell for each value.", "[0, 50, 100, 1000]", true,
       [](Study& s, const StudyValue& v) {
         require_distinct(v, v.integers);
         s.T0.clear();
         for (const std::int64_t T0 : v.integers) {
           require_range<std::int64_t>(v, T0, 0, kMostPeriods);
           s.T0.push_back(static_cast<int>(T0));
         }
       }});
  add({"regimes", Kind::texts, "list of A, B", "", "A: context-invariant, B: contextual (Section 6).", "[\"A\", \"B\"]",
       true, [](Study& s, const StudyValue& v) {
         require_distinct(v, v.texts);
         s.regimes.clear();
         for (const std::string& name : v.texts)
           s.regimes.push_back(choice(v, name, {"A", "B"}) == 0 ? Regime::A : Regime::B);
       }});
  add({"environments", Kind::texts, "list of names", "",
       "Laws of the output shocks: uniform, gaussian, student_t5, or the name of an [environment.NAME] below.",
       "[\"uniform\", \"gaussian\", \"student_t5\"]", true,
       [](Study&, const StudyValue& v) { require_distinct(v, v.texts); }});  // resolved with their tables, in study_of
  add({"policies", Kind::texts, "list of names", "",
       "Policies, see `pandora policies`; the empty list means all. The oracle always runs, it is the benchmark.", "[]",
       true, [](Study& s, const StudyValue& v) {
         if (!v.texts.empty()) require_distinct(v, v.texts);
         for (const std::string& name : v.texts)
           if (find_policy(name) == nullptr)
             refuse(v.where, fmt::format("\"{}\" is unknown; `pandora policies` lists the policies", name));
         s.policies = v.texts;
       }});

  add(counter("dimensions.boxes", "boxes", "A.", 1, kMaxBoxes, 3, [](Study& s, int n) { s.dimensions.boxes = n; }));
  add(counter("dimensions.context", "", "d_x, length of the context x.", 1, 10000, 100,
              [](Study& s, int n) { s.dimensions.context = n; }));
  add(counter("dimensions.output", "",
              "d_w, length of an output omega. Other than 100 it needs truncation radii of its own.", 1, 131072, 100,
              [](Study& s, int n) { s.dimensions.output = n; }));
  add(counter("dimensions.reward_features", "", "d, length of the reward features phi.", 1, kMaxRewardFeatures, 10,
              [](Study& s, int n) { s.dimensions.reward_features = n; }));
  add({"dimensions.index_features", Kind::text, "affine or affine_and_squares", "",
       "psi(x) = (1, x), so m = d_x + 1; or (1, x, x^2), so m = 2 d_x + 1.", "\"affine\"", true,
       [](Study& s, const StudyValue& v) {
         s.dimensions.index_features = choice(v, v.texts[0], {"affine", "affine_and_squares"}) == 0
                                           ? IndexFeatures::affine
                                           : IndexFeatures::affine_and_squares;
       }});

  for (const Hyperparameter& h : all_hyperparameters())
    add({"hyperparameters." + h.name, Kind::numbers, "list of different finite numbers", "", h.meaning + ".",
         fmt::format("[{}]", fmt::join(h.grid, ", ")), true, [name = h.name](Study& s, const StudyValue& v) {
           require_distinct(v, v.numbers);
           for (const double x : v.numbers)
             if (!std::isfinite(x)) refuse(v.where, fmt::format("{} is not a finite number", x));
           s.hyperparameters.set(name, v.numbers);
         }});

  add({"estimation.refit", Kind::text, "every_period, every:k, geometric:g or tracking", "",
       "When index estimates are solved (docs/conventions.md).", "\"geometric:1.5\"", true,
       [](Study& s, const StudyValue& v) {
         try {
           s.estimation.refit = RefitSchedule::parse(v.texts[0]);
         } catch (const Error& error) {
           refuse(v.where, error.what());
         }
       }});
  add({"estimation.eta_index", Kind::number, "number above 0", "", "eta_1, ridge of the index fit and of V.", "1", true,
       [](Study& s, const StudyValue& v) { s.estimation.ridge_index = positive(v); }});
  add({"estimation.eta_reward", Kind::number, "number above 0", "", "eta_0, ridge of the reward fit and of Phi.", "1",
       true, [](Study& s, const StudyValue& v) { s.estimation.ridge_reward = positive(v); }});

  add(counter("oracle.samples", "shocks", "M, Monte Carlo shocks behind the oracle's indices.", 1000, kAny,
              kPaperShockSample, [](Study& s, int n) { s.oracle.samples = n; }));
  add({"oracle.grid", Kind::integers, "three integers from 2 to 2001", "nodes",
       "Nodes of the index grid in l, s and cost.", "[61, 21, 61]", true, [](Study& s, const StudyValue& v) {
         if (v.integers.size() != 3) refuse(v.where, "is not a grid; give three integers, nodes in l, s and cost");
         for (const std::int64_t n : v.integers) require_range<std::int64_t>(v, n, 2, 2001);
         s.oracle.grid = {static_cast<int>(v.integers[0]), static_cast<int>(v.integers[1]),
                          static_cast<int>(v.integers[2])};
       }});
  add(counter("oracle.bins", "bins", "Quantile bins of the sample behind the grid; 0 is the whole sample.", 0, kAny,
              OracleOptions{}.bins, [](Study& s, int n) { s.oracle.bins = n; }));
  add(counter("oracle.order_contexts", "contexts", "Contexts per replication in Table 3.", 1, kMostPeriods,
              kPaperOrderContexts, [](Study& s, int n) { s.order_contexts = n; }));

  add({"engine.kind", Kind::text, "blocked or reference", "",
       "blocked: the fast engine; reference: the plain recursion in double.", "\"blocked\"", true,
       [](Study& s, const StudyValue& v) {
         s.engine.kind = choice(v, v.texts[0], {"blocked", "reference"}) == 0 ? EngineSettings::Kind::blocked
                                                                              : EngineSettings::Kind::reference;
       }});
  add({"engine.precision", Kind::text, "single or double", "", "Of the blocked engine.", "\"single\"", true,
       [](Study& s, const StudyValue& v) {
         s.engine.precision = choice(v, v.texts[0], {"single", "double"}) == 0 ? EngineSettings::Precision::fp32
                                                                               : EngineSettings::Precision::fp64;
       }});
  add(counter("engine.block", "periods", "B, periods per block.", 1, 1024, EngineSettings{}.block,
              [](Study& s, int n) { s.engine.block = n; }));
  Key chunk = counter("engine.chunk", "lanes", "Lanes that a thread advances together; changes no number.", 1, 1000000,
                      EngineSettings{}.chunk, [](Study& s, int n) { s.engine.chunk = n; });
  chunk.stays = false;
  add(std::move(chunk));

  const auto flag = [&add](const char* name, const char* meaning, bool standard, bool Study::*member) {
    add({name, Kind::boolean, "true or false", "", meaning, standard ? "true" : "false", true,
         [member](Study& s, const StudyValue& v) { s.*member = v.boolean; }});
  };
  flag("output.regret", "Simulate the policies (Tables 1 and 2).", true, &Study::regret);
  flag("output.order", "The oracle's order statistics (Table 3).", true, &Study::order);
  flag("output.instances", "Keep every replication's parameters (theta, D, costs, ...) in results.h5.", true,
       &Study::instances);
  flag("output.hdf5", "Write results.h5. It is put together in memory (`--plan` says how much).", true, &Study::hdf5);
  return keys;
}

// Made once: policies are registered before anything else.
const std::vector<Key>& general_keys() {
  static const std::vector<Key> keys = make_general_keys();
  return keys;
}

// The keys of [environment.NAME]; their values are put together by environment_of.
std::vector<Key> environment_keys(const std::string& name) {
  const Environment* known = find_environment(name);
  const Environment e = known != nullptr ? *known : Environment{};
  const std::string prefix = "environment." + name + ".";
  const auto none = [](Study&, const StudyValue&) {};
  return {
      {prefix + "law", Kind::text, "uniform, gaussian or student_t5", "", "Law of the iid coordinates of a shock.",
       fmt::format("\"{}\"", kLaws[static_cast<std::size_t>(e.law)]), true, none},
      {prefix + "scale", Kind::number, "number above 0", "", "Factor on the coordinates.",
       fmt::format("{}", e.shock_scale), true, none},
      {prefix + "truncation_radius", Kind::number, "number above 0, or inf", "",
       "Shock vectors outside the ball of this radius are rejected.", fmt::format("{}", e.truncation_radius), true,
       none},
      {prefix + "u", Kind::number, "number from 0 on", "reward",
       "Upper bound of the cost levels c_{0,a} and c_{1,a}; see `pandora calibrate`.", fmt::format("{}", e.cost_level),
       true, none},
      {prefix + "stream", Kind::integer, "integer from 0 to 255", "",
       "Coordinate of the random streams: environments with the same share their draws.",
       fmt::format("{}", static_cast<int>(e.id)), true, none},
  };
}

// The NAME of environment.NAME.key; empty for other keys.
std::string environment_in(const std::string& key) {
  constexpr std::string_view kPrefix = "environment.";
  const std::size_t dot = key.rfind('.');
  return key.starts_with(kPrefix) && dot > kPrefix.size() ? key.substr(kPrefix.size(), dot - kPrefix.size()) : "";
}

std::vector<std::string> names_of_environments() {
  std::vector<std::string> names;
  for (const Environment& environment : known_environments()) names.push_back(environment.name);
  return names;
}

// All keys in the order of the file; environments: those that `values` have something on, or, without values, those
// that are known.
std::vector<Key> all_keys(const std::map<std::string, StudyValue>& values) {
  std::vector<Key> keys = general_keys();
  std::vector<std::string> names;
  if (values.empty()) names = names_of_environments();  // for documentation
  for (const auto& [key, value] : values)
    if (const std::string name = environment_in(key);
        !name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  for (const std::string& name : names)
    for (Key& key : environment_keys(name)) keys.push_back(std::move(key));
  return keys;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

[[noreturn]] void refuse_key(const std::vector<Key>& keys, const std::string& name, const std::string& where) {
  const Key* nearest = nullptr;
  std::size_t least = 0;
  const std::string given = name.substr(0, 200);  // a longer name is near to none
  for (const Key& key : keys) {
    // A right word in the wrong table is nearer than its letters tell.
    const std::string word = key.name.substr(key.name.rfind('.') + 1), its_word = name.substr(name.rfind('.') + 1);
    const bool inside = its_word.size() > 2 && word.find(its_word) != std::string::npos;
    const std::size_t distance = word == its_word ? 0 : inside ? 1 : edit_distance(key.name, given);
    if (nearest == nullptr || distance < least) {
      nearest = &key;
      least = distance;
    }
  }
  refuse(where, fmt::format("unknown key {}; the nearest is {}", name, nearest->name));
}

// The key of that name, or an error with the nearest valid one.
Key key_named(const std::string& name, const std::string& where) {
  const auto find = [&](const std::vector<Key>& keys) {
    const auto at = std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == name; });
    if (at == keys.end()) refuse_key(keys, name, where);
    return *at;
  };
  const std::string environment = environment_in(name);
  return is_plain_name(environment) ? find(environment_keys(environment)) : find(general_keys());
}

// ---- values ---------------------------------------------------------------------------------------------------------

// What the file says at a node, up to the end of the line.
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

void append(const Key& key, const toml::node& node, StudyValue& value) {
  switch (key.kind) {
    case Kind::text:
    case Kind::texts:
      if (const auto text = node.value_exact<std::string>()) return value.texts.push_back(*text);
      break;
    case Kind::integer:
    case Kind::integers:
      if (const auto integer = node.value_exact<std::int64_t>()) return value.integers.push_back(*integer);
      break;
    case Kind::number:
    case Kind::numbers:
      if (const auto integer = node.value_exact<std::int64_t>())
        return value.numbers.push_back(static_cast<double>(*integer));
      if (const auto number = node.value_exact<double>()) return value.numbers.push_back(*number);
      break;
    case Kind::boolean:
      if (const auto boolean = node.value_exact<bool>()) {
        value.boolean = *boolean;
        return;
      }
      break;
    case Kind::seed:
      if (const auto integer = node.value_exact<std::int64_t>(); integer && *integer >= 0) {
        value.seed = static_cast<std::uint64_t>(*integer);
        return;
      }
      if (const auto text = node.value_exact<std::string>()) {
        const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value.seed);
        if (error == std::errc() && !text->empty() && end == text->data() + text->size()) return;
      }
      break;
  }
  refuse(value.where, fmt::format("is not of the right type; give {}", key.type));
}

bool is_list(Kind kind) {
  return kind == Kind::texts || kind == Kind::integers || kind == Kind::numbers;
}

StudyValue value_of(const Key& key, const toml::node& node, std::string where) {
  StudyValue value;
  value.kind = key.kind;
  value.where = std::move(where);
  if (!is_list(key.kind)) {
    append(key, node, value);
    return value;
  }
  const toml::array* array = node.as_array();
  if (array == nullptr) refuse(value.where, fmt::format("is not of the right type; give a {}", key.type));
  for (const toml::node& item : *array) append(key, item, value);
  return value;
}

// The line of the first character that TOML does not have: beyond ASCII outside strings and comments, or a control
// character; 0 if there is none. toml++ 3.3 does not survive all of them.
std::size_t misplaced_character(const std::string& text) {
  std::size_t line = 1;
  std::string quote;  // what ends the string or, "\n", the comment that we are in
  for (std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f) return line;
    if (quote.empty()) {
      if (byte >= 0x80) return line;
      if (c == '#') quote = "\n";
      if (c == '"' || c == '\'') {
        const std::string triple(3, c);
        quote = text.compare(at, 3, triple) == 0 ? triple : std::string(1, c);
        at += quote.size() - 1;
      }
    } else if (c == '\\' && quote[0] == '"') {
      ++at;
      if (at < text.size() && text[at] == '\n') ++line;
      continue;
    } else if (text.compare(at, quote.size(), quote) == 0) {
      at += quote.size() - 1;
      quote.clear();
    } else if (c == '\n' && quote.size() == 1) {
      quote.clear();  // an unfinished string
    }
    if (c == '\n') ++line;
  }
  return 0;
}

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();  // which is strict
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// A word of the command line as TOML; what is no TOML is a text.
toml::table parsed_word(const std::string& word) {
  if (word.find_first_of("\n\r") == std::string::npos && misplaced_character(word) == 0) {
    try {
      toml::table table = toml::parse("v = " + word);
      if (table.size() == 1) return table;
    } catch (const toml::parse_error&) {
    } catch (const BrokenAssertion&) {
    }
  }
  return toml::table{{"v", word}};
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\u{:04X}", byte);
    else
      out += c;
  }
  return out + "\"";
}

// ---- files ----------------------------------------------------------------------------------------------------------

struct Entry {
  std::string key;
  const toml::node* node;
};

// Every value of the file with its dotted key.
void flatten(const toml::table& table, const std::string& prefix, std::vector<Entry>& out) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const toml::table* inner = node.as_table(); inner != nullptr)
      flatten(*inner, key + ".", out);
    else
      out.push_back({key, &node});
  }
}

// ---- studies --------------------------------------------------------------------------------------------------------

using Values = std::map<std::string, StudyValue>;

Environment environment_of(const std::string& name, const Values& values, const Study& study,
                           const StudyValue& environments) {
  const Environment* known = find_environment(name);
  const auto find = [&](const char* key) -> const StudyValue* {
    const auto at = values.find("environment." + name + "." + key);
    return at == values.end() ? nullptr : &at->second;
  };
  Environment environment = known != nullptr ? *known : Environment{};
  environment.name = name;
  const StudyValue *law = find("law"), *scale = find("scale"), *radius = find("truncation_radius"), *u = find("u"),
                   *stream = find("stream");
  if (known == nullptr) {
    if (law == nullptr && u == nullptr && stream == nullptr)
      refuse(environments.where,
             fmt::format("\"{}\" is unknown; use {}, or define it under [environment.{}]", name,
                         fmt::join(names_of_environments(), ", "), is_plain_name(name) ? name : "NAME"));
    for (const auto& [key, value] : {std::pair{"law", law}, std::pair{"u", u}, std::pair{"stream", stream}})
      if (value == nullptr)
        refuse(environments.where,
               fmt::format("environment {} has no {}; set environment.{}.{}", name, key, name, key));
  }
  if (law != nullptr) {
    const auto chosen = static_cast<Law>(choice(*law, law->texts[0], kLaws));
    if (chosen == Law::own && (known == nullptr || known->law != Law::own))
      refuse(law->where, "a law of your own comes with a program that registers it; use uniform, gaussian, student_t5");
    environment.law = chosen;
  }
  if (scale != nullptr) {
    environment.shock_scale = static_cast<float>(positive(*scale));
    if (!(environment.shock_scale > 0.0f && std::isfinite(environment.shock_scale)))
      refuse(scale->where, "out of range; give a number that single precision can hold");
  }
  if (radius != nullptr) {
    if (!(radius->numbers[0] > 0.0)) refuse(radius->where, "out of range; give a number above 0, or inf");
    environment.truncation_radius = static_cast<float>(radius->numbers[0]);
  } else if (study.dimensions.output != Dimensions{}.output && std::isfinite(environment.truncation_radius)) {
    const StudyValue& output = values.at("dimensions.output");
    refuse(output.where, fmt::format("the truncation radius {} of {} belongs to 100 coordinates; set "
                                     "environment.{}.truncation_radius for {}",
                                     environment.truncation_radius, name, name, study.dimensions.output));
  }
  if (u != nullptr) {
    if (!(u->numbers[0] >= 0.0 && std::isfinite(u->numbers[0])))
      refuse(u->where, "out of range; give a finite number from 0 on");
    environment.cost_level = u->numbers[0];
  }
  if (stream != nullptr) {
    require_range<std::int64_t>(*stream, stream->integers[0], 0, 255);
    environment.id = static_cast<std::uint8_t>(stream->integers[0]);
  }
  return environment;
}

Study study_of(const Values& values) {
  Study study;
  for (const Key& key : general_keys()) key.apply(study, values.at(key.name));
  const StudyValue& environments = values.at("environments");
  for (const auto& [key, value] : values) {
    const std::string name = environment_in(key);
    if (!name.empty() && find_environment(name) == nullptr &&
        std::find(environments.texts.begin(), environments.texts.end(), name) == environments.texts.end())
      refuse(value.where, fmt::format("environment {} is none of {} and not named by environments; mend the name", name,
                                      fmt::join(names_of_environments(), ", ")));
  }
  for (const std::string& name : environments.texts)
    study.environments.push_back(environment_of(name, values, study, environments));
  if (!study.regret && !study.order)
    refuse(values.at("output.regret").where, "output.regret and output.order are both false; nothing is left to do");
  for (const Environment& environment : study.environments)
    if (study.order && find_drawer(environment.name))
      refuse(
          values.at("output.order").where,
          fmt::format("Table 3 is about the paper's oracle, and environment {} has code of its own; set output.order "
                      "to false",
                      environment.name));
  const bool searches = std::any_of(study.T0.begin(), study.T0.end(), [](int T0) { return T0 > 0; }) && study.regret &&
                        (study.policies.empty() ||
                         std::find(study.policies.begin(), study.policies.end(), "frugalgpt") != study.policies.end());
  if (searches && cascade_candidates(study.dimensions.boxes) > kMostCascades)
    refuse(values.at("policies").where,
           fmt::format("frugalgpt searches all cascades, too many for {} boxes; name policies without it",
                       study.dimensions.boxes));
  return study;
}

std::string list_text(const std::vector<StudyValue>& values) {
  std::vector<std::string> texts;
  for (const StudyValue& value : values) texts.push_back(value.toml());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace

std::string StudyValue::toml() const {
  const auto list = [](const auto& items, auto&& text) {
    std::vector<std::string> words;
    for (const auto& item : items) words.push_back(text(item));
    return fmt::format("[{}]", fmt::join(words, ", "));
  };
  const auto plain = [](auto x) { return fmt::format("{}", x); };
  switch (kind) {
    case Kind::text:
      return quoted(texts[0]);
    case Kind::integer:
      return plain(integers[0]);
    case Kind::number:
      return plain(numbers[0]);
    case Kind::boolean:
      return boolean ? "true" : "false";
    case Kind::seed:
      return seed >> 63 ? fmt::format("\"{}\"", seed) : plain(seed);
    case Kind::texts:
      return list(texts, quoted);
    case Kind::integers:
      return list(integers, plain);
    default:
      return list(numbers, plain);
  }
}

std::string Setting::label() const {
  std::vector<std::string> parts;
  for (const auto& [key, value] : varied) parts.push_back(key + "=" + value);
  return fmt::format("{}", fmt::join(parts, " "));
}

StudyConfig::StudyConfig() {
  static const Values defaults = [] {
    Values values;
    for (const Key& key : general_keys())
      values[key.name] = value_of(key, *parsed_word(key.standard).get("v"), "default of " + key.name);
    return values;
  }();
  values_ = defaults;
}

void StudyConfig::assign(const std::string& key, StudyValue value) {
  std::erase_if(varying_, [&key](const auto& entry) { return entry.first == key; });
  values_[key] = std::move(value);
}

StudyConfig StudyConfig::parse(const std::string& text, const std::string& name) {
  if (const std::size_t line = misplaced_character(text); line > 0)
    refuse(fmt::format("{}:{}", name, line),
           "not TOML: a control character, or one beyond ASCII outside quotes; mend the line");
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    refuse(fmt::format("{}:{}", name, error.source().begin.line),
           fmt::format("not TOML: {}; mend the line", error.description()));
  } catch (const BrokenAssertion& error) {
    refuse(name, fmt::format("not TOML: {}; mend the file", error.what()));
  }
  std::vector<Entry> entries;
  flatten(table, "", entries);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    const toml::source_position &x = a.node->source().begin, &y = b.node->source().begin;
    return std::pair(x.line, x.column) < std::pair(y.line, y.column);
  });
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  StudyConfig config;
  for (const auto& [full, node] : entries) {
    const std::string where =
        fmt::format("{}:{}: {} = {}", name, node->source().begin.line, full, source_text(lines, *node));
    if (!full.starts_with("vary.")) {
      const Key key = key_named(full, where);
      config.values_[full] = value_of(key, *node, where);
      continue;
    }
    const Key key = key_named(full.substr(5), where);
    if (is_list(key.kind) || key.name == "title" || key.name.starts_with("output."))
      refuse(where, fmt::format("{} cannot vary; keys of the study with a single value can", key.name));
    const toml::array* array = node->as_array();
    if (array == nullptr || array->empty()) refuse(where, "give a list of the values to try");
    std::vector<StudyValue> values;
    std::set<std::string> seen;
    for (const toml::node& item : *array) {
      values.push_back(value_of(key, item, where));
      if (!seen.insert(values.back().toml()).second)
        refuse(where, fmt::format("{} is named twice; name each once", values.back().toml()));
    }
    config.varying_.emplace_back(key.name, std::move(values));
  }
  (void)config.settings();  // values that are out of range or contradict each other
  return config;
}

void StudyConfig::set(const std::string& name, const std::string& word, const std::string& given) {
  constexpr std::size_t kMost = 120;
  const std::string where = given.size() > kMost ? given.substr(0, kMost - 3) + "..." : given;
  if (!is_utf8(word)) refuse(where, "is not text in UTF-8");
  const Key key = key_named(name, where);
  const toml::table table = parsed_word(word);
  const toml::node& node = *table.get("v");
  if (!is_list(key.kind)) {
    const bool wants_text = key.kind == Kind::text || key.kind == Kind::seed;
    if (wants_text && !node.is_string())  // such as a seed beyond int64, or a title that is a number
      return assign(name, value_of(key, toml::value<std::string>{word}, where));
    return assign(name, value_of(key, node, where));
  }
  if (node.is_array()) return assign(name, value_of(key, node, where));
  toml::array array;
  for (std::size_t at = 0; !word.empty() && at <= word.size();) {
    const std::size_t comma = std::min(word.find(',', at), word.size());
    const std::string item = word.substr(at, comma - at);
    if (key.kind == Kind::texts)
      array.push_back(item);
    else
      parsed_word(item).get("v")->visit([&array](const auto& v) { array.push_back(v); });
    at = comma + 1;
  }
  assign(name, value_of(key, array, where));
}

std::vector<Setting> StudyConfig::settings() const {
  std::vector<Setting> out;
  constexpr std::size_t kMostSettings = 10000;
  std::size_t total = 1;
  for (const auto& [key, values] : varying_) {
    total *= values.size();
    if (total > kMostSettings)
      refuse(values[0].where, fmt::format("[vary] gives more than {} settings; split the study", kMostSettings));
  }
  for (std::size_t index = 0; index < total; ++index) {
    Values values = values_;
    Setting setting;
    std::size_t rest = index, block = total;
    for (const auto& [key, choices] : varying_) {
      block /= choices.size();
      const StudyValue& value = choices[rest / block];
      rest %= block;
      values[key] = value;
      setting.varied.emplace_back(key, value.kind == Kind::text ? value.texts[0] : value.toml());
    }
    setting.study = study_of(values);
    out.push_back(std::move(setting));
  }
  return out;
}

std::string StudyConfig::toml() const {
  std::string out, table;
  for (const Key& key : all_keys(values_)) {
    const auto value = values_.find(key.name);
    if (value == values_.end() || !key.stays) continue;  // an environment's: as it is known
    const std::size_t dot = key.name.rfind('.');
    const std::string inside = dot == std::string::npos ? "" : key.name.substr(0, dot);
    if (inside != table) out += fmt::format("\n[{}]\n", table = inside);
    out += fmt::format("{} = {}\n", key.name.substr(dot == std::string::npos ? 0 : dot + 1), value->second.toml());
  }
  if (!varying_.empty()) out += "\n[vary]\n";
  for (const auto& [key, values] : varying_) {
    out += fmt::format("{} = {}\n", key, list_text(values));
  }
  return out;
}

std::map<std::string, std::string> StudyConfig::identity() const {
  std::map<std::string, std::string> out;
  for (const Key& key : all_keys(values_))
    if (const auto value = values_.find(key.name); key.stays && value != values_.end())
      out[key.name] = value->second.toml();
  for (const auto& [key, values] : varying_) {
    out["vary." + key] = list_text(values);
  }
  return out;
}

StudyConfig read_study_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::error_code error;
  if (!file || std::filesystem::is_directory(path, error))
    refuse(path, "cannot be read; name a study's TOML file, such as those in experiments/");
  return StudyConfig::parse(text.str(), path);
}

std::vector<StudyKeyInfo> study_keys() {
  std::vector<StudyKeyInfo> out;
  for (const Key& key : all_keys({})) out.push_back({key.name, key.type, key.unit, key.meaning, key.standard});
  return out;
}

std::string commented_defaults() {
  std::string
      out = "# Every key of a study with its default, which is the paper's study. A file needs only what differs.\n",
      table;
  for (const StudyKeyInfo& key : study_keys()) {
    const std::size_t dot = key.name.rfind('.');
    const std::string inside = dot == std::string::npos ? "" : key.name.substr(0, dot);
    if (inside != table) out += fmt::format("\n[{}]\n", table = inside);
    out += fmt::format("\n# {}\n# {}{}\n{} = {}\n", key.meaning, key.type, key.unit.empty() ? "" : ", in " + key.unit,
                       key.name.substr(dot == std::string::npos ? 0 : dot + 1), key.standard);
  }
  out +=
      "\n# An environment of another name needs law, u and a stream that no other environment has.\n"
      "# [environment.NAME]\n"
      "\n# One study for each combination of values of keys that have a single value:\n"
      "# [vary]\n# periods = [1000, 10000]\n# estimation.refit = [\"geometric:1.5\", \"tracking\"]\n";
  return out;
}

}  // namespace pandora
