#include "host/outcomes/routing/calibrated_evaluator.hpp"

#include <fmt/format.h>

#include "host/ground/base/error.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/outcomes/tables/evaluator_spec.hpp"

namespace pandora {

CalibratedEvaluator::CalibratedEvaluator(const TraceTable& table, const std::string& name) : table_(table) {
  const std::string judges = judges_of(table);
  if (name.empty())
    throw no_evaluator(table.source + (judges.empty() ? " has no judge's score" : " has " + judges),
                       judges.empty() ? "quality if the truth is known then" : judges.substr(0, judges.find(',')));
  const std::optional<EvaluatorSpec> spec = evaluator_of(name);
  const bool score = spec && spec->kind == EvaluatorSpec::Kind::score;
  if (!score && name != "quality")
    throw Error(
        ExitCode::usage,
        fmt::format(
            "evaluator {}: {}; use quality (the truth), score, or score:NAME for one of several judges", name,
            spec ? "nothing that a table shows" : "unknown" + nearest_text(nearest(name, {"quality", "score"}))));
  if (score) score_ = &find_score(table, spec->name);
}

std::span<const double> CalibratedEvaluator::shown() const {
  return is_truth() ? table_.quality : score_->values;
}

std::vector<IsotonicMap> CalibratedEvaluator::calibrate(std::span<const std::size_t> rows) const {
  return is_truth() ? std::vector<IsotonicMap>() : calibrate_scores(table_, *score_, rows);
}

std::vector<double> CalibratedEvaluator::seen(std::span<const std::size_t> rows) const {
  return is_truth() ? std::vector<double>() : calibrated_scores(calibrate(rows), *score_);
}

Outcomes CalibratedEvaluator::outcomes(const std::vector<double>& seen) const {
  return {table_.models.size(), is_truth() ? table_.quality : seen, table_.quality, table_.cost};
}

}  // namespace pandora
