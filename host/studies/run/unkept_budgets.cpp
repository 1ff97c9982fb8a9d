// Budgets of cost that nothing can keep, told before a study runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "host/lanes/model/constrained.hpp"
#include "host/studies/run/run_study.hpp"

namespace pandora {
namespace {

// What the benchmark spends at the least, over some replications of an (environment, regime).
struct Least {
  double mean = 0.0, greatest = 0.0;
};

Least least_of(const Study& study, const Plan& plan, const Environment& environment, Regime regime) {
  constexpr int kReplications = 5;
  const int n = std::min(study.replications, kReplications);
  Least out;
  for (int r = 0; r < n; ++r) {
    const double spent =
        least_spending(preparation_of(study, plan, {environment, regime, static_cast<std::uint32_t>(r)}).request);
    out.mean += spent / n;
    out.greatest = std::max(out.greatest, spent);
  }
  return out;
}

// What is drawn in a setting, as far as settings differ: their budgets do not decide it.
std::string drawn_in(const Setting& setting) {
  std::string out;
  for (const auto& [key, value] : setting.varied)
    if (!key.starts_with("budget.")) out += key + "=" + value + ";";
  return out;
}

}  // namespace

std::string unkept_budgets(const std::vector<PlannedSetting>& settings) {
  std::map<std::string, Least> known;
  std::string list;
  std::size_t count = 0;
  double enough = 0.0;
  for (const PlannedSetting& planned : settings) {
    const Study& study = planned.setting.study;
    if (study.budget.of != Pacing::Of::costs) continue;
    for (const Environment& environment : study.environments)
      for (const Regime regime : study.regimes) {
        // A few periods say nothing of those in which boxes come and go or costs move; costs behind drawn indices are none
        // of the oracle's inputs.
        if (moves(environment) || !environment.arrives.empty() || !environment.leaves.empty() ||
            environment.indices == Indices::linear)
          continue;
        const std::string cell = environment.name + "/" + regime_name(regime);
        const auto [at, is_new] = known.try_emplace(drawn_in(planned.setting) + cell);
        if (is_new) at->second = least_of(study, planned.plan, environment, regime);
        if (at->second.mean <= study.budget.budget) continue;
        constexpr std::size_t kTold = 4;
        if (++count <= kTold)
          list += fmt::format("{}{:g} in {} (at the least {:.3g})", list.empty() ? "" : ", ", study.budget.budget, cell,
                              at->second.mean);
        enough = std::max(enough, at->second.greatest);
      }
  }
  if (count == 0) return "";
  return fmt::format(
      "budget.cost: nothing keeps to {}{}: a box must be opened in every period, and the cheapest costs more. Policies and "
      "the benchmark spend more than the budget there; give {:.2g} or more",
      list, count > 4 ? fmt::format(" and {} more", count - 4) : "", std::ceil(100.0 * enough) / 100.0);
}

}  // namespace pandora
