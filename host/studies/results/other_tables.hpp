// Tables that the paper does not have: for tables of outcomes, and an overview in few rows.
#pragma once

#include "host/ground/tables/table.hpp"
#include "host/studies/results/table_notes.hpp"

namespace pandora {

/// For a table of outcomes: utility, quality, dollars, calls and gap of every policy at its best hyperparameters, with
/// intervals over prompts. The setting's study must consist of one table.
Table trace_table(const SettingSummary& summary);

/// The policy to which others are compared if none is named: the first in the study's list that is not a yardstick; if
/// the study lists none, dow. Empty if there is no policy.
std::string usual_base(const SettingSummary& settings);

/// A row per setting, regime, policy and reward setting. It has means over the cells (environment, T_0) in which the
/// policy has a row, with the least and the greatest; parts of the regret (RegretParts); and ratios to the regret of
/// `base` in the same cell and reward setting, ours and the published one. Hyperparameters are those with the least
/// mean regret. `---` stands where there is no such row. Without `base` (empty) there are no ratios.
Table overview_table(const std::vector<SettingSummary>& settings, const std::string& base);

}  // namespace pandora
