// Tables of outcomes.
#include "traces.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/traces/read_trace.hpp"
#include "host/traces/table_builder.hpp"
#include "host/traces/trace_check.hpp"
#include "pandora/error.hpp"

namespace pandora::python {
namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

MissingCells missing_of(const std::string& missing) {
  if (missing != "refuse" && missing != "drop")
    throw Error(ExitCode::usage, "missing \"" + missing + "\": unknown; use refuse or drop");
  return missing == "drop" ? MissingCells::drop : MissingCells::refuse;
}

TraceTable read(const std::string& path, const std::vector<std::string>& models, const std::string& missing,
                const nb::object& progress) {
  constexpr int kMebibyte = 20;
  TraceOptions options;
  options.models = models;
  options.missing = missing_of(missing);
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

CellValue value_of(const nb::handle& cell, std::string& text, std::vector<double>& numbers) {
  CellValue out;
  if (nb::isinstance<nb::str>(cell)) {
    text = nb::cast<std::string>(cell);
    out.kind = CellValue::Kind::text;
    out.text = text;
  } else if (nb::isinstance<nb::float_>(cell) || nb::isinstance<nb::int_>(cell)) {
    out.number = nb::cast<double>(cell);
    out.kind = out.number == out.number ? CellValue::Kind::number : CellValue::Kind::missing;
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

// What is wrong with a cell is refused by the reader of files, with `source` in place of a file's name.
TraceTable of_arrays(const std::string& source, const std::vector<std::string>& models,
                     const std::vector<std::string>& prompts,
                     const std::vector<std::pair<std::string, Matrix>>& answers,
                     const std::vector<std::pair<std::string, nb::typed<nb::list, nb::any>>>& columns,
                     const std::string& missing) {
  FilePlace place(source);
  TraceOptions options;
  options.missing = missing_of(missing);
  TableBuilder builder(place, options, false);
  std::size_t rows = 0;
  for (const auto& [name, values] : answers) {
    rows = values.shape(0);
    if (values.shape(1) != models.size() || rows != answers[0].second.shape(0))
      place.refuse(name + " is not prompts x models, as quality is");
  }
  if (!prompts.empty() && prompts.size() != rows) place.refuse("has another number of names than of prompts");
  std::vector<std::size_t> model_of, quantity_of, column_of;
  for (const std::string& model : models) model_of.push_back(builder.model(model));
  for (const auto& [name, values] : answers) quantity_of.push_back(builder.quantity(name));
  for (const auto& [name, values] : columns) {
    if (values.size() != rows) place.refuse("column " + name + " has another number of rows");
    column_of.push_back(builder.column(name));
  }
  std::string text;
  std::vector<double> numbers;
  for (std::size_t row = 0; row < rows; ++row) {
    place.row = row + 1;
    builder.begin_row();
    if (!prompts.empty()) builder.name_row(prompts[row]);
    for (std::size_t c = 0; c < columns.size(); ++c)
      builder.value(column_of[c], value_of(columns[c].second[row], text, numbers));
    for (std::size_t q = 0; q < answers.size(); ++q)
      for (std::size_t m = 0; m < models.size(); ++m)
        builder.cell(model_of[m], quantity_of[q], number_cell(answers[q].second(row, m)),
                     {models[m], answers[q].first});
  }
  return std::move(builder).finish();
}

Array<double> matrix(const std::vector<double>& values, const TraceTable& table) {
  return array_of(values, {table.rows(), table.models.size()});
}

nb::object column(const TraceTable& table, const std::string& name) {
  const PromptColumn* found = find_column(table, name);
  if (found == nullptr) throw Error(ExitCode::bad_data, table.source + ": has no column " + name);
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
          nb::arg("share"))
      .def(
          "check",
          [](const TraceTable& t, const std::string& evaluator, const std::vector<double>& prices) {
            const TraceCheck check = beside([&](Beside&) { return check_trace(t, evaluator, prices); });
            DictList tables;
            for (const Table& table : trace_check_tables(check, t)) tables.append(table_dict(table));
            return std::pair(python_of(trace_check_json(check, t)), tables);
          },
          nb::arg("evaluator"), nb::arg("prices"));
  module.def("read_trace", &read, nb::arg("path"), nb::arg("models"), nb::arg("missing"),
             nb::arg("progress") = nb::none());
  module.def("trace_of_arrays", &of_arrays, nb::arg("source"), nb::arg("models"), nb::arg("prompts"),
             nb::arg("answers"), nb::arg("columns"), nb::arg("missing"));
}

}  // namespace pandora::python
