// The keys of [environment.NAME] where it is a table of outcomes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "host/lanes/model/trace_keys.hpp"
#include "host/studies/study/environment_options.hpp"
#include "host/studies/study/value_checks.hpp"
#include "kernels/tape/instance.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;

// What the keys were before, to be changed: environments that share keys do not see it.
TraceKeys& keys_of(Environment& environment) {
  auto own = environment.trace == nullptr ? std::make_shared<TraceKeys>()
                                          : std::make_shared<TraceKeys>(*trace_keys(environment));
  environment.trace = own;
  return *own;
}
const TraceKeys& keys_of(const Environment& environment) {
  static const TraceKeys none;
  const TraceKeys* const keys = trace_keys(environment);
  return keys == nullptr ? none : *keys;
}

std::string quoted_list(const std::vector<std::string>& texts) {
  StudyValue value;
  value.kind = Kind::texts;
  value.texts = texts;
  return value.toml();
}
std::string quoted_word(const std::string& text) {
  StudyValue value;
  value.texts = {text};
  return value.toml();
}

EnvironmentOption option(const char* name, Kind kind, const char* type, const char* unit, const char* meaning,
                         std::function<std::string(const TraceKeys&)> text,
                         std::function<void(TraceKeys&, const StudyValue&)> set) {
  return {.name = name,
          .kind = kind,
          .type = type,
          .unit = unit,
          .meaning = meaning,
          .required = false,
          .text = [text = std::move(text)](const Environment& e) { return text(keys_of(e)); },
          .set = [set = std::move(set)](Environment& e, const StudyValue& v) { set(keys_of(e), v); },
          .of_tables = true};
}

EnvironmentOption words(const char* name, const char* type, const char* meaning, std::string TraceKeys::*member) {
  return option(
      name, Kind::text, type, "", meaning, [member](const TraceKeys& t) { return quoted_word(t.*member); },
      [member](TraceKeys& t, const StudyValue& v) { t.*member = v.texts[0]; });
}

EnvironmentOption list(const char* name, const char* meaning, std::vector<std::string> TraceKeys::*member) {
  return option(
      name, Kind::texts, "list of names", "", meaning, [member](const TraceKeys& t) { return quoted_list(t.*member); },
      [member](TraceKeys& t, const StudyValue& v) { t.*member = v.texts; });
}

void check_evaluator(const StudyValue& value) {
  try {
    (void)scores_wanted(value.texts[0]);
  } catch (const Error& error) {
    refuse(value.where, error.what());
  }
}

std::vector<EnvironmentOption> options_of_use() {
  std::vector<EnvironmentOption> all;
  all.push_back(words("evaluator", "quality, score, score:NAME, noisy:S or column:NAME",
                      "What is seen of an answer when its model is opened (docs/traces.md).", &TraceKeys::evaluator));
  all.back().varies = false;
  all.back().set = [set = all.back().set](Environment& e, const StudyValue& v) {
    check_evaluator(v);
    set(e, v);
  };
  all.push_back(words("feedback", "graded, bernoulli or column:NAME",
                      "What is told of the deployed answer: its quality, a draw of 0 or 1 with that mean, or a column.",
                      &TraceKeys::feedback));
  all.back().set = [set = all.back().set](Environment& e, const StudyValue& v) {
    if (!v.texts[0].starts_with("column:")) (void)choice(v, v.texts[0], {"graded", "bernoulli"});
    set(e, v);
  };
  all.push_back(words("index", "name of a column", "Index of every model for the benchmark; empty: hindsight.",
                      &TraceKeys::index));
  all.push_back(option(
      "price", Kind::number, "number from 0 on", "utility per dollar", "Utility = quality - price x dollars.",
      [](const TraceKeys& t) { return fmt::format("{}", t.price); },
      [](TraceKeys& t, const StudyValue& v) {
        t.price = v.numbers[0];
        if (!(t.price >= 0.0 && std::isfinite(t.price)))
          refuse(v.where, "out of range; give a finite number from 0 on");
      }));
  const std::vector<std::string> ways = {"permute", "bootstrap", "in_order"};
  all.push_back(option(
      "resample", Kind::text, "permute, bootstrap or in_order", "",
      "How a replication takes prompts: all in a random order, with replacement, or as they stand.",
      [ways](const TraceKeys& t) { return quoted_word(ways[static_cast<std::size_t>(t.resample)]); },
      [ways](TraceKeys& t, const StudyValue& v) { t.resample = static_cast<Resample>(choice(v, v.texts[0], ways)); }));
  all.push_back(option(
      "repeat", Kind::boolean, "true or false", "",
      "Whether prompts come round again where `periods` is more than there are; otherwise T is their number.",
      [](const TraceKeys& t) { return t.repeat ? "true" : "false"; },
      [](TraceKeys& t, const StudyValue& v) { t.repeat = v.boolean; }));
  all.push_back(
      words("regime", "A or B", "The regime that rows of results name and random streams have.", &TraceKeys::regime));
  all.back().set = [set = all.back().set](Environment& e, const StudyValue& v) {
    (void)choice(v, v.texts[0], {"A", "B"});
    set(e, v);
  };
  return all;
}

