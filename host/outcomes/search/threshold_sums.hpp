// Sums over rows for every combination of a cascade's thresholds, all at once.
//
// Positions 0, 1, ... each have ascending thresholds. A row reaches the first r thresholds of a position. Under
// threshold k it ends there if r > k, and goes on to the next position if r <= k. So where it ends under a combination
// depends only on its cell (r of position 0, r of position 1, ...). Sums over cells, accumulated along one axis after
// the other, are sums for combinations: rows with r <= k go on (a sum from below), rows with r > k end (a sum from
// above). For n rows and positions with c thresholds each, a position costs n + p c^p additions instead of up to n c^p.
// n c^p.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pandora {

/// The rows after some positions. Values are given for all n rows, but only those of rows in go_on() are read. No value
/// is ever subtracted: a sum of n values is rounded at most n + all thresholds + positions times.
class ThresholdSums {
 public:
  /// The state before the first position.
  explicit ThresholdSums(std::size_t rows);

  /// The state after one more position than `before`: how many of its `count` thresholds each row has `reached`, and
  /// the value of a row that ends there.
  void follow(const ThresholdSums& before, std::span<const std::uint32_t> reached, std::size_t count,
              std::span<const double> values);

  /// The rows that go on under some combination, ascending.
  const std::vector<std::uint32_t>& go_on() const { return rows_; }
  /// The number of combinations.
  std::size_t combinations() const { return combinations_; }
  /// For each combination (those of the last position side by side), the sum over all rows: the values at the positions
  /// where rows have ended, and `values` of those that go on.
  void total(std::span<const double> values, std::vector<double>& out) const;

 private:
  void from_below(std::vector<double>& sums, std::size_t inner) const;

  std::size_t combinations_ = 1;
  std::vector<std::size_t> counts_;   // of thresholds, by position
  std::vector<std::uint32_t> rows_;   // the rows that go on
  std::vector<std::uint32_t> cells_;  // the cells of these rows
  std::vector<double> ended_;         // sums by combination
};

}  // namespace pandora
