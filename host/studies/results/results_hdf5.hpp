// results.h5: everything that is known of every replication.
#pragma once

#include "host/ground/files/hdf5_file.hpp"
#include "host/studies/results/identity.hpp"

namespace pandora {

/// What the file says of itself.
void begin_hdf5(Hdf5File& file, const StudyConfig& config, const Identity& identity);

/// Adds the units of one (setting, environment, regime), all replications, as a group such as /uniform_A or, where keys
/// vary, /000/uniform_A. Its contents are described in docs/files.md and by the attributes of every dataset.
void add_to_hdf5(Hdf5File& file, const PlannedSetting& planned, const Plan& group,
                 const std::vector<UnitResult>& results);

}  // namespace pandora
