// Which engine, as a study chooses it.
#pragma once

#include <string>

namespace pandora {

/// Which engine simulates the lanes, and how. Precision and block length change rounding, the kind also where
/// solvers stop; a near-tie may then flip. The chunk changes nothing.
struct EngineSettings {
  enum class Kind { blocked, reference };
  enum class Precision { fp32, fp64 };

  Kind kind = Kind::blocked;
  Precision precision = Precision::fp32;  ///< of `blocked`; `reference` is always double
  int block = 32;                         ///< B, periods per block
  int chunk = 6;                          ///< lanes that a thread advances together

  std::string text() const;  ///< such as "blocked, single precision, blocks of 32"
};

}  // namespace pandora
