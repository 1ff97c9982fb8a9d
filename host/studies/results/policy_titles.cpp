// Policies in the order of the paper's tables.
#include "host/studies/results/policy_titles.hpp"

#include <algorithm>
#include <iterator>

namespace pandora {
namespace {

// A section of the regret tables: the rows of a group with one reward setting, or with all.
struct Section {
  const char* heading;
  PolicyGroup group;
  const char* reward;  // null: all
};
// The paper's rows in their order; the paper does not print the static plug-in with the reward known.
constexpr const char* kNotPrinted = "static_plugin";
constexpr Section kSections[] = {
    {"Reward known", PolicyGroup::weitzman, "known"},
    {"Reward unknown", PolicyGroup::weitzman, "unknown"},
    {"Baselines", PolicyGroup::baseline, nullptr},
    {"Not in the paper", PolicyGroup::baseline, "known"},
    {"Past the paper", PolicyGroup::past_the_paper, nullptr},
    {"Yardsticks", PolicyGroup::yardstick, nullptr},
    {"Own policies", PolicyGroup::registered, nullptr},
};

bool stands_in(const Section& section, const Policy& policy, const std::string& reward) {
  const bool all = section.reward == nullptr, printed = policy.name != kNotPrinted || reward != "known";
  return policy.group == section.group && (all || reward == section.reward) &&
         (policy.group != PolicyGroup::baseline || printed == all);
}

PolicyTitle title_of(const Section& section, const Policy& policy, const std::string& reward) {
  const std::string& name = policy.title.empty() ? policy.name : policy.title;
  const bool yardstick = policy.group == PolicyGroup::yardstick,
             said_above = policy.group == PolicyGroup::weitzman ||
                          (policy.group == PolicyGroup::baseline && reward == "unknown");
  const bool unsaid = yardstick || reward == "none";
  return {policy.name,
          reward,
          name + (said_above || unsaid ? "" : " (reward " + reward + ")"),
          (policy.short_title.empty() ? name : policy.short_title) + (unsaid ? "" : ", " + reward),
          section.heading,
          reward == "known",
          yardstick};
}

// The reward settings of a policy, each once.
std::vector<std::string> rewards_of(const Policy& policy) {
  std::vector<std::string> out;
  for (const PolicyVariant& variant : policy.variants(Grids{})) add_new(out, variant.reward);
  return out;
}

}  // namespace

std::vector<PolicyTitle> policy_titles(const Summary& summary) {
  std::vector<PolicyTitle> titles;
  for (const Section& section : kSections)
    for (const Policy& policy : all_policies())
      for (const std::string& reward : rewards_of(policy))
        if (policy.name != "oracle" && stands_in(section, policy, reward))
          titles.push_back(title_of(section, policy, reward));
  for (const SummaryRow& row : summary.rows)  // from another program
    if (row.policy != "oracle" && std::ranges::none_of(titles, [&](const PolicyTitle& t) {
          return t.policy == row.policy && t.reward == row.reward;
        }))
      titles.push_back(title_of(std::end(kSections)[-1], Policy{.name = row.policy}, row.reward));
  return titles;
}

std::string environment_title(const std::string& name) {
  if (name == "uniform") return "Uniform";
  if (name == "gaussian") return "Truncated Gaussian";
  if (name == "student_t5") return "Truncated Student's t₅";
  return name;
}

}  // namespace pandora
