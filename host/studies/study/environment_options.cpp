#include "host/lanes/model/box_changes.hpp"
#include "host/lanes/model/drift.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/outcomes/tables/read_trace.hpp"
#include "host/studies/study/study_keys.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;

const TraceKeys& keys_of(const Environment& environment) {
  static const TraceKeys none;
  const TraceKeys* const keys = trace_keys(environment);
  return keys == nullptr ? none : *keys;
}
// What the keys were before, to be changed: environments that share keys do not see it.
TraceKeys& keys_of(Environment& environment) {
  const auto own = std::make_shared<TraceKeys>(keys_of(std::as_const(environment)));
  environment.trace = own;
  return *own;
}

// An option whose value is held by the environment itself or, of a table of outcomes, by its TraceKeys.
template <class Holder>
EnvironmentOption option(const char* name, Kind kind, const char* type, const char* unit, const char* meaning,
                         std::function<std::string(const Holder&)> text,
                         std::function<void(Holder&, const StudyValue&)> set) {
  constexpr bool kOfTables = std::is_same_v<Holder, TraceKeys>;
  const auto holder = [](auto& environment) -> auto& {
    if constexpr (kOfTables)
      return keys_of(environment);
    else
      return environment;
  };
  const auto toml = [=](const Environment& e) { return text(holder(e)); };
  const auto apply = [=](Environment& e, const StudyValue& v) { set(holder(e), v); };
  return {name, kind, type, unit, meaning, toml, apply, kOfTables};
}

// One of several words, in the order of the enumeration.
template <class Enum, class Holder>
EnvironmentOption word(const char* name, const char* type, const char* meaning, Enum Holder::*member,
                       const std::vector<std::string>& names) {
  return option<Holder>(
      name, Kind::text, type, "", meaning,
      [=](const Holder& h) { return toml_of(names[static_cast<std::size_t>(h.*member)]); },
      [=](Holder& h, const StudyValue& v) { h.*member = static_cast<Enum>(choice(v, names)); });
}

// A number for which `fits` holds; `wanted` says what that is.
template <class Real, class Holder, class Fits>
EnvironmentOption number(const char* name, const char* type, const char* unit, const char* meaning,
                         Real Holder::*member, const char* wanted, Fits fits) {
  return option<Holder>(
      name, Kind::number, type, unit, meaning, [=](const Holder& h) { return fmt::format("{}", h.*member); },
      [=](Holder& h, const StudyValue& v) {
        h.*member = static_cast<Real>(v.numbers[0]);
        if (!fits(h.*member)) refuse(v.where, fmt::format("out of range; give {}", wanted));
      });
}

EnvironmentOption text(const char* name, const char* type, const char* meaning, std::string TraceKeys::*member,
                       void (*check)(const StudyValue&) = nullptr) {
  return option<TraceKeys>(
      name, Kind::text, type, "", meaning, [=](const TraceKeys& t) { return toml_of(t.*member); },
      [=](TraceKeys& t, const StudyValue& v) {
        if (check != nullptr) check(v);
        t.*member = v.texts[0];
      });
}

EnvironmentOption list(const char* name, const char* meaning, std::vector<std::string> TraceKeys::*member,
                       const char* range = nullptr) {
  return option<TraceKeys>(
      name, Kind::texts, range == nullptr ? "list of names" : range, "", meaning,
      [=](const TraceKeys& t) { return toml_of(t.*member); },
      [=](TraceKeys& t, const StudyValue& v) {
        for (const std::string& text : v.texts)
          if (range != nullptr && !range_of(text))
            refuse(v.where, fmt::format("{} is none; give {}", in_quotes(text), range));
        t.*member = v.texts;
      });
}

EnvironmentOption flag(const char* name, const char* meaning, bool TraceKeys::*member) {
  return option<TraceKeys>(
      name, Kind::boolean, "true or false", "", meaning,
      [=](const TraceKeys& t) { return t.*member ? "true" : "false"; },
      [=](TraceKeys& t, const StudyValue& v) { t.*member = v.boolean; });
}

EnvironmentOption drift_option() {
  return {
      .name = "drift",
      .kind = Kind::text,
      .type = "swap:PERIODS, step:PERIODS:SHARE or walk:SPEED; of a table MODEL:FACTOR",
      .unit = "",
      .meaning =
          "How the boxes' parameters change from given online periods on (docs/scenarios.md#drift); of a table, "
          "every online prompt comes twice, in the second half of the horizon with the model's quality times "
          "the factor, a number in [0, 1]; empty: not at all.",
      .text = [](const Environment& e) { return toml_of(e.trace != nullptr ? keys_of(e).drift : drift_text(e.drift)); },
      .set =
          [](Environment& e, const StudyValue& v) {
            if (e.trace == nullptr) {
              e.drift = parsed(v, parse_drift);
              return;
            }
            (void)parsed(v, drift_of);
            keys_of(e).drift = v.texts[0];
          },
      .of_both = true,
      .fields = {"kind", "at", "share", "speed"}};
}

