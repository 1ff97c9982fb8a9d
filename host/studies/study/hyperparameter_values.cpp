#include "host/studies/study/hyperparameter_values.hpp"

#include <algorithm>
#include <charconv>

#include "host/ground/base/split.hpp"

namespace pandora {

std::vector<std::pair<std::string, std::string>> hyperparameter_values(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& item : split(text, ';')) {
    const std::size_t sign = item.find('=');
    if (sign == std::string::npos || sign == 0)
      out.emplace_back("variant", item);
    else
      out.emplace_back(item.substr(0, sign), item.substr(sign + 1));
  }
  return out;
}

std::vector<std::string> hyperparameter_columns(const Plan& plan) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
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

std::optional<double> number_of(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace pandora
