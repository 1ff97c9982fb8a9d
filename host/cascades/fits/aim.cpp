#include "host/cascades/fits/aim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/ground/base/nearest.hpp"
#include "pandora/error.hpp"

namespace pandora {

std::string aim_text(const CascadeAim& aim) {
  constexpr const char* kForms[] = {"price {:g}", "at most {:g} dollars per prompt", "quality of at least {:g}"};
  return fmt::format(fmt::runtime(kForms[static_cast<int>(aim.kind)]), aim.value);
}

const char* kind_text(CascadeKind kind) {
  constexpr const char* kTexts[] = {"best single", "router", "thresholds", "indices", "routed"};
  return kTexts[static_cast<int>(kind)];
}

bool CascadeFitSettings::tries(CascadeKind kind) const {
  const bool asked[] = {true, router, thresholds, indices, routed};
  const bool sees = evaluator != kNoEvaluator || kind <= CascadeKind::router;
  return asked[static_cast<int>(kind)] && sees && !(routes(kind) && context.empty());
}

CascadeFitSettings CascadeFitSettings::only(CascadeKind kind) const {
  CascadeFitSettings out = *this;
  out.router = kind == CascadeKind::router;
  out.thresholds = kind == CascadeKind::thresholds;
  out.indices = kind == CascadeKind::indices;
  out.routed = kind == CascadeKind::routed;
  return out;
}

void CascadeFitSettings::set_kind(const std::string& name) {
  router = thresholds = indices = routed = true;
  as_asked = false;
  if (name == "auto") return;
  for (const CascadeKind kind : kCascadeKinds)
    if (kind != CascadeKind::single && name == kind_text(kind)) {
      *this = only(kind);
      as_asked = kind != CascadeKind::thresholds;
      return;
    }
  throw Error(ExitCode::usage,
              fmt::format("--kind {}: unknown{}; use router, thresholds, indices, routed or auto", name,
                          nearest_text(nearest(name, {"router", "thresholds", "indices", "routed", "auto"}))));
}

void require_judge_usd(std::optional<double> judge_usd) {
  const double usd = judge_usd.value_or(0.0);
  if (!(usd >= 0.0 && usd <= kMostCallUsd))
    throw Error(
        ExitCode::usage,
        fmt::format("--judge-usd {:g}: out of range; give dollars of judging an answer, a number from 0 to 1e6", usd));
}

void require_sound(const CascadeFitSettings& settings) {
  const CascadeAim& aim = settings.aim;
  const auto refuse = [](const char* option, double value, const char* range) {
    throw Error(ExitCode::usage, fmt::format("{} {:g}: out of range; give {}", option, value, range));
  };
  const bool number = aim.value >= 0.0 && aim.value <= kMostPrice;
  if (aim.kind == CascadeAim::Kind::price && !number)
    refuse("--price", aim.value, "utility per dollar, a number from 0 to 1e9, such as 5");
  if (aim.is_on_dollars() && !(number && aim.value > 0.0))
    refuse("--max-usd", aim.value, "dollars per prompt, a finite number above 0, such as 0.001");
  if (aim.kind == CascadeAim::Kind::least_quality && !(number && aim.value <= 1.0))
    refuse("--min-quality", aim.value, "a mean quality from 0 to 1");
  if (aim.most_latency && !(*aim.most_latency > 0.0 && *aim.most_latency <= kMostPrice))
    refuse("--max-latency", *aim.most_latency, "seconds, a finite number above 0, such as 2.5");
  require_judge_usd(settings.judge_usd);
  if (!(settings.forget >= 0.0 && settings.forget <= kMostPrice))
    refuse("--forget", settings.forget, "a half-life in requests, or 0, where nothing fades");
  if (!(settings.width >= 0.0 && settings.width <= kMostPrice)) refuse("--c", settings.width, "0 or more, such as 0.2");
  if ((settings.forget > 0.0 || settings.width > 0.0) && !(settings.as_asked && settings.indices))
    throw Error(ExitCode::usage, "--forget and --c: only indices learn while they run; use them with --kind indices");
  const auto is_tried = [&](CascadeKind kind) { return kind != CascadeKind::single && settings.tries(kind); };
  if (settings.evaluator == kNoEvaluator && settings.judge_usd)
    throw Error(ExitCode::usage, "--judge-usd: with --evaluator none no answer is judged; leave it out");
  if (!settings.context.empty() && !settings.indices && !settings.router && !settings.routed)
    throw Error(ExitCode::usage,
                "--context: thresholds do not use it, they are the same for every prompt; use it with --kind indices, "
                "router or routed");
  if (std::ranges::any_of(kCascadeKinds, is_tried)) return;
  if (settings.evaluator == kNoEvaluator && !settings.router)
    throw Error(ExitCode::usage, "--evaluator none: only a router sees no answer; use it with --kind router");
  if (settings.router || settings.routed)
    throw Error(ExitCode::usage, "a router goes by the prompt's features; give --context, such as text:16,length");
  throw Error(ExitCode::usage, "no kind of cascade is tried; give router, thresholds, indices, routed or auto");
}

void require_latency(const CascadeFitSettings& settings, const TraceTable& table) {
  if (!settings.aim.most_latency) return;
  if (table.log)
    throw Error(ExitCode::usage, "--max-latency: not of a log; give a table with every model's answers and latencies");
  if (std::ranges::all_of(table.latency, [](double seconds) { return std::isnan(seconds); }))
    table.refuse(
        "has no latencies; give a column `latency` (wide: `{}|latency`) in seconds, or leave out --max-latency",
        table.models[0]);
}

void require_binding(const CascadeFitSettings& settings, const TraceTable& table) {
  const double all = std::accumulate(table.cost.begin(), table.cost.end(), 0.0) / static_cast<double>(table.rows()) +
                     static_cast<double>(table.models.size()) * settings.judge();
  if (!settings.aim.is_on_dollars() || settings.aim.value < all) return;
  throw Error(
      ExitCode::usage,
      fmt::format("--max-usd {:g}: is in dollars per prompt, and calling every model takes no more than {:.3g} of "
                  "them; for a bound per 1,000 prompts give --max-usd {:g}, for none --price 0",
                  settings.aim.value, all, settings.aim.value / 1000.0));
}

}  // namespace pandora
