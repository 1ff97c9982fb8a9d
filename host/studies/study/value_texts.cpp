#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/ground/base/split.hpp"
#include "host/studies/study/study.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// The number behind the name that the text begins with, if `fits` holds for it.
template <class Fits>
std::optional<double> number_behind(const std::string& name, const std::string& text, Fits fits) {
  const std::optional<double> number = text.starts_with(name) ? number_of(text.substr(name.size())) : std::nullopt;
  return number && fits(*number) ? number : std::nullopt;
}

}  // namespace

RefitSchedule parse_refit(const std::string& text) {
  using Kind = RefitSchedule::Kind;
  if (text == "tracking") return {.kind = Kind::tracking};
  if (text == "every_period") return {.kind = Kind::every};
  // As the integers of a study, 1e3 is one.
  const auto is_count = [](double k) { return k >= 1 && k <= std::numeric_limits<int>::max() && k == std::floor(k); };
  if (const auto every = number_behind("every:", text, is_count))
    return {.kind = Kind::every, .every = static_cast<int>(*every)};
  if (const auto growth = number_behind("geometric:", text, [](double g) { return g > 1.0 && g <= 1e6; }))
    return {.kind = Kind::geometric, .growth = *growth};
  throw Error(ExitCode::usage,
              fmt::format("\"{}\" is not a schedule; use every_period, every:k with an integer k >= 1, geometric:g "
                          "with g > 1, or tracking",
                          text));
}

RewardSchedule parse_reward_refit(const std::string& text) {
  if (text == "tracking") return {};
  if (const auto growth = number_behind("geometric:", text, [](double g) { return g >= 1.0 && g <= 1e6; }))
    return {.growth = *growth, .steps = false};
  throw Error(ExitCode::usage,
              fmt::format("\"{}\" is not a schedule of theta_hat; use tracking, or geometric:g with g >= 1", text));
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
  const auto add = [&names](const std::string& name) {
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  };
  for (const Policy& policy : all_policies())
    for (const Hyperparameter& h : policy.hyperparameters)
      if (!policy.by_name_only) add(h.name);
  for (const PlannedLane& lane : plan.lanes)
    for (const auto& [name, value] : hyperparameter_values(lane.variant.hyperparameter)) add(name);
  return names;
}

std::string hyperparameter_of(const std::string& text, const std::string& name) {
  for (const auto& [own, value] : hyperparameter_values(text))
    if (own == name) return value;
  return "";
}

}  // namespace pandora