// Which boxes come or go, and when.
EnvironmentOption changes_option(const char* name, const char* meaning, std::vector<BoxChange> Environment::*member) {
  return {.name = name,
          .kind = Kind::text,
          .type = "box NUMBER:PERIOD, more than one with commas between",
          .unit = "",
          .meaning = meaning,
          .text = [=](const Environment& e) { return toml_of(box_changes_text(e.*member)); },
          .set = [=](Environment& e, const StudyValue& v) { e.*member = parsed(v, parse_box_changes); },
          .of_both = true,
          .fields = {"box_number", "at"}};
}

EnvironmentOption law_option() {
  EnvironmentOption law = word("law", "uniform, gaussian or student_t5", "Law of the iid coordinates of a shock.",
                               &Environment::law, {"uniform", "gaussian", "student_t5", "custom"});
  law.set = [set = law.set](Environment& e, const StudyValue& v) {
    const Law known = e.law;
    set(e, v);
    if (e.law == Law::custom && known != Law::custom)
      refuse(v.where, "a law of your own comes with a program that registers it; use uniform, gaussian, student_t5");
  };
  return law;
}

std::vector<EnvironmentOption> options_of_model() {
  return {
      law_option(),
      number("scale", "number from 1e-06 to 100; of a table give ranges", "", "Factor on the coordinates.",
             &Environment::shock_scale, "a number from 1e-06 to 100",
             [](float x) { return x >= 1e-6f && x <= 100.0f; }),
      number("truncation_radius", "number above 0, or inf", "",
             "Shock vectors outside the ball of this radius are rejected.", &Environment::truncation_radius,
             "a number above 0, or inf", [](float x) { return x > 0.0f; }),
      number("u", "number from 0 to 1e+06", "reward",
             "Upper bound of the cost levels c_{0,a} and c_{1,a}; see `pandora calibrate`.", &Environment::cost_level,
             "a number from 0 to 1e+06", [](double x) { return x >= 0.0 && x <= 1e6; }),
      word("slopes", "common, unrelated or random_sign",
           "Coefficients of regime B: entries U[0, 1] (the paper's), on coordinates of a box's own, or U[-1, 1].",
           &Environment::slopes, {"common", "unrelated", "random_sign"}),
      word("reward_link", "logistic, algebraic or linear",
           "G of mu*; policies that learn rewards assume the logistic one.", &Environment::reward_link,
           {"logistic", "algebraic", "linear"}),
      number("cost_tail", "number above 1, or inf", "",
             "alpha of a Pareto factor with mean 1 on every cost (infinite variance up to 2); inf: none.",
             &Environment::cost_tail, "a number above 1, or inf", [](double x) { return x > 1.0; }),
      number("correlation", "number from 0 to below 1", "",
             "Of the normals behind the shocks of two boxes in one period; each box keeps its law "
             "(docs/scenarios.md#dependence).",
             &Environment::correlation, "a number from 0 to below 1", [](double r) { return r >= 0.0 && r < 1.0; }),
      drift_option(),
      changes_option("arrives",
                     "Boxes, counted from 1, that are there from an online period on (docs/scenarios.md#boxes).",
                     &Environment::arrives),
      changes_option("leaves", "Boxes that are not there from an online period on.", &Environment::leaves),
      word("location", "common, none or own",
           "Q of phi = Q x + D omega in regime B: one of all boxes (the paper's), none (Q = 0), or one of each box's "
           "own.",
           &Environment::location, {"common", "none", "own"}),
      word("indices", "of_costs or linear",
           "Costs are drawn and indices follow (the paper's); or tanh(rho_a' psi(x)) is drawn as the index and costs "
           "follow.",
           &Environment::indices, {"of_costs", "linear"}),
      word("output_costs", "paper or centred",
           "beta_{1,a} of regime B: positive (the paper's), with which costs hardly depend on outputs; or entries that "
           "sum to 0, with which they do.",
           &Environment::output_costs, {"paper", "centred"}),
      word("output_scales", "contextual or constant",
           "s_a of regime B: 0.5 + G(alpha_a' x) (the paper's), or 1, with which an output's law does not depend on x.",
           &Environment::output_scales, {"contextual", "constant"}),
      option<Environment>(
          "stream", Kind::integer, "integer from 0 to 255", "",
          "Coordinate of the random streams: environments with the same share their draws.",
          [](const Environment& e) { return fmt::format("{}", static_cast<int>(e.id)); },
          [](Environment& e, const StudyValue& v) { e.id = static_cast<std::uint8_t>(count(v, 0, 255)); }),
  };
}

