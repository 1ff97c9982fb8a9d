// A figure's numbers as CSV, and all else of it as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host/ground/figures/figure.hpp"

namespace pandora {

/// A row per point: the number of its series from 1 and its label, x or the category, y, and the ends of the intervals
/// where a series has any. All digits; nothing where a value is missing.
std::string figure_csv(const Figure& figure);

/// What is drawn, and how: `caption` with the notes of the figure, `spoken` for readers that do not see it. The numbers
/// of the series stand in it where `with_data`; a missing one is null.
nlohmann::json figure_json(const Figure& figure, bool with_data);

}  // namespace pandora
