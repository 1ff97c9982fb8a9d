// One lane of a study run again.
#pragma once

#include <string>

#include "host/study/study_config.hpp"

namespace pandora {

/// One lane alone, and what became of it, as text. `lane` is as in failures.csv:
/// ENVIRONMENT/REGIME/REPLICATION/T0/POLICY/REWARD[/HYPERPARAMETER]; `setting` is a label, empty if nothing varies.
std::string replay_lane(const StudyConfig& config, const std::string& setting, const std::string& lane);

}  // namespace pandora
