// A replication of any environment as a table of outcomes.
#pragma once

#include <string>

#include "host/studies/study/study_config.hpp"

namespace pandora {

struct ExportedTrace {
  std::string jsonl;  ///< the table, nested JSONL: a line for x_0, each calibration and each online period
  std::string toml;   ///< the [environment.NAME] that reads it back
};

/// The replication of the setting's study with all that its policies are given: contexts, phi, mu*, costs, rewards and
/// the benchmark's indices, in numbers that are read back exactly. A study of the table under the keys of `toml` gives
/// every lane the same bytes, those of policies that look at the instance's parameters (informed_weitzman) aside.
/// `name`: of the environment that it becomes; `path`: where the table will be. Throws Error (usage) where a mu* is
/// outside [0, 1] or a cost negative, which a table cannot hold.
ExportedTrace export_trace(const PlannedSetting& planned, const Unit& unit, const std::string& name,
                           const std::string& path);

}  // namespace pandora
