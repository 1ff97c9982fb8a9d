#include "host/policies/policy.hpp"

// One line per policy: the function of that name, defined in the file of that name, returns it.
#define PANDORA_POLICIES(register_policy)                                                                    \
  register_policy(oracle) register_policy(online_plugin) register_policy(dow) register_policy(static_plugin) \
      register_policy(linucb_online) register_policy(linucb_static) register_policy(frugalgpt)               \
          register_policy(best_single) register_policy(random_order) register_policy(query_all)

namespace pandora {

namespace policies {
#define PANDORA_DECLARE(name) Policy name();
PANDORA_POLICIES(PANDORA_DECLARE)
}  // namespace policies

const std::vector<Policy>& all_policies() {
#define PANDORA_LIST(name) policies::name(),
  static const std::vector<Policy> list = {PANDORA_POLICIES(PANDORA_LIST)};
  return list;
}

const Policy* find_policy(const std::string& name) {
  for (const Policy& policy : all_policies())
    if (policy.name == name) return &policy;
  return nullptr;
}

}  // namespace pandora