std::vector<EnvironmentOption> options_of_reading() {
  return {
      text("table", "path",
           "A table of outcomes (docs/traces.md) in place of the paper's model; a relative path is relative to the "
           "study's file.",
           &TraceKeys::table),
      text("online", "path", "A second table that the policies run on; the first is then all for calibration.",
           &TraceKeys::online),
      number("split", "number between 0 and 1", "",
             "Share of the prompts for calibration where there is no second table, by a digest of the prompt.",
             &TraceKeys::split, "a number between 0 and 1", [](double x) { return x > 0.0 && x < 1.0; }),
      text("part", "name of a column", "Column with \"calibration\" or \"online\" in place of `split`.",
           &TraceKeys::part),
      list("models", "Models, in order; empty: all of the table, at most 16.", &TraceKeys::models),
      list("ranges", "Where the table's qualities or a judge's scores lie, if not in [0, 1].", &TraceKeys::ranges,
           "list of NAME=LOW:HIGH, such as score=1:5"),
      list("prices", "Dollars for a million tokens in and out, for answers that have tokens and no cost.",
           &TraceKeys::prices, "list of MODEL=IN:OUT, such as gpt=0.15:0.6"),
      flag("free_calls", "Whether a cost of 0 of a model that costs elsewhere is one (a cache).",
           &TraceKeys::free_calls),
      flag("repeats", "Whether further rows of a prompt and model in a long table are further answers.",
           &TraceKeys::repeats),
      list("context", "What psi is made of beside 1: text:K, length, a column's name, raw:NAME.", &TraceKeys::context),
  };
}

std::vector<EnvironmentOption> options_of_use() {
  return {
      text("evaluator", "quality, score, score:NAME, noisy:S or column:NAME",
           "What is seen of an answer when its model is opened (docs/traces.md).", &TraceKeys::evaluator,
           [](const StudyValue& v) { (void)parsed(v, scores_wanted); }),
      text("feedback", "graded, bernoulli or column:NAME",
           "What is told of the deployed answer: its quality, a draw of 0 or 1 with that mean, or a column.",
           &TraceKeys::feedback,
           [](const StudyValue& v) {
             if (!v.texts[0].starts_with("column:")) (void)choice(v, {"graded", "bernoulli"});
           }),
      text("index", "name of a column", "Index of every model for the benchmark; empty: hindsight.", &TraceKeys::index),
      number("price", "number from 0 on", "utility per dollar", "Utility = quality - price x dollars.",
             &TraceKeys::price, "a finite number from 0 on", [](double x) { return x >= 0.0 && std::isfinite(x); }),
      word("resample", "permute, bootstrap, in_order or independent",
           "How a replication takes prompts: all in a random order, with replacement, as they stand; or every model's "
           "answers in an order of their own.",
           &TraceKeys::resample, {"permute", "bootstrap", "in_order", "independent"}),
      flag("repeat",
           "Whether prompts come round again where `periods` is more than there are; otherwise T is their number.",
           &TraceKeys::repeat),
      text("regime", "A or B", "The regime that rows of results name and random streams have.", &TraceKeys::regime,
           [](const StudyValue& v) {
             (void)choice(v, {"A", "B"});
           }),
      word("missing", "refuse or drop", "What becomes of prompts with a cell that is missing.",
           &TraceKeys::drop_missing, {"refuse", "drop"}),
      text("digest", "SHA-256", "Digest of the tables' content; a run fills it in.", &TraceKeys::digest),
      option<TraceKeys>(
          "sizes", Kind::integers, "list of 5 integers", "",
          "Models, numbers of the context and of phi, calibration and online prompts; a run fills it in.",
          [](const TraceKeys& t) { return fmt::format("[{}]", fmt::join(t.sizes, ", ")); },
          [](TraceKeys& t, const StudyValue& v) {
            constexpr std::int64_t kMost[] = {kMaxBoxes, 10000, kMaxRewardFeatures, 1000000000, 1000000000};
            if (v.integers.size() != std::size(kMost)) refuse(v.where, "has not 5 numbers; leave it out");
            for (std::size_t k = 0; k < std::size(kMost); ++k)
              if (v.integers[k] < 1 || v.integers[k] > kMost[k]) refuse(v.where, "out of range; leave it out");
            t.sizes = v.integers;
          }),
  };
}

std::vector<EnvironmentOption> make_options() {
  std::vector<EnvironmentOption> all = options_of_model();
  for (auto* const more : {options_of_reading, options_of_use})
    for (EnvironmentOption& option : more()) all.push_back(std::move(option));
  for (EnvironmentOption& option : all) {
    const auto is = [&option](std::initializer_list<const char*> names) {
      return std::ranges::count(names, option.name) > 0;
    };
    option.of_both = option.of_both || is({"stream"});
    option.required = is({"law", "u", "stream"});
    option.is_path = is({"table", "online"});
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
  return out;
}

}  // namespace pandora
