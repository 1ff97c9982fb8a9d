// A fit as tables for people.
#pragma once

#include <vector>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora {

/// What was compared and chosen, what is deployed, and how it depends on models, price and judge.
std::vector<Table> fit_tables(const CascadeFit& fit);

/// From the file alone: the models in order, thresholds, calibration, what was promised and why. Of a cascade that was
/// not fitted by this program, what it is.
std::vector<Table> show_tables(const CascadeOptions& cascade, const CascadeCounts& counts, const std::string& file);

}  // namespace pandora
