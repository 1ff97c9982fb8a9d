// Tables of outcomes drawn from a law that is known.
#pragma once

#include <string>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora::test {

/// A prompt is of one of three difficulties; given it, the answers of three models are independent, with qualities 0.2,
/// 0.6 and 1 and a cost that grows with the difficulty. A judge's score is 0.1, 0.5 or 0.9: the quality's level, or
/// with probability `noise` any level.
class TraceLaw {
 public:
  static constexpr std::size_t kModels = 3, kLevels = 3;

  explicit TraceLaw(double noise) : noise_(noise) {}

  TraceTable draw(std::size_t rows, Random& random) const {
    TraceTable table;
    table.source = "made up";
    table.models = {"small", "medium", "large"};
    table.scores = {{"score", {}}};
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t difficulty = pick(random, [&](std::size_t k) { return share(k); });
      std::vector<std::size_t> levels(2 * kModels);  // qualities, then scores
      for (std::size_t m = 0; m < kModels; ++m) {
        levels[m] = pick(random, [&](std::size_t k) { return quality_share(difficulty, m, k); });
        levels[kModels + m] = pick(random, [&](std::size_t k) { return score_share(levels[m], k); });
      }
      add_row(table, difficulty, levels);
    }
    return table;
  }

 private:
  static double share(std::size_t difficulty) { return difficulty == 0 ? 0.5 : difficulty == 1 ? 0.3 : 0.2; }
  // Dearer models are better, all are worse at what is difficult.
  static double quality_share(std::size_t difficulty, std::size_t model, std::size_t level) {
    const double best = 0.55 + 0.2 * static_cast<double>(model) - 0.25 * static_cast<double>(difficulty);
    const double worst = 0.6 * (1.0 - best);
    return level == 2 ? best : level == 0 ? worst : 1.0 - best - worst;
  }
  double score_share(std::size_t quality, std::size_t score) const {
    return (quality == score ? 1.0 - noise_ : 0.0) + noise_ / static_cast<double>(kLevels);
  }

  template <class Share>
  static std::size_t pick(Random& random, const Share& share_of) {
    double left = random.uniform(0.0, 1.0);
    for (std::size_t k = 0; k + 1 < kLevels; ++k)
      if ((left -= share_of(k)) < 0.0) return k;
    return kLevels - 1;
  }

  static void add_row(TraceTable& table, std::size_t difficulty, const std::vector<std::size_t>& levels) {
    table.prompts.push_back(std::to_string(table.rows() + 1));
    for (std::size_t m = 0; m < kModels; ++m) {
      table.quality.push_back(0.2 + 0.4 * static_cast<double>(levels[m]));
      table.cost.push_back(0.001 * static_cast<double>((1 + difficulty) * (1 + m * m)));
      table.scores[0].values.push_back(0.1 + 0.4 * static_cast<double>(levels[kModels + m]));
    }
  }

  double noise_;
};

inline TraceTable drawn_table(const TraceLaw& law, std::size_t rows, std::uint64_t seed) {
  Random random(seed);
  return law.draw(rows, random);
}

}  // namespace pandora::test
