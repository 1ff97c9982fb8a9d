// What a fit wrote beside its cascade.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "pandora/cascade.hpp"

namespace pandora {

/// An empty object where there is none.
inline nlohmann::json record_of(const CascadeOptions& cascade) {
  nlohmann::json record = nlohmann::json::parse(cascade.about, nullptr, false);
  return record.is_object() ? record : nlohmann::json::object();
}

/// Dollars of judging a call, as the fit counted them; none where nobody said.
inline std::optional<double> counted_judge_usd(const nlohmann::json& record) {
  const auto usd = record.find("judge_usd");
  return usd != record.end() && usd->is_number() ? std::optional(usd->get<double>()) : std::nullopt;
}

}  // namespace pandora
