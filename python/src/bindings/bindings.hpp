// The extension module pandora._core, with a file per topic. It passes the library's results on; conveniences for
// Python are written in Python (src/pandora).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/ground/tables/columns.hpp"
#include "host/ground/tables/table.hpp"
#include "pandora/error.hpp"

namespace pandora::python {

namespace nb = nanobind;

// Each function adds the classes and functions of its topic.
void bind_errors(nb::module_& module);
void bind_studies(nb::module_& module);
void bind_results(nb::module_& module);
void bind_runs(nb::module_& module);
void bind_oracle(nb::module_& module);
void bind_policies(nb::module_& module);
void bind_environments(nb::module_& module);
void bind_traces(nb::module_& module);
void bind_features(nb::module_& module);
void bind_searches(nb::module_& module);
void bind_indices(nb::module_& module);
void bind_printing(nb::module_& module);

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

inline Error misuse(const std::string& what) {
  return Error(ExitCode::usage, what);
}

using Texts = std::vector<std::string>;

// As the stubs name them:
using Dict = nb::typed<nb::dict, nb::str, nb::any>;
using DictList = nb::typed<nb::list, Dict>;

template <class T>
using Array = nb::ndarray<nb::numpy, T>;
// An argument that is read and not kept; another type or layout is converted first.
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cells = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// A numpy array, row-major, that takes over the values.
template <class T>
Array<T> array_of(std::vector<T> values, const std::vector<std::size_t>& shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(kept->data(), shape.size(), shape.data(), owner);
}
template <class T>
Array<T> array_of(std::vector<T> values) {
  const std::size_t n = values.size();
  return array_of(std::move(values), {n});
}
template <class T>
Array<T> array_of(std::span<const T> values) {
  return array_of(std::vector<T>(values.begin(), values.end()));
}

/// Names to lists of str and arrays, in the order of the columns.
Dict dict_of(const Columns& columns);

/// A table for pandora.table.of_program: title, notes, and the table itself as text and as JSON (table_json).
Dict table_dict(const Table& table);
DictList dicts_of(const std::vector<Table>& tables);

/// Releases the GIL while it exists, except while the interpreter ends: a thread that takes the GIL again would then be
/// ended in the middle of the library.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

/// Returns the result of `body()`, which runs without the GIL.
template <class Body>
auto without_gil(Body&& body) {
  const WithoutGil release;
  return body();
}

/// A line with a Python exception and the place where it was raised.
std::string line_of(nb::python_error& error);

}  // namespace pandora::python
