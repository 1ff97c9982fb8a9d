// Numbers as cells of a table.
#pragma once

#include <string>

#include "host/ground/tables/table.hpp"

namespace pandora {

/// "---" for what is unknown; no minus before a zero.
std::string number_text(double x, int decimals);

/// Nothing below 1e-4 is told: so far out no law is known so well.
std::string p_value_text(double p);

/// A cell with all digits for CSV.
Cell exact_cell(const std::string& text, double value, bool bold = false);

}  // namespace pandora
