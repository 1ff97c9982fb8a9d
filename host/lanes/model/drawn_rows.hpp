// The rows of a table of outcomes that the periods of a replication use.
#pragma once

#include <cstddef>
#include <vector>

#include "host/lanes/model/trace_keys.hpp"
#include "kernels/random/philox.hpp"

namespace pandora {

/// The row behind every period, or behind every period and model.
struct DrawnRows {
  std::size_t each = 1;           ///< 1: all models of a period use its row; A: each has its own row
  std::vector<std::size_t> rows;  ///< periods x each

  std::size_t periods() const { return rows.size() / each; }
  std::size_t at(std::size_t period, std::size_t model) const { return rows[period * each + (each == 1 ? 0 : model)]; }
};

/// `count` periods of a table of `rows` prompts and `models` models. Under Resample::independent the first model has
/// the rows of Resample::permute, and each other model has rows in an order of its own.
DrawnRows draw_rows(const Stream& stream, Resample how, std::size_t rows, std::size_t count, std::size_t models);

}  // namespace pandora
