// Defines the keys of environments: of the paper's model, and of tables of outcomes.
#include "host/studies/study/environment_keys.hpp"

#include "host/lanes/model/box_changes.hpp"
#include "host/lanes/model/drift.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/outcomes/tables/read_trace.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;
using Options = KeyList<Environment>;

const TraceKeys& keys_of(const Environment& environment) {
  static const TraceKeys none;
  const TraceKeys* const keys = trace_keys(environment);
  return keys == nullptr ? none : *keys;
}
// A copy of the keys that may be changed; environments that share keys keep the old ones.
TraceKeys& keys_of(Environment& environment) {
  const auto own = std::make_shared<TraceKeys>(keys_of(std::as_const(environment)));
  environment.trace = own;
  return *own;
}

void add_law(Options& all) {
  KeyOf<Environment>& law = all.word("law", "Law of the iid coordinates of a shock.",
                                     {"uniform", "gaussian", "student_t5", "custom"}, &Environment::law);
  law.type = "uniform, gaussian or student_t5";
  law.set = [set = law.set](Environment& e, const StudyValue& v) {
    const Law known = e.law;
    set(e, v);
    if (e.law == Law::custom && known != Law::custom)
      refuse(v.where, "a law of your own comes with a program that registers it; use uniform, gaussian, student_t5");
  };
  all.number("scale", "", "Factor on the coordinates.",
             {"number from 1e-06 to 100; of a table give ranges", [](double x) { return x >= 1e-6f && x <= 100.0; },
              "a number from 1e-06 to 100"},
             &Environment::shock_scale);
  all.number("truncation_radius", "", "Shock vectors outside the ball of this radius are rejected.",
             {"number above 0, or inf", [](double x) { return x > 0.0; }}, &Environment::truncation_radius);
}

// Adds the keys for changes of boxes: drift, and which boxes come or go, and when.
void add_changes(Options& all) {
  all.words(
      "drift", "swap:PERIODS, step:PERIODS:SHARE or walk:SPEED; of a table MODEL:FACTOR", "",
      "How the boxes' parameters change from given online periods on (docs/scenarios.md#drift). For a table, every "
      "online prompt comes twice, in the second half of the horizon with the model's quality times the factor, a "
      "number in [0, 1]; empty: no change.",
      {"kind", "at", "share", "speed"},
      [](const Environment& e) { return e.trace != nullptr ? keys_of(e).drift : drift_text(e.drift); },
      [](Environment& e, const std::string& text) {
        if (e.trace == nullptr) {
          e.drift = parse_drift(text);
          return;
        }
        (void)drift_of(text);
        keys_of(e).drift = text;
      });
  const auto changes = [&all](const char* name, const char* meaning, std::vector<BoxChange> Environment::*member) {
    all.words(
        name, "box NUMBER:PERIOD, more than one with commas between", "", meaning, {"box_number", "at"},
        [=](const Environment& e) { return box_changes_text(e.*member); },
        [=](Environment& e, const std::string& text) { e.*member = parse_box_changes(text); });
  };
  changes("arrives", "Boxes, counted from 1, that are there from an online period on (docs/scenarios.md#boxes).",
          &Environment::arrives);
  changes("leaves", "Boxes that are not there from an online period on.", &Environment::leaves);
}

Options options_of_model() {
  Options all;
  add_law(all);
  all.number("u", "reward", "Upper bound of the cost levels c_{0,a} and c_{1,a}; see `pandora calibrate`.",
             from_to(0, 1e6), &Environment::cost_level);
  all.word("slopes",
           "Coefficients of regime B: entries U[0, 1] (the paper's), entries on each box's own coordinates, or U[-1, "
           "1].",
           {"common", "unrelated", "random_sign"}, &Environment::slopes);
  all.word("reward_link", "G of mu*; policies that learn rewards assume the logistic one.",
           {"logistic", "algebraic", "linear"}, &Environment::reward_link);
  all.number("cost_tail", "",
             "alpha of a Pareto factor with mean 1 on every cost (infinite variance up to 2); inf: none.",
             {"number above 1, or inf", [](double x) { return x > 1.0; }}, &Environment::cost_tail);
  all.number("correlation", "",
             "Correlation of the normals behind the shocks of two boxes in one period; each box keeps its law "
             "(docs/scenarios.md#dependence).",
             {"number from 0 to below 1", [](double r) { return r >= 0.0 && r < 1.0; }}, &Environment::correlation);
  add_changes(all);
  all.word("location",
           "Q of phi = Q x + D omega in regime B: one of all boxes (the paper's), none (Q = 0), or one of each box's "
           "own.",
           {"common", "none", "own"}, &Environment::location);
  all.word("indices",
           "Costs are drawn and indices follow (the paper's); or tanh(rho_a' psi(x)) is drawn as the index and costs "
           "follow.",
           {"of_costs", "linear"}, &Environment::indices);
  all.word("output_costs",
           "beta_{1,a} of regime B: positive (the paper's), with which costs hardly depend on outputs; or entries that "
           "sum to 0, with which they do.",
           {"paper", "centred"}, &Environment::output_costs);
  all.word("output_scales",
           "s_a of regime B: 0.5 + G(alpha_a' x) (the paper's), or 1, with which an output's law does not depend on x.",
           {"contextual", "constant"}, &Environment::output_scales);
  all.integer("stream", "", "Coordinate of the random streams: environments with the same share their draws.", 0, 255,
              &Environment::id);
  return all;
}

