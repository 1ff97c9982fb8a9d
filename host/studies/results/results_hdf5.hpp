// results.h5: all data of every replication.
#pragma once

#include "host/ground/files/hdf5_file.hpp"
#include "host/studies/results/identity.hpp"

namespace pandora {

/// Writes the attributes of the file itself.
void begin_hdf5(Hdf5File& file, const StudyConfig& config, const Identity& identity);

/// Adds the units of one (setting, environment, regime), with all replications, as a group such as /uniform_A or, if
/// keys vary, /000/uniform_A. docs/files.md and the attributes of every dataset describe its contents.
void add_to_hdf5(Hdf5File& file, const PlannedSetting& planned, const Plan& group,
                 const std::vector<UnitResult>& results);

/// Adds one replication's decisions: /order (lane x period x position), /reward and /cost (lane x period), and the
/// names of the lanes. Lanes that failed have no boxes, and NaN.
void add_decisions(Hdf5File& file, const PlannedSetting& planned, const Unit& unit, const UnitResult& result);

}  // namespace pandora
