#include "host/outcomes/routing/calibrated_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/ground/base/nearest.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {
namespace {

// Neighbouring scores that have one value: the mean of their qualities.
struct ScoreBlock {
  double first, last;  // scores
  double sum, count;   // of qualities by their weights
  double mean() const { return sum / count; }
};

// The evaluators of a table's judges, "score, score:NAME"; empty where it has none.
std::string judges_of(const TraceTable& table) {
  std::string out;
  for (const ScoreColumn& score : table.scores) {
    const bool prefixed = score.name.starts_with("score_") || score.name.starts_with("score:");
    out += (out.empty() ? "" : ", ") +
           (score.name == "score" ? score.name : "score:" + (prefixed ? score.name.substr(6) : score.name));
  }
  return out;
}

}  // namespace

double IsotonicMap::operator()(double score) const {
  if (scores.empty()) return score;
  const auto above = std::upper_bound(scores.begin(), scores.end(), score);
  if (above == scores.begin()) return qualities.front();
  const auto right = static_cast<std::size_t>(above - scores.begin());
  if (above == scores.end() || qualities[right] == qualities[right - 1]) return qualities[right - 1];
  const double share = (score - scores[right - 1]) / (scores[right] - scores[right - 1]);
  return qualities[right - 1] + share * (qualities[right] - qualities[right - 1]);
}

IsotonicMap IsotonicMap::fit(std::span<const double> scores, std::span<const double> qualities,
                             std::span<const double> weights) {
  struct Point {
    double score, quality, weight;
    auto operator<=>(const Point&) const = default;
  };
  std::vector<Point> points(scores.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = {scores[i], qualities[i], weights.empty() ? 1.0 : weights[i]};
  std::sort(points.begin(), points.end());
  std::vector<ScoreBlock> blocks;
  for (std::size_t i = 0; i < points.size();) {
    ScoreBlock block{points[i].score, points[i].score, 0.0, 0.0};
    for (; i < points.size() && points[i].score == block.first; ++i) {
      block.sum += points[i].weight * points[i].quality;
      block.count += points[i].weight;
    }
    while (!blocks.empty() && blocks.back().mean() >= block.mean()) {
      const ScoreBlock& left = blocks.back();
      block = {left.first, block.last, left.sum + block.sum, left.count + block.count};
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  IsotonicMap map;
  for (const ScoreBlock& block : blocks)
    for (const double score : {block.first, block.last}) {
      if (!map.scores.empty() && map.scores.back() == score) continue;
      map.scores.push_back(score);
      map.qualities.push_back(block.mean());
    }
  return map;
}

std::vector<IsotonicMap> calibrate_scores(const TraceTable& table, const ScoreColumn& score,
                                          std::span<const std::size_t> rows, std::span<const double> quality) {
  const std::size_t models = table.models.size();
  if (quality.empty()) quality = table.quality;
  std::vector<IsotonicMap> maps;
  for (std::size_t m = 0; m < models; ++m) {
    std::vector<double> scores, qualities;
    for (const std::size_t row : rows) {
      if (std::isnan(quality[row * models + m] + score.values[row * models + m])) continue;
      scores.push_back(score.values[row * models + m]);
      qualities.push_back(quality[row * models + m]);
    }
    maps.push_back(IsotonicMap::fit(scores, qualities));
  }
  return maps;
}

std::vector<double> calibrated_scores(const std::vector<IsotonicMap>& maps, const ScoreColumn& score) {
  std::vector<double> out(score.values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = maps[i % maps.size()](score.values[i]);
  return out;
}

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

}  // namespace pandora
