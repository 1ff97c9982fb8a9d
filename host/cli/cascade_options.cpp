#include "host/cli/cascade_options.hpp"

#include <fmt/format.h>

#include "host/cli/commands.hpp"
#include "host/ground/base/nearest.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {

void CascadeFitOptions::add_to(CLI::App& command, const std::string& default_kind) {
  kind = default_kind;
  command.add_option("--evaluator", settings.evaluator,
                     "what is seen of an answer when its model was called, which must be said: score or score:NAME (a "
                     "judge's), or quality (the truth)");
  command
      .add_option("--context", settings.context,
                  "what is known of a prompt before any call: text:K, length, a column, raw:NAME; a list")
      ->delimiter(',');
  command
      .add_option("--kind", kind,
                  "thresholds (an order of models), indices (an order for each prompt, by its context) or auto")
      ->capture_default_str();
  command.add_option(
      "--judge-usd", settings.judge_usd,
      "dollars of judging an answer, for each call of a cascade of several models (default: it is taken to "
      "be free, and the verdict says so)");
}

CascadeFitSettings CascadeFitOptions::checked() const {
  if (kind != "thresholds" && kind != "indices" && kind != "auto")
    throw Error(ExitCode::usage, fmt::format("--kind {}: unknown{}; use thresholds, indices or auto", kind,
                                             nearest_text(nearest(kind, {"thresholds", "indices", "auto"}))));
  CascadeFitSettings out = settings;
  out.thresholds = kind != "indices";
  out.indices = kind != "thresholds";
  return out;
}

}  // namespace pandora::cli
