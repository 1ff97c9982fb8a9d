// Rows with equal prompts, which stay together: in the folds of a cross-validation and in the intervals over prompts.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// Which prompt each row of a table has.
struct PromptGroups {
  std::vector<std::size_t> of_row;  ///< from 0 to count - 1, in the order of a hash
  std::size_t count = 0;            ///< different prompts
};

/// By the prompts' texts; by the row's name where there is no text, by its number where there are no names either. The
/// order is that of a stable hash, and another one than split_rows() uses, so that parts and folds are independent.
PromptGroups group_prompts(const TraceTable& table);

/// The rows of fold `fold` of `folds`, ascending, and all others. Every fold has about equally many prompts, at least
/// one where folds <= groups.count.
struct Fold {
  std::vector<std::size_t> held_out, training;
};
Fold fold_of(const PromptGroups& groups, std::size_t fold, std::size_t folds);

/// A mean over rows with its 95% confidence interval over prompts: Student's t with the rows of one prompt as one
/// observation. low and high are NaN for a single prompt.
struct Interval {
  double value = 0.0, low = 0.0, high = 0.0;
};
Interval mean_over_prompts(std::span<const double> by_row, const PromptGroups& groups);

/// Of a - b, row by row.
Interval difference_over_prompts(std::span<const double> a, std::span<const double> b, const PromptGroups& groups);

/// "0.9450 [0.9410, 0.9490]"; "---" for what does not exist.
std::string interval_text(const Interval& interval, int decimals);
nlohmann::json json_of(const Interval& interval);
/// Throws nlohmann's errors where it is none.
Interval interval_of(const nlohmann::json& json);

}  // namespace pandora
