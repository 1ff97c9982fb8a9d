#include "host/report/compare_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/ground/base/nearest.hpp"
#include "pandora/error.hpp"

namespace pandora {

PolicyName parse_policy_name(const std::string& text, const Plan& plan) {
  const std::size_t slash = text.find('/');
  const PolicyName name{text.substr(0, slash), slash == std::string::npos ? "" : text.substr(slash + 1)};
  std::vector<std::string> known;
  for (const PlannedLane& lane : plan.lanes)
    for (const std::string& own : {lane.policy->name, lane.policy->name + "/" + lane.variant.reward})
      if (std::find(known.begin(), known.end(), own) == known.end()) known.push_back(own);
  if (std::find(known.begin(), known.end(), text) == known.end())
    throw Error(ExitCode::usage, fmt::format("--policy {}: the results have no such policy{}; they have {}", text,
                                             nearest_text(nearest(text, known)), fmt::join(known, ", ")));
  return name;
}

void require_names(const CompareOptions& options, const std::vector<PlannedSetting>& settings) {
  const Study& study = settings[0].setting.study;
  std::vector<std::string> environments;
  for (const PlannedSetting& planned : settings)
    for (const Environment& e : planned.setting.study.environments)
      if (!wanted(environments, e.name) || environments.empty()) environments.push_back(e.name);
  for (const std::string& name : options.environments)
    if (!wanted(environments, name))
      throw Error(ExitCode::usage, fmt::format("--environment {}: the results have none of that name{}", name,
                                               nearest_text(nearest(name, environments))));
  for (const std::string& name : options.regimes)
    if (name != "A" && name != "B") throw Error(ExitCode::usage, fmt::format("--regime {}: use A, B", name));
  for (const int T0 : options.T0)
    if (!wanted(study.T0, T0))
      throw Error(ExitCode::usage, fmt::format("--t0 {}: the results have T0 = {}", T0, fmt::join(study.T0, ", ")));
}

std::string interval_text(const AsymmetricInterval& interval, int decimals) {
  return interval.known()
             ? fmt::format("{} to {}", number_text(interval.low, decimals), number_text(interval.high, decimals))
             : "---";
}

}  // namespace pandora
