#include "host/studies/study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/printable.hpp"
#include "host/lanes/model/ties.hpp"
#include "host/lanes/model/wider_actions.hpp"
#include "kernels/base/assert.hpp"

namespace pandora {

std::size_t Units::run_of(std::size_t index) const {
  PANDORA_ASSERT(index < size());
  return static_cast<std::size_t>(std::ranges::upper_bound(runs_, index, {}, &Run::first) - runs_.begin()) - 1;
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

// The number after the name with which the text begins, if `fits` accepts it.
template <class Fits>
std::optional<double> number_behind(const std::string& name, const std::string& text, Fits fits) {
  const std::optional<double> number = text.starts_with(name) ? number_of(text.substr(name.size())) : std::nullopt;
  return number && fits(*number) ? number : std::nullopt;
}

// The variant with the study's settings of estimation.
PolicyVariant under(const Study& study, PolicyVariant variant) {
  if (!variant.lane) return variant;
  variant.lane = [lane = std::move(variant.lane), estimation = study.estimation, budget = study.budget,
                  actions = study.actions, ties = study.ties](const Replication& replication, int T0) {
    const Tape& tape = replication.tape;
    LaneSpec out = with_estimation(lane(replication, T0), estimation, tape.boxes(), tape.contexts.index_size,
                                   tape.contexts.reward_features, tape.online_rows);
    out.pacing = budget;
    if (out.fits_tied()) tie_slopes(out, ties, tape.boxes());
    if (actions.wide()) play_arms(out, actions, tape.boxes());
    return out;
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
    if (!lists(study.policies, policy) && policy.name != "oracle") continue;
    const auto own = study.hyperparameters_of.find(policy.name);
    const Grids& grids = own == study.hyperparameters_of.end() ? study.hyperparameters : own->second;
    for (const PolicyVariant& variant : policy.variants(grids))
      for (int T0 : study.T0) {
        if (policy.needs_calibration && T0 == 0) continue;
        plan.lanes.push_back({&policy, under(study, variant), policy.uses_calibration ? T0 : 0});
        if (const std::string name = lane_name(plan.lanes.back()); !names.insert(name).second)
          fail(ExitCode::usage,
               "policy {}: two of its variants are named {}; give each a reward or hyperparameter text of its own",
               policy.name, name.substr(name.find('/') + 1));
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
           study.periods, study.oracle, study.feedback, study.budget, study.actions},
          study.regret,
          study.order_contexts};
}

RefitSchedule parse_refit(const std::string& text) {
  using Kind = RefitSchedule::Kind;
  if (text == "tracking") return {.kind = Kind::tracking};
  if (text == "every_period") return {.kind = Kind::every};
  // As for the integers of a study, 1e3 is a whole number.
  const auto is_count = [](double k) { return k >= 1 && k <= std::numeric_limits<int>::max() && k == std::floor(k); };
  if (const auto every = number_behind("every:", text, is_count))
    return {.kind = Kind::every, .every = static_cast<int>(*every)};
  if (const auto growth = number_behind("geometric:", text, [](double g) { return g > 1.0 && g <= 1e6; }))
    return {.kind = Kind::geometric, .growth = *growth};
  fail(
      ExitCode::usage,
      "\"{}\" is not a schedule; use every_period, every:k with an integer k >= 1, geometric:g with g > 1, or tracking",
      text);
}

RewardSchedule parse_reward_refit(const std::string& text) {
  if (text == "tracking") return {};
  if (const auto growth = number_behind("geometric:", text, [](double g) { return g >= 1.0 && g <= 1e6; }))
    return {.growth = *growth, .steps = false};
  fail(ExitCode::usage, "\"{}\" is not a schedule of theta_hat; use tracking, or geometric:g with g >= 1", text);
}

std::string refit_text(const RefitSchedule& schedule) {
  if (schedule.kind == RefitSchedule::Kind::tracking) return "tracking";
  if (schedule.kind == RefitSchedule::Kind::geometric) return fmt::format("geometric:{}", schedule.growth);
  return schedule.every == 1 ? "every_period" : fmt::format("every:{}", schedule.every);
}

std::vector<std::pair<std::string, std::string>> hyperparameter_values(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& item : split(text, ';')) {
    const std::size_t sign = item.find('=');
    const bool named = sign != std::string::npos && sign > 0;
    out.emplace_back(named ? item.substr(0, sign) : "variant", named ? item.substr(sign + 1) : item);
  }
  return out;
}

std::vector<std::string> hyperparameter_columns(const Plan& plan) {
  std::vector<std::string> names;
  for (const Policy& policy : all_policies())
    for (const Hyperparameter& h : policy.hyperparameters)
      if (!policy.by_name_only) add_new(names, h.name);
  for (const PlannedLane& lane : plan.lanes)
    for (const auto& [name, value] : hyperparameter_values(lane.variant.hyperparameter)) add_new(names, name);
  return names;
}

std::string hyperparameter_of(const std::string& text, const std::string& name) {
  for (const auto& [own, value] : hyperparameter_values(text))
    if (own == name) return value;
  return "";
}

}  // namespace pandora
