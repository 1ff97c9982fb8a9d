#include "host/studies/study/environment_options.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/studies/study/value_checks.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;
using Names = std::vector<std::string>;

// An option that is one of several words, in the order of the enumeration.
template <class Enum>
EnvironmentOption word(const char* name, const char* type, const char* meaning, Enum Environment::*member,
                       Names names) {
  return {name,
          Kind::text,
          type,
          "",
          meaning,
          false,
          [=](const Environment& e) { return fmt::format("\"{}\"", names[static_cast<std::size_t>(e.*member)]); },
          [=](Environment& e, const StudyValue& v) { e.*member = static_cast<Enum>(choice(v, v.texts[0], names)); }};
}

// A number for which `fits` holds; `wanted` says what that is.
template <class Real, class Fits>
EnvironmentOption number(const char* name, const char* type, const char* unit, const char* meaning, bool required,
                         Real Environment::*member, const char* wanted, Fits fits) {
  return {name,
          Kind::number,
          type,
          unit,
          meaning,
          required,
          [=](const Environment& e) { return fmt::format("{}", e.*member); },
          [=](Environment& e, const StudyValue& v) {
            e.*member = static_cast<Real>(v.numbers[0]);
            if (!fits(e.*member)) refuse(v.where, fmt::format("out of range; give {}", wanted));
          }};
}

std::vector<EnvironmentOption> make_options() {
  std::vector<EnvironmentOption> all;
  EnvironmentOption law = word("law", "uniform, gaussian or student_t5", "Law of the iid coordinates of a shock.",
                               &Environment::law, {"uniform", "gaussian", "student_t5", "custom"});
  law.required = true;
  law.set = [set = law.set](Environment& e, const StudyValue& v) {
    const Law known = e.law;
    set(e, v);
    if (e.law == Law::custom && known != Law::custom)
      refuse(v.where, "a law of your own comes with a program that registers it; use uniform, gaussian, student_t5");
  };
  all.push_back(law);
  all.push_back(number("scale", "number from 1e-06 to 100", "", "Factor on the coordinates.", false,
                       &Environment::shock_scale, "a number from 1e-06 to 100",
                       [](float x) { return x >= 1e-6f && x <= 100.0f; }));
  all.push_back(number("truncation_radius", "number above 0, or inf", "",
                       "Shock vectors outside the ball of this radius are rejected.", false,
                       &Environment::truncation_radius, "a number above 0, or inf", [](float x) { return x > 0.0f; }));
  all.push_back(number("u", "number from 0 to 1e+06", "reward",
                       "Upper bound of the cost levels c_{0,a} and c_{1,a}; see `pandora calibrate`.", true,
                       &Environment::cost_level, "a number from 0 to 1e+06",
                       [](double x) { return x >= 0.0 && x <= 1e6; }));
  all.push_back(word("slopes", "common, unrelated or random_sign",
                     "Coefficients of regime B: entries U[0, 1] (the paper's), on coordinates of a box's own, or "
                     "U[-1, 1].",
                     &Environment::slopes, {"common", "unrelated", "random_sign"}));
  all.push_back(word("reward_link", "logistic or algebraic",
                     "G of mu*; policies that learn rewards assume the logistic one.", &Environment::reward_link,
                     {"logistic", "algebraic"}));
  all.push_back(number("cost_tail", "number above 1, or inf", "",
                       "alpha of a Pareto factor with mean 1 on every cost (infinite variance up to 2); inf: none.",
                       false, &Environment::cost_tail, "a number above 1, or inf", [](double x) { return x > 1.0; }));
  all.push_back(
      word("location", "common, none or own",
           "Q of phi = Q x + D omega in regime B: one of all boxes (the paper's), none (Q = 0), or one of each "
           "box's own.",
           &Environment::location, {"common", "none", "own"}));
  all.push_back(
      word("indices", "of_costs or linear",
           "Costs are drawn and indices follow (the paper's); or tanh(rho_a' psi(x)) is drawn as the index and "
           "costs follow.",
           &Environment::indices, {"of_costs", "linear"}));
  all.push_back({"stream", Kind::integer, "integer from 0 to 255", "",
                 "Coordinate of the random streams: environments with the same share their draws.", true,
                 [](const Environment& e) { return fmt::format("{}", static_cast<int>(e.id)); },
                 [](Environment& e, const StudyValue& v) { e.id = static_cast<std::uint8_t>(count(v, 0, 255)); }});
  for (EnvironmentOption& option : trace_options()) all.push_back(std::move(option));
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
