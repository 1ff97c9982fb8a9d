// Which environments and policies of a folder of results a command is about.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "host/studies/results/regret_tables.hpp"

namespace pandora::cli {

class ResultFilter {
 public:
  /// Adds --environment, --regime, --t0 and --policy.
  void add_to(CLI::App& command);

  /// Leaves what was asked for. Throws Error (usage) for a name that the results have not, with the nearest that they
  /// have.
  void apply(std::vector<SettingSummary>& settings) const;

 private:
  std::vector<std::string> environments_, regimes_, policies_;
  std::vector<int> T0_;
};

}  // namespace pandora::cli
