#include "host/cascades/live/rules_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pandora {

using Json = nlohmann::json;

const char* kind_of(const CascadeOptions& cascade) {
  return cascade.rules              ? "indices"
         : cascade.plans.empty()    ? "thresholds"
         : calls_one_model(cascade) ? "router"
                                    : "routed";
}

bool calls_one_model(const CascadeOptions& cascade) {
  const auto is_one = [](const CascadePlan& plan) { return plan.order.size() <= 1; };
  return !cascade.rules && cascade.order.size() <= 1 && std::all_of(cascade.plans.begin(), cascade.plans.end(), is_one);
}

Json record_of(const CascadeOptions& cascade) {
  const Json record = Json::parse(cascade.about, nullptr, false);
  return record.is_object() ? record : Json::object();
}

std::optional<double> counted_judge_usd(const Json& record) {
  const auto usd = record.find("judge_usd");
  return usd != record.end() && usd->is_number() ? std::optional(usd->get<double>()) : std::nullopt;
}

}  // namespace pandora
