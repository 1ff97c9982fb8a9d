// What fits in Python (pandora.offline) need of the library, as functions over row-major arrays. n rows of a table have
// A models each. Arrays that are given are read and not kept, unless a docstring says otherwise; of another type or
// layout they are converted first. A shape or a row that cannot be raises UsageError.
#include <algorithm>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "pandora/error.hpp"

namespace pandora::python {
namespace {

using Cells = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using View = nb::ndarray<nb::numpy, const T>;

template <class Array>
auto span_of(const Array& array) {
  return std::span(array.data(), array.size());
}

Error misuse(const std::string& what) {
  return Error(ExitCode::usage, what);
}

void require_shape(const char* name, const Cells& cells, std::size_t rows, std::size_t columns) {
  if (cells.shape(0) != rows || cells.shape(1) != columns)
    throw misuse(fmt::format("{} is {} x {} where {} x {} belong", name, cells.shape(0), cells.shape(1), rows, columns));
}

std::vector<std::size_t> rows_of(const Rows& rows, std::size_t count) {
  std::vector<std::size_t> out;
  out.reserve(rows.size());
  for (const std::int64_t row : span_of(rows)) {
    if (row < 0 || static_cast<std::size_t>(row) >= count)
      throw misuse(fmt::format("there is no row {}; there are {}", row, count));
    out.push_back(static_cast<std::size_t>(row));
  }
  return out;
}

Array<std::int64_t> numbers_of(const std::vector<std::size_t>& values) {
  return array_of(std::vector<std::int64_t>(values.begin(), values.end()), {values.size()});
}

// Views of a table, which they keep.
class TableArrays {
 public:
  explicit TableArrays(nb::object table) : kept_(std::move(table)), table_(nb::cast<const TraceTable&>(kept_)) {}

  const TraceTable& table() const { return table_; }
  View<double> view(const std::vector<double>& values, std::size_t columns) const {
    return View<double>(values.data(), {table_.rows(), columns}, kept_);
  }
  std::optional<View<double>> cells(const std::vector<double>& values) const {
    if (values.empty()) return {};
    return view(values, table_.models.size());
  }
  std::optional<View<double>> logged(std::vector<double> CallLog::*values) const {
    return table_.log ? cells((*table_.log).*values) : std::nullopt;
  }
  View<double> numbers(const std::string& name) const {
    const PromptColumn* const column = find_column(table_, name);
    if (column == nullptr) table_.refuse("has no column {}", in_quotes(name));
    if (column->kind == PromptColumn::Kind::text) table_.refuse("column {} holds texts", in_quotes(name));
    return column->kind == PromptColumn::Kind::vector ? view(column->numbers, column->length)
                                                      : View<double>(column->numbers.data(), {table_.rows()}, kept_);
  }

