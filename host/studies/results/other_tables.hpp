// Tables that the paper does not have: of a table of outcomes, and an overview in few rows.
#pragma once

#include "host/ground/tables/table.hpp"
#include "host/studies/results/table_notes.hpp"

namespace pandora {

/// Of a table of outcomes: utility, quality, dollars, calls and gap of every policy at its best
/// hyperparameters, with intervals over prompts. The setting's study is of a table alone.
Table trace_table(const SettingSummary& summary);

/// The policy that others are compared with where none is named: the first that the study lists and that is no
/// yardstick; where it lists none, dow. Empty if there is no policy.
std::string usual_base(const SettingSummary& settings);

/// A row per setting, regime, policy and reward setting: means over the cells (environment, T_0) in which the policy
/// has a row, with the least and the greatest; parts of the regret (RegretParts); ratios to the regret of `base` in the
/// same cell and reward setting, ours and the published one. Hyperparameters are those with the least mean regret.
/// `---` where there is no such row. Without `base` (empty) no ratios.
Table overview_table(const std::vector<SettingSummary>& settings, const std::string& base);

}  // namespace pandora
