// Panels that nobody simulated, for verdicts.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "host/report/verdict.hpp"

namespace pandora::test {

/// Replications of a panel in which regrets depend on the oracle's utility, as they do, and entries on each other.
inline Panel made_up_panel(std::mt19937_64& random, const std::string& regime, const std::string& environment,
                           std::size_t n, const std::vector<int>& T0 = {0, 50, 100, 1000}) {
  std::normal_distribution<double> normal;
  Panel panel;
  panel.regime = regime;
  panel.environment = environment;
  panel.replications = static_cast<int>(n);
  panel.comparable = true;
  for (const int t : T0)
    for (const PaperRow& row : kPaperRows)
      if (published_regret(regime, environment, t, row.policy, *row.reward == 0 ? "unknown" : row.reward))
        panel.entries.push_back({row, t, std::vector<std::vector<double>>(row.name().find("dow") == 0 ? 3 : 1), 0});
  for (std::size_t r = 0; r < n; ++r) {
    const double cost = normal(random), luck = normal(random);
    panel.utility.push_back(500.0 - 40.0 * cost + 10.0 * normal(random));
    panel.boxes.push_back(1.6 - 0.1 * cost + 0.05 * normal(random));
    panel.costs[0].push_back(cost);
    panel.costs[1].push_back(cost + 0.3 * normal(random));
    panel.costs[2].push_back(cost + 0.3 * normal(random));
    for (RegretEntry& entry : panel.entries)
      for (std::size_t h = 0; h < entry.choices.size(); ++h)
        entry.choices[h].push_back(9.0 + 0.01 * (panel.utility[r] - 500.0) - 0.5 * cost + luck + normal(random) +
                                   2.0 * static_cast<double>(h));
  }
  for (RegretEntry& entry : panel.entries) entry.choose();
  return panel;
}

}  // namespace pandora::test
