// The data of comparisons: regrets of single replications, cell by cell, and names on the command line.
#pragma once

#include <string>
#include <vector>

#include "host/ground/base/lists.hpp"
#include "host/report/compare.hpp"

namespace pandora {

/// One lane of the plan in all replications of a cell.
struct LaneSeries {
  std::vector<double> utility;  ///< R values: per period, x 1000; NaN if the lane was not run or failed
  SumsByPrompt by_prompt;       ///< for its utility, in a table of outcomes; otherwise empty
};

/// One (setting, environment, regime).
struct CellSeries {
  std::size_t setting = 0;
  std::string regime;
  Environment environment;
  std::vector<LaneSeries> lanes;  ///< in the plan's order; 0 is the oracle's

  /// Regrets x 1000 of lane `lane` in the replications `which`.
  std::vector<double> regrets(std::size_t lane, const std::vector<std::size_t>& which) const;
};
std::vector<CellSeries> cell_series(StoredResults& results);

/// A policy in one reward setting, with its k hyperparameters: lanes of the plan.
struct Contender {
  std::string policy, reward;
  std::vector<std::size_t> lanes;

  std::string name() const { return reward.empty() ? policy : policy + "/" + reward; }
};

/// The lanes of that policy and reward setting ("": any) that apply to T_0.
std::vector<Contender> contenders(const Plan& plan, int T0, const std::string& policy, const std::string& reward);

/// The replications in which the oracle and all given lanes count.
std::vector<std::size_t> common_replications(const CellSeries& cell, const std::vector<std::size_t>& lanes);

/// Whether a list has the item; an empty list stands for all.
template <class T>
bool wanted(const std::vector<T>& list, const std::type_identity_t<T>& item) {
  return list.empty() || has(list, item);
}

/// NAME or NAME/REWARD; reward "": any.
struct PolicyName {
  std::string policy, reward;
};

/// Throws Error (usage), with the nearest names, if the plan has no such policy.
PolicyName parse_policy_name(const std::string& text, const Plan& plan, const char* name_of_option = "policy");

/// Throw Error (usage) if the study lacks an environment, regime or T_0 that was asked for.
void require_T0(const std::vector<int>& asked, const Study& study);
void require_names(const CompareOptions& options, const std::vector<PlannedSetting>& settings);

/// Throws Error (mismatch) if settings differ on which tapes depend.
void require_common_tapes(const StoredResults& first, const StoredResults& second, const Study& a, const Study& b);

/// Throw Error (usage), or Error (mismatch) if no tapes are shared, with the reason why a comparison has no row.
[[noreturn]] void refuse_policies(const StoredResults& results, const CompareOptions& options);
[[noreturn]] void refuse_folders(const StoredResults& first, const StoredResults& second,
                                 const CompareOptions& options);

std::string interval_text(const AsymmetricInterval& interval, int decimals);

inline constexpr const char* kDigits = "{:.9g}";  // in CSV
inline constexpr const char* kFewerReplications =
    "n is less than the study's replications where lanes failed or are not there yet; a hyperparameter that has fewer "
    "than others is left out.";

/// a - b, cross-fitted over hyperparameters.
Estimate fitted_difference(const ComparedRow& row);

/// "uniform, A, T0=7".
std::string cell_text(const ComparedRow& row);

/// The fields for the cell, the policies (in columns of these names) and the number of replications.
Fields cell_fields(const ComparedPair& pair, const ComparedRow& row, const char* a, const char* b);

/// A number for CSV and tables.
Field number_field(const char* column, double value, const char* title, int decimals, bool bold = false);

}  // namespace pandora
