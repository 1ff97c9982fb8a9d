// The list of policies: the paper's, the rivals', and those that programs register.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "host/ground/base/printable.hpp"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"
#include "rivals.hpp"

namespace pandora {

// Defined in the files of this folder, which a unity build includes before this one.
// NOLINTBEGIN(readability-redundant-declaration)
namespace policies {
Policy oracle(), online_plugin(), dow(), static_plugin(), linucb_online(), linucb_static(), frugalgpt(), best_single(),
    random_order(), query_all(), shrunk_weitzman(), thompson_weitzman(), epsilon_greedy_weitzman(),
    empirical_weitzman(), tied_weitzman(), linucb_router(), hindsight(), best_cascade(), best_of_n(),
    commit_or_search();
}  // namespace policies
// NOLINTEND(readability-redundant-declaration)

namespace {

// In the order of the tables. The rivals' files come in the order of their names.
std::list<Policy> built_in_policies() {
  using namespace policies;
  std::list<Policy> all;
  for (const auto make : {oracle, online_plugin, dow, static_plugin, linucb_online, linucb_static, frugalgpt,
                          best_single, random_order, query_all, shrunk_weitzman, thompson_weitzman,
                          epsilon_greedy_weitzman, empirical_weitzman, tied_weitzman, linucb_router})
    all.push_back(make());
  std::list<Policy> rivals = rivals::all();
  rivals.sort([](const Policy& a, const Policy& b) { return a.group < b.group; });  // stable: yardsticks last
  all.splice(all.end(), rivals);
  all.push_back(hindsight());
  all.push_back(best_cascade());
  all.push_back(best_of_n());
  all.push_back(commit_or_search());
  return all;
}

std::list<Policy>& list() {
  static std::list<Policy> policies = built_in_policies();
  return policies;
}

std::uint64_t registrations = 0;
bool registered_without_code = false;

// A study has both [hyperparameters.POLICY] and hyperparameters.NAME, so no name may be both.
void require_names(const Policy& policy) {
  const auto refuse = [&policy](const std::string& name, const std::string& why) {
    throw Error(ExitCode::usage, fmt::format("policy {}: hyperparameter \"{}\": {}", policy.name, name, why));
  };
  for (const Hyperparameter& h : policy.hyperparameters) {
    if (!is_plain_name(h.name)) refuse(h.name, "use letters, digits, _ and - in its name");
    if (h.name == policy.name || find_policy(h.name) != nullptr)
      refuse(h.name, "a policy has that name; choose another");
    for (const std::string& text : h.texts)
      if (!is_hyperparameter_text(text))
        refuse(h.name, fmt::format("\"{}\": use at most 64 letters, digits and _-+.: in a value", printable(text, 80)));
  }
  for (const Hyperparameter& h : all_hyperparameters())
    if (h.name == policy.name)
      throw Error(ExitCode::usage, fmt::format("policy {}: a hyperparameter has that name; choose another", h.name));
}

// Keeps a replaced policy, because plans still point to it.
void retire(const Policy& policy) {
  static std::list<Policy> retired;
  const auto found = std::find_if(list().begin(), list().end(), [&](const Policy& p) { return &p == &policy; });
  retired.splice(retired.end(), list(), found);
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
  require_names(policy);
  if (taken != nullptr) retire(*taken);
  registered_without_code = registered_without_code || policy.code.empty();
  list().push_back(std::move(policy));
  ++registrations;
}

bool has_registered_policies() {
  return registered_without_code;
}

std::uint64_t registrations_of_policies() {
  return registrations;
}

bool is_hyperparameter_text(const std::string& text) {
  constexpr const char* kOther = "_-+.:";
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || std::strchr(kOther, c) != nullptr;
  });
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
