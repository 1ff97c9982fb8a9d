// What is said where nothing of two sides can be paired.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/report/cells.hpp"
#include "host/studies/study/environment_options.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

using Names = std::vector<std::string>;

// What a folder has of each kind; of what a comparison asks for alone, where that is given.
struct Offer {
  Names settings, cells, T0, policies;

  Offer(const StoredResults& results, const CompareOptions& asked) {
    for (const PlannedSetting& planned : results.settings()) {
      const Study& study = planned.setting.study;
      add_new(settings, planned.setting.varied.empty() ? "one without [vary]" : planned.setting.label());
      for (const Environment& environment : study.environments)
        for (const Regime regime : study.regimes)
          if (wanted(asked.environments, environment.name) && wanted(asked.regimes, regime_name(regime)))
            add_new(cells, fmt::format("{}/{}", environment.name, regime_name(regime)));
      for (const int value : study.T0)
        if (wanted(asked.T0, value)) add_new(T0, fmt::format("{}", value));
      for (const PlannedLane& lane : planned.plan.lanes) {
        const std::string name = lane.policy->name + "/" + lane.variant.reward;
        if (lane.policy->name != "oracle" &&
            (wanted(asked.policies, name) || wanted(asked.policies, lane.policy->name)))
          add_new(policies, name);
      }
    }
  }
};

std::string list_text(const Names& names) {
  return names.empty() ? "none that was asked for" : fmt::format("{}", fmt::join(names, ", "));
}

// What the tapes of two studies differ in; empty if they are the same.
std::string tape_difference(const Study& a, const Study& b) {
  const auto differs = [](const std::string& what, const auto& here, const auto& there) {
    return fmt::format("{} is {} there and {} here", what, here, there);
  };
  if (a.seed != b.seed) return differs("seed", a.seed, b.seed);
  if (a.periods != b.periods) return differs("periods", a.periods, b.periods);
  const auto text = [](const Dimensions& d) {
    return fmt::format("{}/{}/{}/{}/{}", d.boxes, d.context, d.output, d.reward_features, d.radius_draws);
  };
  if (!(a.dimensions == b.dimensions))
    return differs("dimensions (boxes/context/output/reward_features/radius_draws)", text(a.dimensions),
                   text(b.dimensions));
  for (const Environment& e : a.environments)
    for (const Environment& other : b.environments)
      if (e.name == other.name && options_of(e) != options_of(other))
        return differs("[environment." + e.name + "]", "one law or table", "another");
  return "";
}

void require_no(const std::string& difference, const StoredResults& first, const StoredResults& second) {
  if (!difference.empty())
    throw Error(ExitCode::mismatch,
                fmt::format("{} and {} do not share tapes: {}; only results on the same draws can be paired",
                            first.path(), second.path(), difference));
}

}  // namespace

void require_common_tapes(const StoredResults& first, const StoredResults& second, const Study& a, const Study& b) {
  require_no(tape_difference(a, b), first, second);
}

void refuse_policies(const StoredResults& results, const CompareOptions& options) {
  const Offer offer(results, options);
  if (offer.cells.empty())
    throw Error(ExitCode::usage, fmt::format("compare: {} has no cell of --environment {} and --regime {}; it has {}",
                                             results.path(), fmt::join(options.environments, ","),
                                             fmt::join(options.regimes, ","), list_text(Offer(results, {}).cells)));
  const PlannedSetting& planned = results.settings()[0];
  Names where;
  for (const std::string& text : options.policies) {
    const PolicyName name = parse_policy_name(text, planned.plan);
    Names at;
    for (const int T0 : planned.setting.study.T0)
      if (!contenders(planned.plan, T0, name.policy, name.reward).empty()) add_new(at, fmt::format("{}", T0));
    where.push_back(fmt::format("{} runs at T0 = {}", text, list_text(at)));
  }
  throw Error(ExitCode::usage, fmt::format("compare: {} is compared with none of the others at T0 = {}: {}",
                                           options.policies[0], fmt::join(offer.T0, ", "), fmt::join(where, "; ")));
}

void refuse_folders(const StoredResults& first, const StoredResults& second, const CompareOptions& options) {
  std::string difference;
  bool shared = false;
  for (const PlannedSetting& here : first.settings())
    for (const PlannedSetting& there : second.settings()) {
      const std::string found = tape_difference(here.setting.study, there.setting.study);
      shared = shared || found.empty();
      if (difference.empty()) difference = found;
    }
  if (!shared) require_no(difference, first, second);
  const Offer here(first, options), there(second, {});
  const auto require_common = [&](const char* what, const Names& a, const Names& b) {
    if (std::none_of(a.begin(), a.end(), [&](const std::string& x) { return wanted(b, x); }))
      throw Error(ExitCode::usage, fmt::format("compare: {} and {} have no {} in common: {} there, {} here",
                                               first.path(), second.path(), what, list_text(a), list_text(b)));
  };
  require_common("setting (the values of the keys under [vary])", here.settings, there.settings);
  require_common("environment and regime", here.cells, there.cells);
  require_common("T0", here.T0, there.T0);
  require_common("policy", here.policies, there.policies);
  throw Error(ExitCode::usage,
              fmt::format("compare: {} and {} have no cell (setting, environment, regime, T0) in common in which both "
                          "have one of {}",
                          first.path(), second.path(), list_text(here.policies)));
}

}  // namespace pandora
