#include "host/studies/study/hyperparameter_values.hpp"

#include <algorithm>

#include "host/ground/base/split.hpp"

namespace pandora {

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
