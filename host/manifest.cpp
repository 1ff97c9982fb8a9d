#include "host/manifest.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "build_info.hpp"

namespace pandora {

std::string build_text() {
  return fmt::format("pandora {}\nrevision {}\ncompiler {}\nflags    {}\ncuda     {}\n", build::kVersion,
                     build::kRevision, build::kCompiler, build::kFlags, build::kCuda);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string manifest_json(const Study& study, const RunRecord& record) {
  using nlohmann::ordered_json;
  ordered_json environments = ordered_json::array();
  for (const Environment& e : study.environments) {
    ordered_json entry = {{"name", e.name}, {"u", e.cost_level}, {"shock_scale", e.shock_scale}};
    entry["truncation_radius"] =
        std::isfinite(e.truncation_radius) ? ordered_json(e.truncation_radius) : ordered_json(nullptr);
    environments.push_back(entry);
  }
  std::vector<std::string> regimes;
  for (Regime regime : study.regimes) regimes.push_back(regime_name(regime));
  const ordered_json manifest = {{"program",
                                  {{"name", "pandora"},
                                   {"version", build::kVersion},
                                   {"revision", build::kRevision},
                                   {"compiler", build::kCompiler},
                                   {"flags", build::kFlags},
                                   {"cuda", build::kCuda}}},
                                 {"command", record.command},
                                 {"study",
                                  {{"environments", environments},
                                   {"regimes", regimes},
                                   {"T0", study.T0},
                                   {"policies", study.policies},
                                   {"hyperparameters", study.hyperparameters},
                                   {"replications", study.replications},
                                   {"periods", study.periods},
                                   {"seed", study.seed},
                                   {"refit", study.estimation.refit.text()},
                                   {"eta_index", study.estimation.ridge_index},
                                   {"eta_reward", study.estimation.ridge_reward},
                                   {"grid", {study.oracle.grid.shift, study.oracle.grid.scale, study.oracle.grid.cost}},
                                   {"samples", study.oracle.samples},
                                   {"quantile_bins", study.oracle.bins},
                                   {"order_contexts", study.order ? study.order_contexts : 0},
                                   {"boxes", study.dimensions.boxes},
                                   {"d_x", study.dimensions.context},
                                   {"d_w", study.dimensions.output},
                                   {"d", study.dimensions.reward_features},
                                   {"m", study.dimensions.index_size()}}},
                                 {"backend", record.backend},
                                 {"backend_reason", record.backend_reason},
                                 {"engine", study.engine.text()},
                                 {"threads", record.threads},
                                 {"started", record.started},
                                 {"ended", record.ended},
                                 {"wall_seconds", record.wall_seconds}};
  return manifest.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pandora
