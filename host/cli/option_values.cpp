#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "host/cli/commands.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {

GridShape parse_grid(const std::string& text) {
  GridShape shape;
  char rest;
  if (std::sscanf(text.c_str(), "%dx%dx%d%c", &shape.shift, &shape.scale, &shape.cost, &rest) != 3 || shape.shift < 2 ||
      shape.scale < 2 || shape.cost < 2 || shape.shift > 2001 || shape.scale > 2001 || shape.cost > 2001)
    throw Error(ExitCode::usage,
                fmt::format("--grid {}: not a grid; give nodes in l, s and cost as LxSxC, each from 2 to 2001", text));
  return shape;
}

void require_count(const char* option, int value, int least, int most) {
  if (value > most)
    throw Error(ExitCode::usage,
                fmt::format("{} {}: out of range; give an integer from {} to {}", option, value, least, most));
  if (value < least)
    throw Error(ExitCode::usage,
                fmt::format("{} {}: out of range; give an integer of at least {}", option, value, least));
}

void require_positive(const char* option, double value) {
  if (!(value > 0.0 && std::isfinite(value)))
    throw Error(ExitCode::usage, fmt::format("{} {:g}: out of range; give a finite number above 0", option, value));
}

}  // namespace pandora::cli
