// What a negative regret says.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/studies/results/summary.hpp"

namespace pandora {

/// The note below a table of these rows if the mean regret of one is negative beyond its 95% interval, Student's where
/// replications are few; else empty. Yardsticks, which know what no policy can, do not count.
std::string benchmark_note(std::span<const SummaryRow> rows);

/// The rows that a study's tables show: those with the best hyperparameters.
std::vector<SummaryRow> best_rows(const Summary& summary);

}  // namespace pandora
