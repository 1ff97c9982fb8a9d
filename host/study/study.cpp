#include "host/study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "pandora/error.hpp"

namespace pandora {

std::string EngineSettings::text() const {
  if (kind == Kind::reference) return "reference, double precision";
  return fmt::format("blocked, {} precision, blocks of {}", precision == Precision::fp32 ? "single" : "double", block);
}

std::string unit_name(const Unit& unit) {
  return fmt::format("{}/{}/{}", unit.environment.name, regime_name(unit.regime), unit.replication);
}

std::string lane_name(const PlannedLane& lane) {
  return fmt::format("{}/{}/{}{}{}", lane.policy->uses_calibration ? fmt::format("{}", lane.T0) : "-",
                     lane.policy->name, lane.variant.reward, lane.variant.hyperparameter.empty() ? "" : "/",
                     lane.variant.hyperparameter);
}

Plan make_plan(const Study& study) {
  Plan plan;
  std::set<std::string> names;
  for (int T0 : study.T0) plan.calibration_periods = std::max(plan.calibration_periods, T0);
  for (const Policy& policy : all_policies()) {
    const bool wanted = study.policies.empty() ||
                        std::find(study.policies.begin(), study.policies.end(), policy.name) != study.policies.end();
    if (!wanted && policy.name != "oracle") continue;
    for (const PolicyVariant& variant : policy.variants(study.hyperparameters))
      for (int T0 : study.T0) {
        if (policy.needs_calibration && T0 == 0) continue;
        plan.lanes.push_back({&policy, variant, policy.uses_calibration ? T0 : 0});
        if (const std::string name = lane_name(plan.lanes.back()); !names.insert(name).second)
          throw Error(ExitCode::usage, fmt::format("policy {}: two of its variants are named {}; give each a reward or "
                                                   "hyperparameter text of its own",
                                                   policy.name, name.substr(name.find('/') + 1)));
        if (!policy.uses_calibration) break;
      }
  }
  for (const Environment& environment : study.environments)
    for (const Regime regime : study.regimes)
      for (int r = 0; r < study.replications; ++r)
        plan.units.push_back({environment, regime, static_cast<std::uint32_t>(r)});
  return plan;
}

}  // namespace pandora
