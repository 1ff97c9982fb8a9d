// Rows of a table and shapes of arrays, checked.
#include "rows.hpp"

#include <fmt/format.h>

#include <numeric>

namespace pandora::python {

void require_shape(const char* name, const Cells& cells, std::size_t rows, std::size_t columns) {
  if (cells.shape(0) != rows || cells.shape(1) != columns)
    throw misuse(
        fmt::format("{} is {} x {} where {} x {} belong", name, cells.shape(0), cells.shape(1), rows, columns));
}

std::vector<std::size_t> all_rows(std::size_t rows) {
  std::vector<std::size_t> out(rows);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

std::vector<std::size_t> rows_of(const RowNumbers& rows, std::size_t count) {
  std::vector<std::size_t> out;
  out.reserve(rows.size());
  for (const std::int64_t row : span_of(rows)) {
    if (row < 0 || static_cast<std::size_t>(row) >= count)
      throw misuse(fmt::format("there is no row {}; there are {}", row, count));
    out.push_back(static_cast<std::size_t>(row));
  }
  return out;
}

}  // namespace pandora::python
