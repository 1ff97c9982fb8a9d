#include "host/cascade/aim.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/traces/trace_table.hpp"
#include "pandora/error.hpp"

namespace pandora {

std::string aim_text(const CascadeAim& aim) {
  switch (aim.kind) {
    case CascadeAim::Kind::price:
      return fmt::format("price {:g}", aim.value);
    case CascadeAim::Kind::most_usd:
      return fmt::format("at most ${:g} per prompt", aim.value);
    case CascadeAim::Kind::least_quality:
      return fmt::format("quality of at least {:g}", aim.value);
  }
  return "";
}

const char* kind_text(CascadeKind kind) {
  switch (kind) {
    case CascadeKind::single:
      return "best single";
    case CascadeKind::thresholds:
      return "thresholds";
    case CascadeKind::indices:
      return "indices";
  }
  return "";
}

void require_sound(const CascadeFitSettings& settings) {
  const CascadeAim& aim = settings.aim;
  const auto refuse = [](const char* option, double value, const char* range) {
    throw Error(ExitCode::usage, fmt::format("{} {:g}: out of range; give {}", option, value, range));
  };
  const bool number = aim.value >= 0.0 && aim.value <= kMostPrice;
  if (aim.kind == CascadeAim::Kind::price && !number)
    refuse("--price", aim.value, "utility per dollar, a number from 0 to 1e9, such as 5");
  if (aim.kind == CascadeAim::Kind::most_usd && !(number && aim.value > 0.0))
    refuse("--max-usd", aim.value, "dollars per prompt, a finite number above 0, such as 0.001");
  if (aim.kind == CascadeAim::Kind::least_quality && !(number && aim.value <= 1.0))
    refuse("--min-quality", aim.value, "a mean quality from 0 to 1");
  if (!(settings.judge_usd >= 0.0 && settings.judge_usd <= kMostCallUsd))
    refuse("--judge-usd", settings.judge_usd, "dollars of judging an answer, a number from 0 to 1e6");
  if (!settings.indices && !settings.context.empty())
    throw Error(ExitCode::usage,
                "--context: thresholds do not use it, they are the same for every prompt; use it with --kind indices");
  if (!settings.thresholds && !settings.indices)
    throw Error(ExitCode::usage, "no kind of cascade is tried; give thresholds, indices or both");
}

}  // namespace pandora
