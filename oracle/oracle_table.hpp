// What a replication's oracle is once its shocks are drawn: small tables that give sigma for any context of the
// instance without the sample.
#pragma once

#include <optional>
#include <vector>

#include "kernels/tape/tape.hpp"
#include "oracle/index_grid.hpp"
#include "oracle/shock_sample.hpp"

namespace pandora {

struct OracleOptions {
  int samples = 400000;  ///< M
  GridShape grid;
  int bins = 4000;  ///< quantile bins behind the grid; 0 uses the whole sample at every node
};

/// The inputs of (eq:sigma), rows x A each; NaN in rows before the first one asked for.
struct IndexInputs {
  std::vector<double> shift;  ///< l_a(x) = theta_*' Q x, with Q_a where each box has its own
  std::vector<double> scale;  ///< s~_a(x) = s_a(x) ||D' theta_*||
  std::vector<double> cost;   ///< cbar_a(x), in the unit of mu*
};

struct OracleTable {
  double projection_norm = 0.0;  ///< ||D' theta_*||_2
  OutputCostTable output_cost;
  std::vector<double> sigma;      ///< regime A: per box; empty where indices are drawn
  std::optional<IndexGrid> grid;  ///< regime B

  /// The inputs for the rows from `first_row` on.
  IndexInputs inputs(const Instance& instance, const Contexts& contexts, int first_row = 0) const;

  /// sigma, rows x A; NaN in the rows before `first_row`. Contexts beyond the range of those that the table was made
  /// for are extrapolated.
  std::vector<double> indices(const Instance& instance, const Contexts& contexts, int first_row = 0) const;

  /// The same where the environment draws its indices (Contexts::index): no table is needed.
  static std::vector<double> drawn_indices(const Contexts& contexts, int first_row = 0);
};

/// Where indices are drawn, a table without any. Regime A: solved exactly on the whole sample, once per box. Regime B:
/// the three-parameter grid over the range of the contexts from `first_row` on.
OracleTable oracle_table(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                         const OracleOptions& options, int first_row = 0);

/// The points behind the grid: the sample itself or its quantile bins.
ProjectedLaw grid_law(const ShockSample& sample, const OracleOptions& options);

}  // namespace pandora
