#include "host/studies/results/edge_note.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "host/ground/base/split.hpp"
#include "host/studies/results/policy_titles.hpp"
#include "host/studies/study/hyperparameter_values.hpp"

namespace pandora {

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
    auto own = std::find_if(ends_.begin(), ends_.end(), [&](const auto& end) { return end.first == title; });
    if (own == ends_.end()) own = ends_.insert(ends_.end(), {title, {}});
    const std::string end = name + " = " + text;
    if (std::find(own->second.begin(), own->second.end(), end) == own->second.end()) own->second.push_back(end);
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
