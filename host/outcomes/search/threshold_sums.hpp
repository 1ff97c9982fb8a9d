// What rows come to under every combination of a cascade's thresholds, all at once.
//
// Positions 0, 1, ... each have thresholds, ascending. A row reaches the first r of those of a position; it ends there
// under threshold k where r > k, and goes on to the next position where r <= k. So where it ends under a combination
// depends on its cell (r of position 0, r of position 1, ...) alone, and sums over cells, taken cumulatively along one
// axis after the other, are sums for combinations: rows go on where r <= k, a sum from below, and end where r > k, one
// from above. For n rows, and positions with c thresholds each, a position costs n + p c^p additions, instead of up to
// n c^p.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pandora {

/// Rows behind some positions. Values are given by row, all n of them; those of rows that go_on() does not name are not
/// read. No value is ever subtracted: a sum of n values is rounded at most n + all thresholds + positions times.
class ThresholdSums {
 public:
  /// In front of the first position.
  explicit ThresholdSums(std::size_t rows);

  /// Behind one position more than `before`: `reached` of its `count` thresholds by each row, and the value of a row
  /// that ends there.
  void follow(const ThresholdSums& before, std::span<const std::uint32_t> reached, std::size_t count,
              std::span<const double> values);

  /// Rows that go on under some combination, ascending.
  const std::vector<std::uint32_t>& go_on() const { return rows_; }
  /// How many there are.
  std::size_t combinations() const { return combinations_; }
  /// For each combination, those of the last position side by side, the sum over all rows: values at the positions
  /// where they have ended, and `values` of those that go on.
  void total(std::span<const double> values, std::vector<double>& out) const;

 private:
  void from_below(std::vector<double>& sums, std::size_t inner) const;

  std::size_t combinations_ = 1;
  std::vector<std::size_t> counts_;   // of thresholds, by position
  std::vector<std::uint32_t> rows_;   // that go on
  std::vector<std::uint32_t> cells_;  // of these
  std::vector<double> ended_;         // by combination
};

}  // namespace pandora