// The keys of tables of outcomes.
class TableOptions : public KeyList<TraceKeys> {
 public:
  void text(const char* name, const char* type, const char* meaning, std::string TraceKeys::*member,
            void (*check)(const StudyValue&) = nullptr) {
    add(
        {name, Kind::text, type, "", meaning}, [=](const TraceKeys& t) { return toml_of(t.*member); },
        [=](TraceKeys& t, const StudyValue& v) {
          if (check != nullptr) check(v);
          t.*member = v.texts[0];
        });
  }

  void list(const char* name, const char* meaning, std::vector<std::string> TraceKeys::*member,
            const char* range = nullptr) {
    add(
        {name, Kind::texts, range == nullptr ? "list of names" : range, "", meaning},
        [=](const TraceKeys& t) { return toml_of(t.*member); },
        [=](TraceKeys& t, const StudyValue& v) {
          for (const std::string& text : v.texts)
            if (range != nullptr && !range_of(text)) refuse(v.where, "{} is none; give {}", in_quotes(text), range);
          t.*member = v.texts;
        });
  }
};

void add_reading(TableOptions& all) {
  all.text("table", "path",
           "A table of outcomes (docs/traces.md) in place of the paper's model; a relative path is relative to the "
           "study's file.",
           &TraceKeys::table);
  all.text(
      "laws", "path",
      "Boxes with finite laws (docs/game.md) in place of the paper's model: a file as of `pandora oracle exact`, of "
      "which the laws and costs count.",
      &TraceKeys::laws);
  all.text("laws_text", "TOML", "What counts in `laws`; a run fills it in.", &TraceKeys::laws_text);
  all.text("online", "path", "A second table that the policies run on; the first is then all for calibration.",
           &TraceKeys::online);
  all.number("split", "",
             "Share of the prompts for calibration where there is no second table, by a digest of the prompt.",
             kBetween0And1, &TraceKeys::split);
  all.text("part", "name of a column", "Column with \"calibration\" or \"online\" in place of `split`.",
           &TraceKeys::part);
  all.list("models", "Models, in order; empty: all of the table, at most 16.", &TraceKeys::models);
  all.list("ranges", "The ranges of the table's qualities or of a judge's scores, if not [0, 1].", &TraceKeys::ranges,
           "list of NAME=LOW:HIGH, such as score=1:5");
  all.list("prices", "Dollars per million tokens in and out, for answers that have tokens and no cost.",
           &TraceKeys::prices, "list of MODEL=IN:OUT, such as gpt=0.15:0.6");
  all.flag("free_calls",
           "Whether a cost of 0 is a real cost: for answers from a cache, or a model that costs "
           "nothing.",
           &TraceKeys::free_calls);
  all.flag("repeats", "Whether further rows of a prompt and model in a long table are further answers, not mistakes.",
           &TraceKeys::repeats);
  all.text("quality", "name of a column",
           "The column or member of answers that is their quality; it may be a judge's scores.", &TraceKeys::quality);
  all.list("prompt_key", "Columns whose values together identify a prompt, in place of prompt_id and equal texts.",
           &TraceKeys::prompt_key);
  all.list("context", "The features in psi besides 1: text:K, length, a column's name, raw:NAME.", &TraceKeys::context);
}

