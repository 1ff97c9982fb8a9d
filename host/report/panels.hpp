// Single replications of the paper's problem, panel by panel of its Tables 1 and 2: what a verdict is made of.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "host/studies/results/stored_results.hpp"

namespace pandora {

/// A row of the paper's Tables 1 and 2.
struct PaperRow {
  const char *policy, *reward;  ///< reward "": the paper does not say

  std::string name() const { return *reward == 0 ? policy : std::string(policy) + "/" + reward; }
};
inline constexpr PaperRow kPaperRows[] = {
    {"online_plugin", "known"}, {"online_plugin", "unknown"}, {"dow", "known"},      {"dow", "unknown"},
    {"static_plugin", ""},      {"linucb_online", ""},        {"linucb_static", ""}, {"frugalgpt", "known"}};

/// A row in a cell, with the best of its hyperparameters.
struct RegretEntry {
  PaperRow row{};
  int T0 = 0;
  std::vector<std::vector<double>> choices;  ///< [hyperparameter][n]: regrets x 1000
  std::size_t best = 0;                      ///< the one with the least mean, as the paper reports it

  const std::vector<double>& regrets() const { return choices[best]; }
  void choose();  ///< sets `best`
};

/// One (environment, regime) of a setting, in the n replications in which the oracle and all rows count.
struct Panel {
  std::size_t setting = 0;
  std::string environment, regime;
  int replications = 0;                               ///< R
  bool comparable = false, comparable_order = false;  ///< with the published Tables 1 and 2, and 3

  std::vector<double> utility, boxes;  ///< n: the oracle's per period, utility x 1000; empty if nothing was simulated
  std::array<std::vector<double>, 3>
      order;  ///< n: permutations, greatest, least mass; empty if Table 3 was not asked for
  /// n: mean, least and greatest over the boxes of the cost levels, and what they are in expectation over instances;
  /// empty where the results do not keep instances.
  std::array<std::vector<double>, 3> costs;
  std::array<double, 3> expected_costs{};
  std::vector<RegretEntry> entries;

  std::size_t n() const { return utility.empty() ? order[0].size() : utility.size(); }
  /// Null where the results have not that row.
  const RegretEntry* find(const std::string& row, int T0) const;
  /// The panel in some of its replications, hyperparameters chosen on these alone.
  Panel of(const std::vector<std::size_t>& which) const;
};

/// The cost level of box a is c_{0,a} / 2 + c_{1,a} / 2 in regime A, which is its expected cost, and c_{0,a} / 2 +
/// c_{1,a} in regime B, which is within 2% of the expected cost averaged over contexts: there the logistic of
/// beta_1' |omega| is close to 1, and contexts are symmetric about 0.
double cost_level(const Instance& instance, int box);

/// The panels of the paper's environments in all settings, whatever their horizon and dimensions. Reads part by part.
/// Hyperparameters that were run in fewer replications than others are left out.
std::vector<Panel> paper_panels(StoredResults& results);

}  // namespace pandora
