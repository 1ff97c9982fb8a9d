// A replication's oracle: small tables that give sigma for any context of the instance, so that the shock sample is not
// needed any more. The index grid has three parameters (Section 6, "Computation of the oracle reservation indices").
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/tape/instance.hpp"
#include "kernels/tape/tape.hpp"
#include "oracle/formulas.hpp"
#include "oracle/reservation_index.hpp"

namespace pandora {

/// The Monte Carlo sample behind the oracle, stored as projections only. The paper has M = 400,000 shocks.
struct ShockSample {
  double projection_norm = 0.0;  ///< ||D' theta_*||_2
  std::vector<float> projected;  ///< M values of w = theta_*' D xi / ||D' theta_*|| of (eq:sigma), descending
  RewardLink link = RewardLink::logistic;
  std::vector<std::vector<float>> cost_terms;  ///< M values of beta_{1,a}' |xi| per box; empty in regime A
};

/// Draws M = `samples` shocks xi ~ P_xi of the instance's environment. All boxes of a replication share them.
ShockSample draw_shock_sample(const Instance& instance, int samples);

/// Mean expected cost cbar_a(x) = c_{0,a} G(beta_{0,a}' x) + c_{1,a} E[G(s beta_{1,a}' |xi|)]. The expectation is a
/// smooth function of s alone. A polynomial through Chebyshev nodes interpolates it for each box (error below 1e-7).
class OutputCostTable {
 public:
  /// `least` and `greatest` bound the scales s for which it will be evaluated.
  OutputCostTable(const ShockSample& sample, int boxes, double least, double greatest);
  /// The table from stored data: the means at the nodes, boxes x kNodes.
  OutputCostTable(double least, double greatest, std::vector<double> values);

  /// E[G(s beta_{1,a}' |xi|)] over the sample; 1/2 in regime A.
  double operator()(int box, double scale) const {
    return nodes_.interpolate(values_.data() + static_cast<std::size_t>(box) * kNodes, scale);
  }

  static constexpr int kNodes = ChebyshevNodes::kNodes;

  double least() const { return least_; }
  double greatest() const { return greatest_; }
  double node(int node) const { return nodes_.at(node); }  ///< a scale s
  const std::vector<double>& values() const { return values_; }

 private:
  double least_, greatest_;  ///< of s
  ChebyshevNodes nodes_;
  std::vector<double> values_;  ///< boxes x kNodes
};

/// The numbers of nodes along the shift l_a(x), the scale s~_a(x) and the cost cbar_a(x) (IndexInputs); each at least
/// 2.
struct GridShape {
  int shift = 61;
  int scale = 21;
  int cost = 61;
};

/// A closed interval.
struct Range {
  double least = 0.0, greatest = 0.0;
  /// The least one that has all these values; there is one at least.
  static Range of(std::span<const double> values) {
    const auto [least, greatest] = std::ranges::minmax(values);
    return {least, greatest};
  }
};

/// sigma at the nodes, interpolated trilinearly in (l, s~, sqrt(cbar)). Nodes are spaced in sqrt(cbar) because of small
/// costs, where d sigma / d cbar = -1 / P(G > sigma) is steep.
class IndexGrid {
 public:
  /// Solves sigma exactly for `law` at every node of shape over the given ranges (cbar > 0).
  IndexGrid(const ProjectedLaw& law, GridShape shape, Range shift, Range scale, Range cost);
  /// The grid from stored data: axes in l, s~ and sqrt(cbar), and values in that order, where the last index runs
  /// fastest.
  IndexGrid(const std::array<GridAxis, 3>& axes, std::vector<double> values)
      : axes_(axes), values_(std::move(values)) {}

  /// sigma at shift l, scale s~ and cost cbar; arguments outside the range are extrapolated from the outermost cell.
  double operator()(double shift, double scale, double cost) const {
    return interpolate_index(axes_.data(), values_.data(), shift, scale, cost);
  }

