#include "host/traces/calibrated_evaluator.hpp"

#include <fmt/format.h>

#include "host/base/nearest.hpp"
#include "pandora/error.hpp"

namespace pandora {

CalibratedEvaluator::CalibratedEvaluator(const TraceTable& table, const std::string& name) : table_(table) {
  constexpr std::string_view kScore = "score:";
  if (name == "quality") return;
  if (name != "score" && !(name.starts_with(kScore) && name.size() > kScore.size()))
    throw Error(ExitCode::usage,
                fmt::format("evaluator {}: unknown{}; use quality (the truth), score, or score:NAME for one of several "
                            "judges",
                            name, nearest_text(nearest(name, {"quality", "score"}))));
  score_ = &find_score(table, name == "score" ? name : name.substr(kScore.size()));
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
