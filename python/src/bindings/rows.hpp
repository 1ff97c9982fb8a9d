// Arrays over the rows of a table, as functions take and return them: n rows with A models each. A wrong shape or row
// raises UsageError.
#pragma once

#include <cstdint>
#include <span>

#include "bindings.hpp"
#include "host/outcomes/tables/features.hpp"

namespace pandora::python {

using RowNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto span_of(const Array& array) {
  return std::span(array.data(), array.size());
}

void require_shape(const char* name, const Cells& cells, std::size_t rows, std::size_t columns);

/// The rows 0 to rows - 1.
std::vector<std::size_t> all_rows(std::size_t rows);
/// The given rows, which must be below `count`.
std::vector<std::size_t> rows_of(const RowNumbers& rows, std::size_t count);

inline Array<std::int64_t> numbers_of(const std::vector<std::size_t>& values) {
  return array_of(std::vector<std::int64_t>(values.begin(), values.end()));
}

/// Reads features from JSON; UsageError if to_json() cannot have written it.
FeatureMap parse_map(const std::string& json);

}  // namespace pandora::python