  const std::array<GridAxis, 3>& axes() const { return axes_; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::array<GridAxis, 3> axes_;
  std::vector<double> values_;
};

struct OracleOptions {
  int samples = 400000;  ///< M
  GridShape grid;
  int bins = 4000;  ///< quantile bins behind the grid; 0 uses the whole sample at every node
};

/// The inputs of (eq:sigma), rows x A each; NaN in rows before the first one that was asked for.
struct IndexInputs {
  std::vector<double> shift;  ///< l_a(x) = theta_*' Q x, with Q_a if each box has its own
  std::vector<double> scale;  ///< s~_a(x) = s_a(x) ||D' theta_*||
  std::vector<double> cost;   ///< cbar_a(x), in the unit of mu*
};

/// Inputs of the right size, all NaN.
IndexInputs no_inputs(const Contexts& contexts);

/// Fills in the cells [first, last), cell = row * A + box, with the cost levels c_{1,a} of `instance` (a changed
/// instance may have others). `projection_norm`: ||D' theta_*||.
void fill_inputs(const Instance& instance, const Contexts& contexts, const OutputCostTable& output_cost,
                 double projection_norm, std::size_t first, std::size_t last, IndexInputs& out);

struct OracleTable {
  double projection_norm = 0.0;  ///< ||D' theta_*||_2
  OutputCostTable output_cost;
  std::vector<double> sigma;      ///< regime A: one per box; empty if indices are drawn
  std::optional<IndexGrid> grid;  ///< regime B

  /// The inputs for the rows from `first_row` on.
  IndexInputs inputs(const Instance& instance, const Contexts& contexts, int first_row = 0) const;

  /// sigma, rows x A; NaN in the rows before `first_row`. Contexts beyond the range for which the table was made are
  /// extrapolated.
  std::vector<double> indices(const Instance& instance, const Contexts& contexts, int first_row = 0) const;

  /// The same for environments that draw their indices (Contexts::index), which need no table.
  static std::vector<double> drawn_indices(const Contexts& contexts, int first_row = 0);
};

/// Makes the table. Regime A: solved exactly on the whole sample, once per box. Regime B: the three-parameter grid over
/// the range of the contexts from `first_row` on. If indices are drawn, the table is empty.
OracleTable oracle_table(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                         const OracleOptions& options, int first_row = 0);

/// The points behind the grid: the sample itself or its quantile bins.
ProjectedLaw grid_law(const ShockSample& sample, const OracleOptions& options);

/// sigma_a^*(x) (eq:oracle-weitzman-index) for every box and the rows of `contexts` from `first_row` on, rows x A; NaN
/// in the rows before. Earlier rows (x_0, calibration) must not matter: their number depends on which values of T_0 run
/// together, and the grid's range would move with it. The function makes the table of these contexts and evaluates it
/// for them. If indices are drawn, it returns these, and `sample` may be empty.
std::vector<double> oracle_indices(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                                   const OracleOptions& options, int first_row = 0);

/// sigma of the cells from `first` on, NaN before, from a grid over their range.
std::vector<double> interpolated_indices(const ProjectedLaw& law, const IndexInputs& inputs, GridShape shape,
                                         std::size_t first);

/// The inputs of (eq:sigma) with expected costs from the sample.
IndexInputs index_inputs(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                         int first_row = 0);

/// sigma of every cell of `inputs`. They may belong to a changed problem, with other costs, shifts or scales than
/// index_inputs gives. There is no grid, so their ranges do not matter. If at most 64 different (l, s~) occur, as in
/// regime A, it uses the whole sample, otherwise its quantile bins; this takes half a second for 30,000 periods of
/// three boxes. sigma is 1, the greatest value of an output, where the cost is 0; NaN where the cost is negative or
/// NaN.
std::vector<double> indices_of(const ShockSample& sample, const IndexInputs& inputs, const OracleOptions& options);

/// Errors of the grid and of the compression, measured on `solves` pseudo-randomly chosen (row, box) pairs against
/// exact solves on the whole sample.
struct GridErrors {
  int solves = 0;
  double grid_max = 0.0, grid_rms = 0.0;                ///< grid against exact
  double compression_max = 0.0, compression_rms = 0.0;  ///< direct solve on the bins against exact
  double mean_standard_error = 0.0;                     ///< Monte Carlo s.e. of sigma
  double negative_share = 0.0;                          ///< share of negative indices
};
GridErrors grid_errors(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                       const OracleOptions& options, int solves);

}  // namespace pandora