 private:
  nb::object kept_;
  const TraceTable& table_;
};

void bind_tables(nb::module_& module) {
  nb::class_<TableArrays>(module, "TableArrays",
                          "What a table holds, without a copy: arrays that cannot be written to, and that keep the table. "
                          "f64[n,A] where nothing else is said.")
      .def(nb::init<nb::typed<nb::object, TraceTable>>(), nb::arg("table"))
      .def_prop_ro(
          "quality", [](const TableArrays& t) { return t.view(t.table().quality, t.table().models.size()); },
          "In [0, 1]; NaN where not known.")
      .def_prop_ro(
          "usd", [](const TableArrays& t) { return t.view(t.table().cost, t.table().models.size()); },
          "Dollars of each call, not negative; NaN in a log where the model was not called.")
      .def_prop_ro(
          "latency", [](const TableArrays& t) { return t.cells(t.table().latency); },
          "Seconds of each call, NaN where not known; None where none has them.")
      .def_prop_ro(
          "label_propensity", [](const TableArrays& t) { return t.cells(t.table().label_propensity); },
          "That a quality became known, in (0, 1]; None where nothing says so.")
      .def_prop_ro("is_log", [](const TableArrays& t) { return t.table().log.has_value(); })
      .def_prop_ro(
          "propensity", [](const TableArrays& t) { return t.logged(&CallLog::propensity); },
          "Of a log: that the model was called there, given all that was seen before, in (0, 1]; NaN where it was not "
          "called. None of a table.")
      .def_prop_ro(
          "place", [](const TableArrays& t) { return t.logged(&CallLog::place); },
          "Of a log: 1, 2, ..., which call of its decision it was; NaN where the model was not called. None of a table.")
      .def_prop_ro(
          "by_rules", [](const TableArrays& t) { return t.logged(&CallLog::by_rules); },
          "Of the answer that a log's client had: with what probability the decision went by the rules in all of its "
          "steps; NaN of others. None where nothing says so.")
      .def_prop_ro(
          "known_digest", [](const TableArrays& t) { return t.table().known_digest; },
          "Where qualities are estimates: of the table with what is known; else empty.")
      .def_prop_ro(
          "text_column",
          [](const TableArrays& t) -> std::optional<std::string> {
            const TraceTable& table = t.table();
            return table.text_column == TraceTable::kNone ? std::nullopt
                                                          : std::optional(table.columns[table.text_column].name);
          },
          "The name of the column with the prompts' texts; None where there is none.")
      .def(
          "score",
          [](const TableArrays& t, const std::string& name) {
            return t.view(find_score(t.table(), name).values, t.table().models.size());
          },
          nb::arg("name"), "A judge's, in [0, 1]; DataError where it is not there.")
      .def("numbers", &TableArrays::numbers, nb::arg("name"),
           "A column of numbers, f64[n], or of lists of k numbers, f64[n,k]; NaN where a cell is missing. DataError where "
           "it is not there or holds texts.");
  module.def(
      "group_prompts",
      [](const TraceTable& table) {
        const PromptGroups groups = [&] {
          const WithoutGil release;
          return group_prompts(table);
        }();
        return std::pair(numbers_of(groups.of_row), groups.count);
      },
      nb::arg("table"),
      "Which prompt each row has, i64[n], from 0 to count - 1 in the order of a hash, and count. Rows with the same text "
      "(without one the same name) are one prompt; fold f of F are those with of_row % F == f.");
}

void bind_searches(nb::module_& module) {
  module.def(
      "fit_thresholds",
      [](const Cells& seen, const Cells& quality, const Cells& usd, double price, std::size_t most_prompts,
         double most_steps, std::optional<std::size_t> first) {
        const std::size_t rows = quality.shape(0), models = quality.shape(1);
        require_shape("seen", seen, rows, models);
        require_shape("usd", usd, rows, models);
        if (quality.size() == 0 || most_prompts == 0) throw misuse("give a row, a model and most_prompts at least");
        if (!(price >= 0.0 && price <= kMostPrice)) throw misuse("the price is a number from 0 to 1e9");
        if (!(most_steps >= 0.0 && most_steps <= 1e18)) throw misuse("most_steps is a number from 0 to 1e18");
        if (first && *first >= models) throw misuse(fmt::format("there is no model {}", *first));
        const FixedCascade found = beside([&](Beside& work) {
          const CascadeEffort effort{most_prompts, static_cast<std::uint64_t>(most_steps), &work.interrupted};
          return fit_fixed_cascade({models, span_of(seen), span_of(quality), span_of(usd)}, price, all_rows(rows),
                                   effort, first);
        });
        return std::pair(numbers_of(found.order), array_of(found.thresholds, {found.thresholds.size()}));
      },
      nb::arg("seen"), nb::arg("quality"), nb::arg("usd"), nb::arg("price"), nb::arg("most_prompts"),
      nb::arg("most_steps"), nb::arg("first").none() = nb::none(),
      "The cascade of thresholds with the greatest mean of quality - price x usd: order i64[L], thresholds f64[L-1]. "
      "seen, quality, usd: f64[n,A]; an answer is accepted where seen reaches its model's threshold, and the best seen "
      "one is deployed. Of more rows most_prompts are looked at, spread evenly; all orders are tried while that takes "
      "most_steps, else a beam. first: among cascades of two models and more that begin with it. Interrupted raises.");
}

}  // namespace

void bind_offline(nb::module_& module) {
  bind_tables(module);
  bind_searches(module);
}

}  // namespace pandora::python
