// The oracle of a replication: sample, expected costs, indices of given contexts.
#pragma once

#include <vector>

#include "kernels/tape/tape.hpp"
#include "oracle/oracle_table.hpp"

namespace pandora {

/// sigma_a^*(x) (eq:oracle-weitzman-index) for every box and the rows of `contexts` from `first_row` on, rows x A; NaN
/// in the rows before. Earlier rows (x_0, calibration) must not matter: their number depends on the values of T_0 that
/// happen to run together, and the grid's range would move with it. The table of these contexts, evaluated for them;
/// where indices are drawn, these, and `sample` may be empty.
std::vector<double> oracle_indices(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                                   const OracleOptions& options, int first_row = 0);

/// The inputs of (eq:sigma) with expected costs from the sample.
IndexInputs index_inputs(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                         int first_row = 0);

/// sigma of every cell of `inputs`, which may be those of a changed problem: other costs, shifts or scales than
/// index_inputs has. Without a grid, so whatever their ranges: over the whole sample where no more than 64 different
/// (l, s~) occur, as in regime A, else over its quantile bins; half a second for 30,000 periods of three boxes. 1, the
/// most that an output can be worth, where the cost is 0; NaN where it is below or NaN.
std::vector<double> indices_of(const ShockSample& sample, const IndexInputs& inputs, const OracleOptions& options);

/// Errors of the grid and of the compression found on `solves` pseudo-randomly chosen (row, box) pairs, against
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
