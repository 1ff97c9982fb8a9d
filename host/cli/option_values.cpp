#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstdio>

#include "host/cli/commands.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {

std::vector<Environment> parse_environments(const std::vector<std::string>& names) {
  std::vector<Environment> environments;
  for (const std::string& name : names) {
    const Environment* environment = find_environment(name);
    if (environment == nullptr) {
      std::vector<std::string> known;
      for (const Environment& e : known_environments()) known.push_back(e.name);
      throw Error(ExitCode::usage,
                  fmt::format("--environment {}: unknown; use one of {}", name, fmt::join(known, ", ")));
    }
    for (const Environment& earlier : environments)
      if (earlier.id == environment->id)
        throw Error(ExitCode::usage, fmt::format("--environment {}: named twice; name each once", name));
    environments.push_back(*environment);
  }
  return environments;
}

std::vector<Regime> parse_regimes(const std::vector<std::string>& names) {
  std::vector<Regime> regimes;
  for (const std::string& name : names) {
    if (name != "A" && name != "B")
      throw Error(ExitCode::usage, fmt::format("--regime {}: unknown; use A, B or A,B", name));
    const Regime regime = name == "A" ? Regime::A : Regime::B;
    for (const Regime earlier : regimes)
      if (earlier == regime)
        throw Error(ExitCode::usage, fmt::format("--regime {}: named twice; name each once", name));
    regimes.push_back(regime);
  }
  return regimes;
}

GridShape parse_grid(const std::string& text) {
  GridShape shape;
  char rest;
  if (std::sscanf(text.c_str(), "%dx%dx%d%c", &shape.shift, &shape.scale, &shape.cost, &rest) != 3 || shape.shift < 2 ||
      shape.scale < 2 || shape.cost < 2 || shape.shift > 2001 || shape.scale > 2001 || shape.cost > 2001)
    throw Error(ExitCode::usage,
                fmt::format("--grid {}: not a grid; give nodes in l, s and cost as LxSxC, each from 2 to 2001", text));
  return shape;
}

std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(ExitCode::usage, fmt::format("--seed {}: not a seed; give an integer from 0 to 2^64 - 1", text));
  return seed;
}

void require_count(const char* option, int value, int least) {
  if (value < least)
    throw Error(ExitCode::usage,
                fmt::format("{} {}: out of range; give an integer of at least {}", option, value, least));
}

void require_positive(const char* option, double value) {
  if (!(value > 0.0 && std::isfinite(value)))
    throw Error(ExitCode::usage, fmt::format("{} {:g}: out of range; give a finite number above 0", option, value));
}

}  // namespace pandora::cli
