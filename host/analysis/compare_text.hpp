// What the kinds of comparison share: names on the command line, numbers in cells.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "host/analysis/compare.hpp"

namespace pandora {

/// Whether a list that may be empty, which means all, has the item.
template <class T>
bool wanted(const std::vector<T>& list, const T& item) {
  return list.empty() || std::find(list.begin(), list.end(), item) != list.end();
}

/// NAME or NAME/REWARD; reward "": any.
struct PolicyName {
  std::string policy, reward;
};

/// Throws Error (usage), with the nearest, if the plan has no such policy.
PolicyName parse_policy_name(const std::string& text, const Plan& plan);

/// Throws Error (usage) if the study lacks an environment, regime or T_0 that is asked for.
void require_names(const CompareOptions& options, const std::vector<PlannedSetting>& settings);

/// "---" for what is unknown; no minus before a zero.
std::string number_text(double x, int decimals);
std::string interval_text(const AsymmetricInterval& interval, int decimals);
/// Nothing below 1e-4 is told: so far out no law is known so well.
std::string p_value_text(double p);

/// A cell with all digits for CSV.
Cell exact_cell(const std::string& text, double value, bool bold = false);

}  // namespace pandora
