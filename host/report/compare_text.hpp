// What the kinds of comparison share: names on the command line, numbers in cells.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "host/ground/tables/numbers.hpp"
#include "host/report/compare.hpp"

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

/// Throws Error (mismatch) if what the tapes are drawn from differs.
void require_common_tapes(const StoredResults& first, const StoredResults& second, const Study& a, const Study& b);

/// Throw Error (usage, or mismatch where no tapes are shared) with the reason why no row came of a comparison.
[[noreturn]] void refuse_policies(const StoredResults& results, const CompareOptions& options);
[[noreturn]] void refuse_folders(const StoredResults& first, const StoredResults& second,
                                 const CompareOptions& options);

std::string interval_text(const AsymmetricInterval& interval, int decimals);

}  // namespace pandora
