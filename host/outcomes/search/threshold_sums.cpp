#include "host/outcomes/search/threshold_sums.hpp"

#include <numeric>

namespace pandora {

ThresholdSums::ThresholdSums(std::size_t rows) : rows_(rows), cells_(rows), ended_(1) {
  std::iota(rows_.begin(), rows_.end(), std::uint32_t{0});
}

// Makes cell k the sum of cells 0 to k, along the axis of each position. `inner`: numbers side by side in a cell.
void ThresholdSums::from_below(std::vector<double>& sums, std::size_t inner) const {
  std::size_t below = inner;  // the distance between a cell and the next along the axis
  for (std::size_t position = counts_.size(); position-- > 0;) {
    const std::size_t block = below * counts_[position];
    for (std::size_t begin = 0; begin < sums.size(); begin += block)
      for (double* at = sums.data() + begin + below; at < sums.data() + begin + block; at += below)
        for (std::size_t i = 0; i < below; ++i) at[i] += at[i - below];
    below = block;
  }
}

void ThresholdSums::follow(const ThresholdSums& before, std::span<const std::uint32_t> reached, std::size_t count,
                           std::span<const double> values) {
  counts_ = before.counts_;
  combinations_ = before.combinations_ * count;
  rows_.clear();
  cells_.clear();
  ended_.assign(combinations_, 0.0);
  for (std::size_t i = 0; i < before.rows_.size(); ++i) {
    const std::uint32_t row = before.rows_[i], r = reached[row];
    const std::size_t cell = before.cells_[i] * count;
    if (r > 0) ended_[cell + r - 1] += values[row];
    if (r == count) continue;  // it ends under every threshold
    rows_.push_back(row);
    cells_.push_back(static_cast<std::uint32_t>(cell + r));
  }
  before.from_below(ended_, count);
  for (std::size_t begin = 0; begin < combinations_; begin += count) {
    for (std::size_t k = count; k-- > 1;) ended_[begin + k - 1] += ended_[begin + k];
    for (std::size_t k = 0; k < count; ++k) ended_[begin + k] += before.ended_[begin / count];
  }
  counts_.push_back(count);
}

void ThresholdSums::total(std::span<const double> values, std::vector<double>& out) const {
  out.assign(combinations_, 0.0);
  for (std::size_t i = 0; i < rows_.size(); ++i) out[cells_[i]] += values[rows_[i]];
  from_below(out, 1);
  for (std::size_t i = 0; i < combinations_; ++i) out[i] += ended_[i];
}

}  // namespace pandora
