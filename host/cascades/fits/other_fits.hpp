// How a fit depends on its circumstances: models, price, a judge that costs.
#pragma once

#include "host/cascades/fits/fit_cascade.hpp"

namespace pandora {

/// Fills in `without`, `elsewhere` and `break_even_judge` of a fit of which all else is known. `judged`: its cascade,
/// row by row, fitted on other prompts. Everything here is fitted on other prompts, too.
void add_other_fits(CascadeFit& fit, const TraceTable& table, const WorthByRow& judged);

}  // namespace pandora
