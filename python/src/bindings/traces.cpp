// Tables of outcomes.
#include "traces.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/outcomes/tables/read_trace.hpp"
#include "host/outcomes/tables/table_builder.hpp"
#include "pandora/error.hpp"

namespace pandora::python {
namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

MissingCells missing_of(const std::string& missing) {
  if (missing != "refuse" && missing != "drop")
    throw Error(ExitCode::usage, "missing \"" + missing + "\": unknown; use refuse or drop");
  return missing == "drop" ? MissingCells::drop : MissingCells::refuse;
}

using NamedPairs = std::vector<std::pair<std::string, std::pair<double, double>>>;

void set_options(TraceOptions* options, const std::vector<std::string>& models, const std::string& missing,
                 const NamedPairs& scale, const NamedPairs& prices, bool free_calls, bool repeats) {
  new (options) TraceOptions();
  options->holes = true;
  options->models = models;
  options->missing = missing_of(missing);
  for (const auto& [name, range] : scale) options->scale.push_back({name, range.first, range.second});
  for (const auto& [model, price] : prices) options->prices[model] = {price.first, price.second};
  options->free_calls = free_calls;
  options->repeats = repeats;
}

TraceTable read(const std::string& path, TraceOptions options, const nb::object& progress) {
  constexpr int kMebibyte = 20;
  return beside(
      [&](Beside& work) {
        options.progress = [&work](std::uint64_t done, std::uint64_t total) {
          if (work.interrupted) throw Error(ExitCode::interrupted, "interrupted");
          work.progress(done >> kMebibyte, std::max(done, total) >> kMebibyte);
        };
        return read_trace(path, options);
      },
      progress);
}

// A cell of a column; what stands in `text` and `numbers` lasts as long as they do.
CellValue value_of(const nb::handle& cell, std::string& text, std::vector<double>& numbers) {
  CellValue out;
  const auto number = [&out](double value) {
    out.number = value;
    out.kind = value == value ? CellValue::Kind::number : CellValue::Kind::missing;
  };
  if (nb::isinstance<nb::str>(cell)) {
    text = nb::cast<std::string>(cell);
    out.kind = text.empty() ? CellValue::Kind::missing : CellValue::Kind::text;
    out.text = text;
  } else if (nb::isinstance<nb::float_>(cell)) {
    number(nb::cast<double>(cell));
  } else if (nb::isinstance<nb::int_>(cell)) {
    number(nb::cast<double>(cell));
    text = nb::str(cell).c_str();  // a name has all its digits
    out.text = text;
  } else if (!cell.is_none()) {
    numbers = nb::cast<std::vector<double>>(cell);
    out.kind = CellValue::Kind::vector;
    out.vector = numbers;
  }
  return out;
}

CellValue number_cell(double value) {
  CellValue out;
  out.kind = value == value ? CellValue::Kind::number : CellValue::Kind::missing;
  out.number = value;
  return out;
}

using CellList = nb::typed<nb::list, nb::any>;
using NamedMatrices = std::vector<std::pair<std::string, Matrix>>;
using NamedCells = std::vector<std::pair<std::string, CellList>>;

void require_rows(const FilePlace& place, const std::string& what, std::size_t count, std::size_t rows) {
  if (count != rows)
    place.refuse(what + " has " + std::to_string(count) + " values for " + std::to_string(rows) + " prompts");
}

void require_shapes(const FilePlace& place, const std::vector<std::string>& models, const NamedMatrices& answers) {
  const std::size_t rows = answers[0].second.shape(0);
  for (const auto& [name, values] : answers)
    if (values.shape(0) != rows || values.shape(1) != models.size())
      place.refuse(in_quotes(name) + " is " + std::to_string(values.shape(0)) + " x " +
                   std::to_string(values.shape(1)) + "; give a row for each of the " + std::to_string(rows) +
                   " prompts and a column for each of the " + std::to_string(models.size()) + " models");
}

// What is wrong with a cell is refused by the reader of files, with `source` in place of a file's name. `answers` are
// quality, cost and what else files name so, then judges' scores, `scores` of them, which get the prefix that they have
// in files.
TraceTable of_arrays(const std::string& source, const std::vector<std::string>& models, const CellList& prompts,
                     const NamedMatrices& answers, std::size_t scores, const NamedCells& columns,
                     const TraceOptions& options) {
  FilePlace place(source);
  TableBuilder builder(place, options, false);
  require_shapes(place, models, answers);
  const std::size_t rows = answers[0].second.shape(0);
  if (prompts.size() > 0) require_rows(place, "prompts", prompts.size(), rows);
  std::vector<std::size_t> model_of, quantity_of, column_of;
  const auto add = [&place](std::vector<std::size_t>& to, std::size_t number, const std::string& name) {
    if (number != TraceTable::kNone && std::find(to.begin(), to.end(), number) != to.end())
      place.refuse(in_quotes(name) + " is given twice");
    to.push_back(number);
  };
  for (const std::string& model : models) add(model_of, builder.model(model), model);
  for (std::size_t q = 0; q < answers.size(); ++q) {
    const std::string& name = answers[q].first;
    const bool plain = q + scores < answers.size() || is_score(name);
    add(quantity_of, builder.quantity(plain ? name : "score:" + name), name);
  }
  for (const auto& [name, values] : columns) {
    require_rows(place, "column " + in_quotes(name), values.size(), rows);
    add(column_of, builder.column(name), name);
  }
  std::string text;
  std::vector<double> numbers;
  for (std::size_t row = 0; row < rows; ++row) {
    place.row = row + 1;
    builder.begin_row();
    if (prompts.size() > 0) builder.name_row(name_in(place, "prompts", value_of(prompts[row], text, numbers)));
    for (std::size_t c = 0; c < columns.size(); ++c)
      builder.value(column_of[c], value_of(columns[c].second[row], text, numbers));
    for (std::size_t q = 0; q < answers.size(); ++q)
      for (std::size_t m = 0; m < models.size(); ++m)
        if (model_of[m] != TraceTable::kNone && quantity_of[q] != TraceTable::kNone)
          builder.cell(model_of[m], quantity_of[q], number_cell(answers[q].second(row, m)),
                       {models[m], answers[q].first});
  }
  return std::move(builder).finish();
}

// A data frame, by the rules of a CSV file's columns; texts are no numbers.
TraceTable of_columns(const std::string& source, const NamedCells& columns, const TraceOptions& options) {
  FilePlace place(source);
  NamedColumns named(place, options, false);
  std::vector<std::string> names, texts(columns.size());
  for (const auto& [name, values] : columns) names.push_back(name);
  named.name(std::move(names));
  std::vector<std::vector<double>> numbers(columns.size());
  std::vector<CellValue> cells(columns.size());
  for (std::size_t row = 0; row < columns[0].second.size(); ++row) {
    place.row = row + 1;
    for (std::size_t c = 0; c < columns.size(); ++c) cells[c] = value_of(columns[c].second[row], texts[c], numbers[c]);
    named.take(cells);
  }
  return std::move(named).finish();
}

Array<double> matrix(const std::vector<double>& values, const TraceTable& table) {
  return array_of(values, {table.rows(), table.models.size()});
}

nb::object column(const TraceTable& table, const std::string& name) {
  const PromptColumn* found = find_column(table, name);
  if (found == nullptr) throw Error(ExitCode::bad_data, table.source + ": has no column " + in_quotes(name));
  if (found->kind == PromptColumn::Kind::text) {
    nb::list out;
    for (std::size_t row = 0; row < table.rows(); ++row)
      out.append(nb::str(found->texts[row].data(), found->texts[row].size()));
    return out;
  }
  std::vector<std::size_t> shape = {table.rows()};
  if (found->kind == PromptColumn::Kind::vector) shape.push_back(found->length);
  return nb::cast(array_of(found->numbers, shape));
}

nb::object text_of(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// Not by the module json: where the interpreter ends while code in Python runs in another thread, it ends that thread
// there, and C++ below it would be unwound by no exception.
nb::object object_of(const nlohmann::json& json) {
  if (json.is_boolean()) return nb::bool_(json.get<bool>());
  if (json.is_number_unsigned()) return nb::int_(json.get<std::uint64_t>());
  if (json.is_number_integer()) return nb::int_(json.get<std::int64_t>());
  if (json.is_number() && std::isfinite(json.get<double>())) return nb::float_(json.get<double>());
  if (json.is_string()) return text_of(json.get_ref<const std::string&>());
  if (json.is_array()) {
    nb::list out;
    for (const nlohmann::json& element : json) out.append(object_of(element));
    return out;
  }
  if (!json.is_object()) return nb::none();
  nb::dict out;
  for (const auto& [key, value] : json.items()) out[text_of(key)] = object_of(value);
  return out;
}

}  // namespace

Dict python_of(const nlohmann::json& json) {
  return nb::cast<Dict>(object_of(json));
}

void bind_traces(nb::module_& module) {
  nb::class_<TraceOptions>(module, "TraceOptions", "How a table is read.")
      .def("__init__", &set_options, nb::arg("models"), nb::arg("missing"), nb::arg("scale"), nb::arg("prices"),
           nb::arg("free_calls"), nb::arg("repeats"));
  nb::class_<TraceTable>(module, "TraceTable", "A table of outcomes, prompts x models.")
      .def_ro("source", &TraceTable::source)
      .def_ro("models", &TraceTable::models)
      .def_ro("dropped", &TraceTable::dropped)
      .def_ro("notes", &TraceTable::notes)
      .def_prop_ro("rows", &TraceTable::rows)
      .def_prop_ro("prompts",
                   [](const TraceTable& t) {
                     std::vector<std::string> out;
                     for (std::size_t row = 0; row < t.rows(); ++row) out.emplace_back(t.prompts[row]);
                     return out;
                   })
      .def_prop_ro("columns",
                   [](const TraceTable& t) {
                     std::vector<std::string> out;
                     for (const PromptColumn& c : t.columns) out.push_back(c.name);
                     return out;
                   })
      .def_prop_ro("scores",
                   [](const TraceTable& t) {
                     std::vector<std::string> out;
                     for (const ScoreColumn& score : t.scores) out.push_back(score.name);
                     return out;
                   })
      .def("quality", [](const TraceTable& t) { return matrix(t.quality, t); })
      .def("cost", [](const TraceTable& t) { return matrix(t.cost, t); })
      .def("latency",
           [](const TraceTable& t) { return t.latency.empty() ? std::nullopt : std::optional(matrix(t.latency, t)); })
      .def(
          "score", [](const TraceTable& t, const std::string& name) { return matrix(find_score(t, name).values, t); },
          nb::arg("name"))
      .def("column", &column, nb::arg("name"))
      .def("digest", &content_digest)
      .def("select_models", &select_models, nb::arg("models"))
      .def(
          "select_rows",
          [](const TraceTable& t, const std::vector<std::size_t>& rows) {
            for (const std::size_t row : rows)
              if (row >= t.rows()) throw Error(ExitCode::usage, t.source + ": has no row " + std::to_string(row));
            return select_rows(t, rows);
          },
          nb::arg("rows"))
      .def(
          "split_rows",
          [](const TraceTable& t, double share) {
            TraceSplit split = split_rows(t, share);
            return std::pair(split.first, split.second);
          },
          nb::arg("share"));
  module.def("require_apart", &require_apart, nb::arg("fitted"), nb::arg("test"), nb::call_guard<WithoutGil>(),
             "DataError where two tables have prompts in common or other models.");
  module.def("read_trace", &read, nb::arg("path"), nb::arg("options"), nb::arg("progress") = nb::none());
  module.def("trace_of_arrays", &of_arrays, nb::arg("source"), nb::arg("models"), nb::arg("prompts"),
             nb::arg("answers"), nb::arg("scores"), nb::arg("columns"), nb::arg("options"));
  module.def("trace_of_columns", &of_columns, nb::arg("source"), nb::arg("columns"), nb::arg("options"));
}

}  // namespace pandora::python
