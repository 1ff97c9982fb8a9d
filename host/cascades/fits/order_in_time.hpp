// Orders of models with thresholds whose calls end in time.
#pragma once

#include <span>

#include "host/outcomes/routing/routing.hpp"

namespace pandora {

/// Of the orders whose calls in series take at most `seconds` for 95% of the rows the one that is worth most on them at the
/// price, as far as it is found: from every single model on, models join one at a time, wherever and with whichever
/// multiple of 0.05 as threshold is best. Of many models on some of the rows, spread over them. Where no model is in time,
/// the fastest one.
FixedCascade fit_order_in_time(const Outcomes& outcomes, double price, double seconds,
                               std::span<const std::size_t> rows);

}  // namespace pandora
