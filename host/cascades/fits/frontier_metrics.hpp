// The metrics of the field (field_metrics.hpp) of a frontier, with intervals.
#pragma once

#include "host/cascades/fits/frontier.hpp"
#include "host/cascades/fits/prepared_rows.hpp"

namespace pandora {

inline constexpr std::size_t kMetricDraws = 400;

/// Of the cascades of `frontier` on the test table. The strong model is the best one of the fitting table, the weak one
/// the cheapest that no dearer one makes useless there. Intervals are percentiles of a bootstrap over prompts, of
/// kMetricDraws draws from a fixed seed; not a number where more than one draw in twenty has no such number.
/// `calibration`: of the judge, fitted on the fitting table; none where the truth is seen.
FrontierMetrics metrics_of(const Frontier& frontier, const TraceTable& test,
                           const std::vector<IsotonicMap>& calibration, unsigned threads);

/// `explained`: notes say what each is.
Table metrics_table(const Frontier& frontier, bool explained);
/// {"aiq": {"value": ..., "low": ..., "high": ...}, ..., "weak": ..., "strong": ...}
nlohmann::json metrics_json(const Frontier& frontier);
/// The cascades and models of frontier.csv, the steps as positions among the cascades, and the metrics.
nlohmann::json frontier_json(const Frontier& frontier);
/// The same, mixtures as (dollars, quality), the evaluator in words, and tables: what a page of it shows
/// (python/src/pandora/rendering).
nlohmann::json frontier_numbers(const Frontier& frontier);

}  // namespace pandora
