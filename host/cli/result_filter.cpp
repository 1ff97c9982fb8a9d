#include "host/cli/result_filter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "host/ground/base/nearest.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

bool among(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

void require_known(const char* option, const std::vector<std::string>& wanted, const std::vector<std::string>& known) {
  for (const std::string& name : wanted)
    if (!among(known, name))
      throw Error(ExitCode::usage, fmt::format("{} {}: the results have none of that name{}; they have {}", option,
                                               name, nearest_text(nearest(name, known)), fmt::join(known, ", ")));
}

}  // namespace

void ResultFilter::add_to(CLI::App& command) {
  command.add_option("--environment", environments_, "only these environments, such as uniform,gaussian")
      ->delimiter(',');
  command.add_option("--regime", regimes_, "only A or B")->delimiter(',');
  command.add_option("--t0", T0_, "only these T0")->delimiter(',');
  command.add_option("--policy", policies_, "only these policies, such as dow,online_plugin")->delimiter(',');
}

void ResultFilter::apply(std::vector<SettingSummary>& settings) const {
  std::vector<std::string> environments, regimes, policies;
  const Study& study = settings[0].setting.study;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const SettingSummary& s : settings) {
    for (const Environment& e : s.setting.study.environments) add(environments, e.name);
    for (const Regime regime : s.setting.study.regimes) add(regimes, regime_name(regime));
    for (const SummaryRow& row : s.summary.rows) add(policies, row.policy);
  }
  require_known("--environment", environments_, environments);
  require_known("--regime", regimes_, regimes);
  for (const int T0 : T0_)
    if (std::find(study.T0.begin(), study.T0.end(), T0) == study.T0.end())
      throw Error(ExitCode::usage, fmt::format("--t0 {}: the results have T0 = {}", T0, fmt::join(study.T0, ", ")));
  require_known("--policy", policies_, policies);
  for (SettingSummary& s : settings) {
    if (!environments_.empty()) {
      const auto other = [&](const auto& row) { return !among(environments_, row.environment); };
      std::erase_if(s.summary.rows, other);
      std::erase_if(s.summary.oracle, other);
      std::erase_if(s.summary.order, other);
    }
    if (!regimes_.empty()) {
      const auto other = [&](const auto& row) { return !among(regimes_, row.regime); };
      std::erase_if(s.summary.rows, other);
      std::erase_if(s.summary.oracle, other);
      std::erase_if(s.summary.order, other);
      std::erase_if(s.setting.study.regimes, [&](Regime regime) { return !among(regimes_, regime_name(regime)); });
    }
    if (!T0_.empty()) {
      const auto other = [&](int T0) { return std::find(T0_.begin(), T0_.end(), T0) == T0_.end(); };
      std::erase_if(s.summary.rows, [&](const SummaryRow& row) { return other(row.T0); });
      std::erase_if(s.setting.study.T0, other);
    }
    if (policies_.empty()) continue;
    std::erase_if(s.summary.rows, [&](const SummaryRow& row) { return !among(policies_, row.policy); });
    s.summary.order.clear();
    s.setting.study.policies = policies_;
  }
}

}  // namespace pandora::cli
