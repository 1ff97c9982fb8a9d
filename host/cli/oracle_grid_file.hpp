// Oracle tables as an HDF5 file with all that it takes to use them elsewhere.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/ground/files/hdf5_file.hpp"
#include "host/studies/study/study.hpp"

namespace pandora::cli {

/// Online contexts of a replication that the file tells with their indices.
inline constexpr int kExportedContexts = 100;

/// The table of a replication with what turns a context into its arguments.
struct ExportedTable {
  Instance instance;
  OracleTable table;
  std::vector<double> context;                 ///< rows x d_x, of the first online periods
  std::vector<double> shift;                   ///< rows: l, or rows x A where each box has its own
  std::vector<double> scale, expected, sigma;  ///< rows x A: s_a(x), E[c_a(x)], sigma_a^*(x)
};

/// `contexts`: the online contexts that the table was made for.
ExportedTable exported(Instance instance, OracleTable table, const Contexts& contexts);

/// The group of one environment and regime: all replications side by side.
void write_tables(Hdf5File& file, const std::string& group, const Study& study, const Unit& unit,
                  std::span<const ExportedTable> tables);

}  // namespace pandora::cli
