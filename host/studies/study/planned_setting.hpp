// A setting of a study with its plan.
#pragma once

#include <vector>

#include "host/studies/study/study_config.hpp"

namespace pandora {

/// Environments of one size: those of the paper's model together, and each table of outcomes by itself, whose study has
/// the table's sizes.
struct PlannedSetting {
  Setting setting;
  Plan plan;
  std::size_t number = 0;  ///< of the setting in the configuration
};

/// Throws Error (usage) where a table has not the calibration periods or prompts that are asked for. Tables are read
/// unless the configuration says their sizes.
std::vector<PlannedSetting> make_plans(const StudyConfig& config);

/// Whether an environment of any is a table of outcomes.
bool has_table(const std::vector<PlannedSetting>& settings);

/// The keys with which results are read without their tables: the sizes, models and digest of every table. Reads the
/// tables.
void fill_in_tables(StudyConfig& config);

}  // namespace pandora
