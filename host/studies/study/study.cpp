#include "host/studies/study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernels/base/assert.hpp"
#include "pandora/error.hpp"

namespace pandora {

std::size_t Units::run_of(std::size_t index) const {
  PANDORA_ASSERT(index < size());
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), index, [](std::size_t i, const Run& run) { return i < run.first; });
  return static_cast<std::size_t>(after - runs_.begin()) - 1;
}

Unit Units::operator[](std::size_t index) const {
  const Run& run = runs_[run_of(index)];
  Unit unit = run.unit;
  unit.replication += static_cast<std::uint32_t>(index - run.first);
  return unit;
}

void Units::append(const Unit& first, std::size_t count) {
  if (count == 0) return;
  if (!runs_.empty()) {
    Run& last = runs_.back();
    if (last.unit.environment == first.environment && last.unit.regime == first.regime &&
        last.unit.replication + last.count == first.replication) {
      last.count += count;
      return;
    }
  }
  runs_.push_back({first, size(), count});
}

void Units::append(const Units& others, std::size_t first, std::size_t last) {
  while (first < last) {
    const Run& run = others.runs_[others.run_of(first)];
    const std::size_t end = std::min(last, run.first + run.count);
    append(others[first], end - first);
    first = end;
  }
}

std::string unit_name(const Unit& unit) {
  return fmt::format("{}/{}/{}", unit.environment.name, regime_name(unit.regime), unit.replication);
}

std::string lane_name(const PlannedLane& lane) {
  return fmt::format("{}/{}/{}{}{}", lane.policy->uses_calibration ? fmt::format("{}", lane.T0) : "-",
                     lane.policy->name, lane.variant.reward, lane.variant.hyperparameter.empty() ? "" : "/",
                     lane.variant.hyperparameter);
}

namespace {

// The variant with what the study says about estimation.
PolicyVariant under(const Study& study, PolicyVariant variant) {
  if (!variant.lane) return variant;
  variant.lane = [lane = std::move(variant.lane), estimation = study.estimation](const Replication& replication,
                                                                                 int T0) {
    const Tape& tape = replication.tape;
    return with_estimation(lane(replication, T0), estimation, tape.boxes(), tape.contexts.index_size,
                           tape.contexts.reward_features, tape.online_rows);
  };
  return variant;
}

}  // namespace

Plan make_plan(const Study& study) {
  Plan plan;
  plan.estimation = study.estimation;
  std::set<std::string> names;
  for (int T0 : study.T0) plan.calibration_periods = std::max(plan.calibration_periods, T0);
  for (const Policy& policy : all_policies()) {
    const bool wanted =
        study.policies.empty() ? !policy.by_name_only : std::ranges::count(study.policies, policy.name) > 0;
    if (!wanted && policy.name != "oracle") continue;
    for (const PolicyVariant& variant : policy.variants(study.hyperparameters))
      for (int T0 : study.T0) {
        if (policy.needs_calibration && T0 == 0) continue;
        plan.lanes.push_back({&policy, under(study, variant), policy.uses_calibration ? T0 : 0});
        if (const std::string name = lane_name(plan.lanes.back()); !names.insert(name).second)
          throw Error(ExitCode::usage, fmt::format("policy {}: two of its variants are named {}; give each a reward or "
                                                   "hyperparameter text of its own",
                                                   policy.name, name.substr(name.find('/') + 1)));
        if (!policy.uses_calibration) break;
      }
  }
  for (const Environment& environment : study.environments)
    for (const Regime regime : study.regimes)
      plan.units.append({environment, regime, 0}, static_cast<std::size_t>(study.replications));
  return plan;
}

Preparation preparation_of(const Study& study, const Plan& plan, const Unit& unit) {
  return {{study.dimensions, unit.environment, unit.regime, unit.replication, study.seed, plan.calibration_periods,
           study.periods, study.oracle},
          study.regret,
          study.order_contexts};
}

}  // namespace pandora
