#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "host/ground/base/printable.hpp"
#include "host/ground/statistics/statistics.hpp"
#include "host/studies/results/regret_tables.hpp"

namespace pandora {
namespace {

// A section of the regret tables: the rows of a group with one of the reward settings, or with all.
struct Section {
  const char* heading;
  PolicyGroup group;
  const char* reward;  // null: all
};
// The paper's rows in their order; it does not print the static plug-in with the reward known.
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
  if (policy.group != section.group || (section.reward != nullptr && reward != section.reward)) return false;
  const bool not_printed = policy.name == kNotPrinted && reward == "known";
  return policy.group != PolicyGroup::baseline || not_printed == (section.reward != nullptr);
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
  for (const PolicyVariant& variant : policy.variants(Grids{}))
    if (std::ranges::count(out, variant.reward) == 0) out.push_back(variant.reward);
  return out;
}

bool beats_the_benchmark(const SummaryRow& row) {
  return row.regret.mean + row.regret.half_width_95 < 0.0;
}

}  // namespace

bool competes(const SummaryRow& row) {
  const Policy* const policy = find_policy(row.policy);
  return !row.told && (policy == nullptr || policy->group != PolicyGroup::yardstick);
}

std::vector<PolicyTitle> policy_titles(const Summary& summary) {
  std::vector<PolicyTitle> titles;
  for (const Section& section : kSections)
    for (const Policy& policy : all_policies())
      for (const std::string& reward : rewards_of(policy))
        if (policy.name != "oracle" && stands_in(section, policy, reward))
          titles.push_back(title_of(section, policy, reward));
  for (const SummaryRow& row : summary.rows)  // of another program
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

std::string benchmark_note(std::span<const SummaryRow> rows) {
  const SummaryRow* least = nullptr;
  std::size_t count = 0, all = 0;
  for (const SummaryRow& row : rows) {
    all += competes(row) ? 1 : 0;
    if (!competes(row) || !beats_the_benchmark(row)) continue;
    ++count;
    if (least == nullptr || row.regret.mean < least->regret.mean) least = &row;
  }
  if (least == nullptr) return "";
  return fmt::format(
      "{} of {} regrets {} negative beyond the 95% interval (least: {} in {}/{}, {}): the benchmark is not optimal "
      "there. Its indices are not those of the costs and outputs that are drawn, or boxes depend on each other given "
      "the request, or a policy sees more than the request (docs/changing.md).",
      count, all, count == 1 ? "is" : "are", least->policy, least->environment, least->regime,
      plus_minus(least->regret));
}

std::string budget_note(std::span<const SummaryRow> rows, std::span<const Pacing> budgets) {
  const auto spent = [&](std::size_t k) {
    const SummaryRow& row = rows[k];
    return budgets[k].of == Pacing::Of::queries ? row.queries
                                                : Estimate{row.cost.mean / 1000.0, row.cost.half_width_95 / 1000.0};
  };
  const auto excess = [&](std::size_t k) { return spent(k).mean - budgets[k].budget; };
  std::size_t over = 0, all = 0, most = rows.size();
  std::set<double> different;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (!competes(rows[k]) || budgets[k].of == Pacing::Of::nothing) continue;
    ++all;
    different.insert(budgets[k].budget);
    over += excess(k) - spent(k).half_width_95 > 0.0 ? 1 : 0;
    if (most == rows.size() || excess(k) > excess(most)) most = k;
  }
  if (all == 0) return "";
  const bool several = different.size() > 1;
  return fmt::format(
      "Budget{} of {:g} {} per period: {} of {} rows {} more{}, beyond the 95% interval (most{}: {} in {}/{}, "
      "{:.4f}±{:.4f}{}).",
      several ? "s" : "", fmt::join(different, ", "), budgets[most].of == Pacing::Of::queries ? "boxes" : "of costs",
      over, all, over == 1 ? "spends" : "spend", several ? " than their own" : "", several ? " beyond it" : "",
      rows[most].policy, rows[most].environment, rows[most].regime, spent(most).mean, spent(most).half_width_95,
      several ? fmt::format(" of {:g}", budgets[most].budget) : "");
}

void EdgeNote::see(const std::string& title, const std::string& chosen, const std::vector<std::string>& tried) {
  for (const auto& [name, text] : hyperparameter_values(chosen)) {
    const std::optional<double> value = number_of(text);
    if (!value) continue;
    bool less = false, greater = false;
    for (const std::string& other : tried)
      if (const std::optional<double> x = number_of(hyperparameter_of(other, name)); x) {
        less = less || *x < *value;
        greater = greater || *x > *value;
      }
    if (less == greater || (greater && *value == 0.0)) continue;
    auto own = std::ranges::find(ends_, title, &Ends::first);
    if (own == ends_.end()) own = ends_.insert(ends_.end(), {title, {}});
    if (const std::string end = fmt::format("{} = {}", name, text); std::ranges::count(own->second, end) == 0)
      own->second.push_back(end);
  }
}

void EdgeNote::see(const Summary& summary) {
  for (const PolicyTitle& title : policy_titles(summary)) {
    std::vector<std::string> tried, best;
    for (const SummaryRow& row : summary.rows) {
      if (row.policy != title.policy || row.reward != title.reward) continue;
      tried.push_back(row.hyperparameter);
      if (row.best) best.push_back(row.hyperparameter);
    }
    for (const std::string& chosen : best) see(title.brief, chosen, tried);
  }
}

void EdgeNote::add_to(std::vector<std::string>& notes) const {
  std::string list;
  for (const auto& [title, ends] : ends_)
    list += fmt::format("{}{} ({})", list.empty() ? "" : "; ", title, fmt::join(ends, ", "));
  if (!list.empty())
    notes.push_back(fmt::format("Best at an end of its values, where a wider grid may have less regret: {}.", list));
}

}  // namespace pandora