EnvironmentOption drift_option() {
  EnvironmentOption drift = words("drift", "MODEL:FACTOR",
                                  "Every online prompt comes twice, in the second half of the horizon with the "
                                  "model's quality times the factor, a number in [0, 1]; empty: once.",
                                  &TraceKeys::drift);
  drift.set = [set = drift.set](Environment& e, const StudyValue& v) {
    try {
      (void)drift_of(v.texts[0]);
    } catch (const Error& error) {
      refuse(v.where, error.what());
    }
    set(e, v);
  };
  return drift;
}

}  // namespace

std::vector<EnvironmentOption> trace_options() {
  std::vector<EnvironmentOption> all;
  const auto add_of_reading = [&all](EnvironmentOption option) {
    option.varies = false;
    all.push_back(std::move(option));
  };
  add_of_reading(words("table", "path",
                       "A table of outcomes (docs/traces.md) in place of the paper's model; a relative "
                       "path is relative to the study's file.",
                       &TraceKeys::table));
  add_of_reading(words("online", "path",
                       "A second table that the policies run on; the first is then all for "
                       "calibration.",
                       &TraceKeys::online));
  for (EnvironmentOption& path : all) path.is_path = true;
  add_of_reading(option(
      "split", Kind::number, "number between 0 and 1", "",
      "Share of the prompts for calibration where there is no second table, by a digest of the prompt.",
      [](const TraceKeys& t) { return fmt::format("{}", t.split); },
      [](TraceKeys& t, const StudyValue& v) {
        t.split = v.numbers[0];
        if (!(t.split > 0.0 && t.split < 1.0)) refuse(v.where, "out of range; give a number between 0 and 1");
      }));
  add_of_reading(words("part", "name of a column", "Column with \"calibration\" or \"online\" in place of `split`.",
                       &TraceKeys::part));
  add_of_reading(drift_option());
  add_of_reading(list("models", "Models, in order; empty: all of the table, at most 16.", &TraceKeys::models));
  add_of_reading(
      list("context", "What psi is made of beside 1: text:K, length, a column's name, raw:NAME.", &TraceKeys::context));
  for (EnvironmentOption& use : options_of_use()) all.push_back(std::move(use));
  add_of_reading(option(
      "missing", Kind::text, "refuse or drop", "", "What becomes of prompts with a cell that is missing.",
      [](const TraceKeys& t) { return t.drop_missing ? "\"drop\"" : "\"refuse\""; },
      [](TraceKeys& t, const StudyValue& v) {
        t.drop_missing = choice(v, v.texts[0], {"refuse", "drop"}) == 1;
      }));
  add_of_reading(words("digest", "SHA-256", "Digest of the tables' content; a run fills it in.", &TraceKeys::digest));
  add_of_reading(option(
      "sizes", Kind::integers, "list of 5 integers", "",
      "Models, numbers of the context and of phi, calibration and online prompts; a run fills it in.",
      [](const TraceKeys& t) { return fmt::format("[{}]", fmt::join(t.sizes, ", ")); },
      [](TraceKeys& t, const StudyValue& v) {
        constexpr std::int64_t kMost[] = {kMaxBoxes, 10000, kMaxRewardFeatures, 1000000000, 1000000000};
        if (v.integers.size() != std::size(kMost)) refuse(v.where, "has not 5 numbers; leave it out");
        for (std::size_t k = 0; k < std::size(kMost); ++k)
          if (v.integers[k] < 1 || v.integers[k] > kMost[k]) refuse(v.where, "out of range; leave it out");
        t.sizes = v.integers;
      }));
  return all;
}

}  // namespace pandora
