// Weitzman's indices of models from the outcomes of a table, without a context.
#pragma once

#include <span>

#include "host/outcomes/routing/routing.hpp"

namespace pandora {

/// The sigma with mean((value - sigma)^+) = cost, cost >= 0: what would have to be seen already for opening to be worth
/// nothing more. Below the least value it is mean - cost; at cost = 0 it is the greatest value. values is not empty.
double reservation_value(std::span<const double> values, double cost);

/// The indices of the models' marginal laws on these rows: of what is seen of an answer, at a cost of price x the mean
/// of its dollars. The order that they give is optimal where the models' answers are independent. rows is not empty.
ModelIndices fit_model_indices(const Outcomes& outcomes, double price, std::span<const std::size_t> rows);

}  // namespace pandora
