#include <fmt/format.h>

#include <algorithm>

#include "pandora/error.hpp"
#include "pandora/policy.hpp"

// The function of that name, defined in the file of that name (frugal_order and frugal_stop: in frugal_halves.cpp),
// returns the policy.
#define PANDORA_POLICIES(register_policy)                                                                           \
  register_policy(oracle) register_policy(online_plugin) register_policy(dow) register_policy(static_plugin)        \
      register_policy(linucb_online) register_policy(linucb_static) register_policy(frugalgpt)                      \
          register_policy(best_single) register_policy(random_order) register_policy(query_all)                     \
              register_policy(shrunk_weitzman) register_policy(thompson_weitzman)                                   \
                  register_policy(epsilon_greedy_weitzman) register_policy(atsidakou) register_policy(frugal_order) \
                      register_policy(frugal_stop) register_policy(liu) register_policy(informed_weitzman)          \
                          register_policy(hindsight) register_policy(best_cascade)

namespace pandora {

namespace policies {
#define PANDORA_DECLARE(name) Policy name();
PANDORA_POLICIES(PANDORA_DECLARE)
}  // namespace policies

namespace {

std::list<Policy>& list() {
#define PANDORA_LIST(name) policies::name(),
  static std::list<Policy> policies = {PANDORA_POLICIES(PANDORA_LIST)};
  return policies;
}

std::uint64_t registrations = 0;

bool is_built_in(const Policy& policy) {
#define PANDORA_IS(is) || policy.name == #is
  return false PANDORA_POLICIES(PANDORA_IS);
}

// Plans point to policies that were replaced.
void retire(const Policy& policy) {
  static std::list<Policy> retired;
  const auto at = std::find_if(list().begin(), list().end(), [&](const Policy& p) { return &p == &policy; });
  retired.splice(retired.end(), list(), at);
}

}  // namespace

const std::list<Policy>& all_policies() {
  return list();
}

const Policy* find_policy(const std::string& name) {
  for (const Policy& policy : list())
    if (policy.name == name) return &policy;
  return nullptr;
}

void register_policy(Policy policy) {
  if (!is_plain_name(policy.name))
    throw Error(ExitCode::usage, fmt::format("policy \"{}\": use letters, digits, _ and - in its name", policy.name));
  const Policy* const taken = find_policy(policy.name);
  if (taken != nullptr && (taken->code.empty() || policy.code.empty()))
    throw Error(ExitCode::usage, fmt::format("policy {}: the name is taken; choose another", policy.name));
  if (!policy.variants)
    throw Error(ExitCode::usage, fmt::format("policy {}: has no variants; give at least one", policy.name));
  for (const Hyperparameter& h : policy.hyperparameters)
    if (!is_plain_name(h.name))
      throw Error(ExitCode::usage,
                  fmt::format("policy {}: hyperparameter \"{}\": use letters, digits, _ and - in its name", policy.name,
                              h.name));
  if (taken != nullptr) retire(*taken);
  list().push_back(std::move(policy));
  ++registrations;
}

bool has_registered_policies() {
  return std::any_of(list().begin(), list().end(),
                     [](const Policy& policy) { return policy.code.empty() && !is_built_in(policy); });
}

std::uint64_t registrations_of_policies() {
  return registrations;
}

std::vector<Hyperparameter> all_hyperparameters() {
  std::vector<Hyperparameter> all;
  for (const Policy& policy : list())
    for (const Hyperparameter& h : policy.hyperparameters)
      if (std::none_of(all.begin(), all.end(), [&](const Hyperparameter& other) { return other.name == h.name; }))
        all.push_back(h);
  return all;
}

}  // namespace pandora
