// The extension module pandora._core, a file per topic. It hands on what the library says; what is convenient in Python
// is written in Python (src/pandora).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "host/ground/tables/table.hpp"

namespace pandora::python {

namespace nb = nanobind;

// Each adds the classes and functions of its topic.
void bind_errors(nb::module_& module);
void bind_studies(nb::module_& module);
void bind_results(nb::module_& module);
void bind_figures(nb::module_& module);
void bind_runs(nb::module_& module);
void bind_lanes(nb::module_& module);
void bind_oracle(nb::module_& module);
void bind_policies(nb::module_& module);
void bind_environments(nb::module_& module);
void bind_traces(nb::module_& module);
void bind_cascades(nb::module_& module);

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// As the stubs name them.
using Dict = nb::typed<nb::dict, nb::str, nb::any>;
using DictList = nb::typed<nb::list, Dict>;

template <class T>
using Array = nb::ndarray<nb::numpy, T>;

/// A numpy array that takes over the values; row-major.
template <class T>
Array<T> array_of(std::vector<T> values, const std::vector<std::size_t>& shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(kept->data(), shape.size(), shape.data(), owner);
}

/// Columns of a table, as they are gathered without Python: numbers or texts. Missing numbers are NaN.
class Columns {
 public:
  std::vector<double>& numbers(const std::string& name) { return column(name).numbers; }
  std::vector<std::string>& texts(const std::string& name) { return column(name, Kind::text).texts; }
  std::vector<std::int64_t>& integers(const std::string& name) { return column(name, Kind::integer).integers; }
  std::vector<std::int64_t>& flags(const std::string& name) { return column(name, Kind::flag).integers; }

  /// Names to lists of str and arrays, in the order in which the columns were first named.
  Dict to_dict() &&;

 private:
  enum class Kind { number, text, integer, flag };
  struct Column {
    std::string name;
    Kind kind;
    std::vector<double> numbers = {};
    std::vector<std::string> texts = {};
    std::vector<std::int64_t> integers = {};
  };
  Column& column(const std::string& name, Kind kind = Kind::number);

  std::deque<Column> columns_;
};

/// A table as a dict: title, columns (as Columns::to_dict), notes, and the table itself as text, html and latex.
Dict table_dict(const Table& table);

/// Gives the GIL back while it stands. Not while the interpreter ends: a thread that took it again would be ended
/// there, in the middle of the library.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

/// The line that says what a Python exception is and where it was raised.
std::string line_of(nb::python_error& error);

}  // namespace pandora::python
