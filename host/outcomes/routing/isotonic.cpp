#include "host/outcomes/routing/isotonic.hpp"

#include <algorithm>
#include <utility>

namespace pandora {
namespace {

// Neighbouring scores that have one value: the mean of their qualities.
struct ScoreBlock {
  double first, last;  // scores
  double sum, count;   // of qualities
  double mean() const { return sum / count; }
};

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

IsotonicMap IsotonicMap::fit(std::span<const double> scores, std::span<const double> qualities) {
  std::vector<std::pair<double, double>> points(scores.size());
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = {scores[i], qualities[i]};
  std::sort(points.begin(), points.end());
  std::vector<ScoreBlock> blocks;
  for (std::size_t i = 0; i < points.size();) {
    ScoreBlock block{points[i].first, points[i].first, 0.0, 0.0};
    for (; i < points.size() && points[i].first == block.first; ++i) {
      block.sum += points[i].second;
      block.count += 1.0;
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
                                          std::span<const std::size_t> rows) {
  const std::size_t models = table.models.size();
  std::vector<IsotonicMap> maps;
  std::vector<double> scores(rows.size()), qualities(rows.size());
  for (std::size_t m = 0; m < models; ++m) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      scores[i] = score.values[rows[i] * models + m];
      qualities[i] = table.quality[rows[i] * models + m];
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

}  // namespace pandora
