#include "host/results/policy_titles.hpp"

#include <algorithm>

namespace pandora {

std::vector<PolicyTitle> policy_titles(const Summary& summary) {
  std::vector<PolicyTitle> titles = {
      {"online_plugin", "known", "Online Plug-in Weitzman", "Online plug-in, known", "Reward known", true},
      {"dow", "known", "DOW", "DOW, known", "Reward known", true},
      {"online_plugin", "unknown", "Online Plug-in Weitzman", "Online plug-in, unknown", "Reward unknown"},
      {"dow", "unknown", "DOW", "DOW, unknown", "Reward unknown"},
      {"static_plugin", "unknown", "Static Plug-in Weitzman", "Static plug-in, unknown", "Baselines"},
      {"linucb_online", "none", "LinUCB (online)", "LinUCB (online)", "Baselines"},
      {"linucb_static", "none", "LinUCB (static)", "LinUCB (static)", "Baselines"},
      {"frugalgpt", "known", "FrugalGPT (reward known)", "FrugalGPT, known", "Baselines", true},
      {"static_plugin", "known", "Static Plug-in Weitzman (reward known)", "Static plug-in, known", "Not in the paper",
       true},
      {"best_single", "none", "Best single box", "Best single box", "Yardsticks", false, true},
      {"random_order", "known", "Random order", "Random order", "Yardsticks", true, true},
      {"query_all", "known", "Query all", "Query all", "Yardsticks", true, true},
      {"informed_weitzman", "known", "Informed Weitzman", "Informed", "Yardsticks", true, true},
  };
  for (const SummaryRow& row : summary.rows)
    if (row.policy != "oracle" && std::none_of(titles.begin(), titles.end(), [&](const PolicyTitle& t) {
          return t.policy == row.policy && t.reward == row.reward;
        }))
      titles.push_back({row.policy, row.reward, row.policy + " (reward " + row.reward + ")",
                        row.policy + ", " + row.reward, "Own policies", row.reward == "known"});
  return titles;
}

std::string environment_title(const std::string& name) {
  if (name == "uniform") return "Uniform";
  if (name == "gaussian") return "Truncated Gaussian";
  if (name == "student_t5") return "Truncated Student's t₅";
  return name;
}

}  // namespace pandora