void add_use(TableOptions& all) {
  all.text("evaluator", "quality, score, score:NAME, noisy:S or column:NAME",
           "The value that is seen of an answer when its model is opened (docs/table-studies.md).",
           &TraceKeys::evaluator, [](const StudyValue& v) { (void)parsed(v, scores_wanted); });
  all.text("feedback", "graded, bernoulli or column:NAME",
           "The feedback on the deployed answer: its quality, a draw of 0 or 1 with that mean, or a column.",
           &TraceKeys::feedback, [](const StudyValue& v) {
             if (!v.texts[0].starts_with("column:")) (void)choice(v, {"graded", "bernoulli"});
           });
  all.text("index", "name of a column", "Index of every model for the benchmark; empty: hindsight.", &TraceKeys::index);
  all.number("price", "utility per dollar", "Utility = quality - price x dollars.",
             {"number from 0 on", [](double x) { return x >= 0.0 && std::isfinite(x); }, "a finite number from 0 on"},
             &TraceKeys::price);
  all.word("resample",
           "How a replication takes prompts: all in a random order, with replacement, or in the file's order; or "
           "every model's answers in an order of their own.",
           {"permute", "bootstrap", "in_order", "independent"}, &TraceKeys::resample);
  all.flag("repeat", "Whether prompts are used again if `periods` exceeds their number; otherwise T is their number.",
           &TraceKeys::repeat);
  all.text("regime", "A or B", "The regime in rows of results and in random streams.", &TraceKeys::regime,
           [](const StudyValue& v) {
             (void)choice(v, {"A", "B"});
           });
  all.word("missing", "What happens to prompts with a missing cell.", {"refuse", "drop"}, &TraceKeys::drop_missing);
  all.text("digest", "SHA-256", "Digest of the tables' content; a run fills it in.", &TraceKeys::digest);
  all.add(
      {"sizes", Kind::integers, "list of 5 or 6 integers", "",
       "Models, numbers of the context and of phi, calibration and online rows, and online prompts if several rows are "
       "of one prompt; a run fills it in."},
      [](const TraceKeys& t) { return fmt::format("[{}]", fmt::join(t.sizes, ", ")); },
      [](TraceKeys& t, const StudyValue& v) {
        constexpr std::int64_t kMost[] = {kMaxBoxes, 10000, kMaxRewardFeatures, 1000000000, 1000000000, 1000000000};
        if (v.integers.size() != 5 && v.integers.size() != 6) refuse(v.where, "has not 5 or 6 numbers; leave it out");
        for (std::size_t k = 0; k < v.integers.size(); ++k)
          if (v.integers[k] < 1 || v.integers[k] > kMost[k]) refuse(v.where, "out of range; leave it out");
        t.sizes = v.integers;
      });
}

std::vector<EnvironmentOption> make_options() {
  std::vector<EnvironmentOption> all;
  for (KeyOf<Environment>& key : options_of_model().keys) all.push_back({std::move(key)});
  TableOptions of_tables;
  add_reading(of_tables);
  add_use(of_tables);
  for (const KeyOf<TraceKeys>& key : of_tables.keys)
    all.push_back(
        {{static_cast<const KeyText&>(key), [text = key.text](const Environment& e) { return text(keys_of(e)); },
          [set = key.set](Environment& e, const StudyValue& v) { set(keys_of(e), v); }},
         true});
  for (EnvironmentOption& option : all) {
    const auto is = [&option](std::initializer_list<const char*> names) {
      return std::ranges::count(names, option.name) > 0;
    };
    option.of_both = is({"drift", "arrives", "leaves", "stream"});
    option.required = is({"law", "u", "stream"});
    option.is_path = is({"table", "online", "laws"});
    if (option.is_path) option.role = KeyText::Role::file;
    option.varies = !option.of_tables || is({"feedback", "index", "price", "resample", "repeat", "regime"});
  }
  return all;
}

}  // namespace

const std::vector<EnvironmentOption>& environment_options() {
  static const std::vector<EnvironmentOption> all = make_options();
  return all;
}

std::map<std::string, std::string> options_of(const Environment& environment) {
  std::map<std::string, std::string> out;
  for (const EnvironmentOption& option : environment_options())
    if (option.is_for(environment) && !option.is_path) out[option.name] = option.text(environment);
  // These keys are newer than some results; a study that does not set them has the same parts as before.
  if (keys_of(environment).quality.empty()) out.erase("quality");
  if (keys_of(environment).prompt_key.empty()) out.erase("prompt_key");
  if (keys_of(environment).laws_text.empty()) out.erase("laws_text");
  return out;
}

std::vector<StudyKey> environment_keys(const std::string& name) {
  const Environment* known = find_environment(name);
  const Environment standard = known != nullptr ? *known : Environment{};
  std::vector<StudyKey> keys;
  for (const EnvironmentOption& option : environment_options()) {
    if (known != nullptr && !option.is_for(*known)) continue;
    keys.push_back({static_cast<const KeyText&>(option), option.text(standard), [](Study&, const StudyValue&) {}});
    keys.back().name = "environment." + name + "." + option.name;
  }
  return keys;
}

std::string environment_in(const std::string& key) {
  constexpr std::string_view kPrefix = "environment.";
  const std::size_t dot = key.rfind('.');
  return key.starts_with(kPrefix) && dot > kPrefix.size() ? key.substr(kPrefix.size(), dot - kPrefix.size()) : "";
}

std::vector<std::string> names_of_environments(const StudyValues& defined, bool with_known) {
  std::vector<std::string> names;
  for (const Environment& environment : known_environments())
    if (with_known) names.push_back(environment.name);
  for (const auto& [key, value] : defined)
    if (const std::string name = environment_in(key); !name.empty() && std::ranges::count(names, name) == 0)
      names.push_back(name);
  return names;
}

}  // namespace pandora
