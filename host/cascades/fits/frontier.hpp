// Quality against dollars: cascades over a range of prices, the models alone, and mixtures of them.
#pragma once

#include <cmath>

#include "host/cascades/fits/aim.hpp"
#include "host/cascades/fits/worth.hpp"
#include "host/ground/tables/columns.hpp"

namespace pandora {

struct FrontierPoint {
  std::string name;                        ///< the model, or the models in order with their thresholds
  double price = NAN;                      ///< of a cascade: the greatest one that it was fitted for
  Routed routed;                           ///< of the test table, by row
  std::vector<std::uint32_t> called = {};  ///< by row: bit m for model m of the table
  Interval quality, usd_per_1000;
  double calls = 1.0;
  /// Quality less that of the mixture of models for the same dollars; NaN below the cheapest.
  double above_mixture = 0.0;
};

/// Two models, one of which is called for each prompt by chance.
struct MixturePoint {
  std::size_t cheap = 0, dear = 0;  ///< of `singles`
  double share = 0.0;               ///< of the dear one
  double quality = 0.0, usd_per_1000 = 0.0;
};

/// A metric of the field, by a name that stays.
struct FrontierMetric {
  std::string name, meaning;
  Interval value;
};

struct FrontierMetrics {
  std::string weak, strong;  ///< models
  std::vector<FrontierMetric> values;
};

struct Frontier {
  std::string fitted_on, tested_on, kind, evaluator;
  std::optional<double> judge_usd;
  std::size_t prompts = 0;  ///< of the test table
  PromptGroups groups;
  std::vector<FrontierPoint> cascades;  ///< by price, descending; those that do not differ stand once
  std::vector<FrontierPoint> singles;   ///< in the order of the table
  std::vector<MixturePoint> mixtures;   ///< along the hull, the cheapest first
  std::vector<std::size_t> steps;       ///< of `cascades`: each dearer and better than the one before
  FrontierMetrics metrics;              ///< frontier_metrics.hpp
};

/// Fitted on one table and judged on the other, also which models are mixed. `prices`: empty for price_grid(). Of the
/// settings the aim is not used, and one kind is. Throws Error (bad_data) where the tables have prompts in common or
/// differ in their models, and as fit_cascade() does.
Frontier find_frontier(const TraceTable& table, const TraceTable& test, const CascadeFitSettings& settings,
                       std::vector<double> prices);

/// frontier.csv: a row for each point.
Columns frontier_columns(const Frontier& frontier);
/// rows.csv: a row for each cascade and model alone, and each prompt of the table that was tested on: kind, price, prompt, called
/// (names with | between), quality, usd.
Columns frontier_rows(const Frontier& frontier, const TraceTable& test);
/// What each step to the next better cascade costs.
Table frontier_steps(const Frontier& frontier);

}  // namespace pandora
