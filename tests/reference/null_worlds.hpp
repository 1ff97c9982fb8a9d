// Worlds in which nothing can be gained: models are equal, context and judge are noise. Whatever a fit claims there is false, and
// what it promises can be held against what is true.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/cascades/fits/fit_cascade.hpp"

namespace pandora::test {

inline constexpr const char* kNullKinds[] = {"router", "routed", "indices", "thresholds", "auto"};

/// Tables of one size. `known`: with what probability the quality of an answer is known.
struct NullCell {
  std::size_t models, prompts;
  double known = 1.0;
};

/// Five cells whose qualities are known and two that are labelled in part; of the kind "indices", which learns from every
/// answer's quality, the first five.
std::vector<NullCell> null_cells(const std::string& kind);

/// Of `worlds` tables of a cell, of each a fit of the kind.
struct NullCount {
  std::string kind;
  NullCell cell{};
  std::size_t worlds = 0;
  std::size_t sure = 0;                               ///< of a gain that is not there
  std::size_t gain_covered = 0, utility_covered = 0;  ///< the true one lies in the interval that is promised
  double bias = 0.0, bias_error = 0.0;                ///< of the promised gain, mean and standard error
  double spread = 0.0;                                ///< mean half-width of the promised gain

  NullCount& operator+=(const NullCount& other);  ///< of another cell
};

/// Seeds follow from kind, cell and world. `threads`: worlds at once.
NullCount count_null_worlds(const std::string& kind, const NullCell& cell, std::size_t worlds, unsigned threads);

/// "kind,models,prompts,known,worlds,sure,gain_covered,utility_covered,bias,bias_error,half_width"; of no cell of its own: "all".
std::string csv_header();
std::string csv_row(const NullCount& count);

}  // namespace pandora::test
