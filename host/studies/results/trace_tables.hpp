// The table of a study of a table of outcomes.
#pragma once

#include "host/studies/results/regret_tables.hpp"

namespace pandora {

/// Utility, quality, dollars, calls and gap of every policy at its best hyperparameters, with intervals over prompts.
/// The setting's study is of a table alone.
Table trace_table(const SettingSummary& summary);

}  // namespace pandora
