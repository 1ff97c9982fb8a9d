#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/machine/build.hpp"
#include "pandora/program.hpp"

namespace pandora::python {

Dict dict_of(const Columns& columns) {
  nb::dict out;
  for (const Columns::Column& column : columns.columns()) {
    if (!column.head.in_frames) continue;
    const nb::str name(column.head.column.c_str());
    const std::size_t n = column.texts.size();
    if (column.head.kind == Field::Kind::text) out[name] = nb::cast(column.texts);
    if (column.head.kind == Field::Kind::number) out[name] = nb::cast(array_of(column.numbers, {n}));
    if (column.head.kind == Field::Kind::integer) {
      std::vector<std::int64_t> values;
      for (const std::string& text : column.texts) values.push_back(std::stoll(text));
      out[name] = nb::cast(array_of(std::move(values), {n}));
    }
    if (column.head.kind == Field::Kind::flag) {
      nb::list flags;
      for (const std::string& text : column.texts) flags.append(nb::bool_(text == "1"));
      out[name] = flags;
    }
  }
  return out;
}

namespace {

// The number that a cell says, NaN for what is unknown; none if it says something else.
std::optional<double> number_in(const Cell& cell) {
  const std::string& text = cell.exact.empty() ? cell.text : cell.exact;
  if (text.empty() || text == "---") return kUnknown;
  return number_of(text);
}

Dict columns_of(const Table& table) {
  nb::dict out;
  if (!table.heading_column.empty()) {
    std::string heading;
    std::vector<std::string> headings;
    for (const Row& row : table.rows) {
      if (row.cells.empty()) heading = row.heading;
      if (!row.cells.empty()) headings.push_back(heading);
    }
    out[table.heading_column.c_str()] = headings;
  }
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::vector<double> numbers;
    std::vector<std::string> texts;
    bool all_numbers = true, any = false;
    for (const Row& row : table.rows) {
      if (row.cells.empty()) continue;
      const Cell cell = c < row.cells.size() ? row.cells[c] : Cell();
      const std::optional<double> number = number_in(cell);
      all_numbers = all_numbers && number;
      any = any || (number && !std::isnan(*number));
      numbers.push_back(number.value_or(kUnknown));
      texts.push_back(cell.text == "---" ? "" : cell.text);
    }
    const std::string name = table.columns[c].empty() ? "column " + std::to_string(c + 1) : table.columns[c];
    const std::size_t rows = numbers.size();
    if (all_numbers && (any || c >= table.row_headers))
      out[name.c_str()] = nb::cast(array_of(std::move(numbers), {rows}));
    else
      out[name.c_str()] = nb::cast(texts);
  }
  return out;
}

}  // namespace

Dict table_dict(const Table& table) {
  nb::dict out;
  out["title"] = table.title;
  out["columns"] = columns_of(table);
  out["notes"] = table.notes;
  out["text"] = table_text(table, 100, false);
  out["whole"] = table_json(table).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return out;
}

DictList dicts_of(const std::vector<Table>& tables) {
  nb::list out;
  for (const Table& table : tables) out.append(table_dict(table));
  return out;
}

std::string line_of(nb::python_error& error) {
  constexpr std::size_t kMost = 250;
  std::string what = "an exception that cannot be told";
  try {
    const std::string type = nb::cast<std::string>(error.type().attr("__name__")),
                      text = nb::str(error.value()).c_str();
    what = type + (text.empty() ? "" : ": " + printable(text, kMost));
    std::string place;  // the last line that is not this package's
    for (nb::object trace = error.traceback(); trace.is_valid() && !trace.is_none(); trace = trace.attr("tb_next")) {
      const nb::object frame = trace.attr("tb_frame");
      if (nb::cast<std::string>(nb::str(frame.attr("f_globals").attr("get")("__name__", ""))).starts_with("pandora."))
        continue;
      const std::string file = nb::cast<std::string>(frame.attr("f_code").attr("co_filename"));
      place =
          " (" + file.substr(file.rfind('/') + 1) + ":" + std::to_string(nb::cast<int>(trace.attr("tb_lineno"))) + ")";
    }
    what += place;
  } catch (nb::python_error&) {  // of a __str__ of its own
  }
  return what;
}

}  // namespace pandora::python

NB_MODULE(_core, module) {
  using namespace pandora::python;
  nb::set_leak_warnings(false);  // policies and environments that were registered stay to the end of the process
  module.doc() = "The library behind the package; what is meant for users stands in pandora itself.";
  module.attr("build") = pandora::build_text();
  module.def(
      "main",
      [](std::vector<std::string> words) {
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        const nb::gil_scoped_release release;
        return pandora::run_program(static_cast<int>(words.size()), arguments.data());
      },
      nb::arg("words"), "The program: argv, of which the first is its name; returns its exit code.");
  bind_errors(module);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_work_at_exit));
  nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") =
                                                          nb::cpp_function(&forget_work_after_fork));
  bind_studies(module);
  bind_results(module);
  bind_runs(module);
  bind_lanes(module);
  bind_oracle(module);
  bind_policies(module);
  bind_environments(module);
  bind_traces(module);
  bind_cascades(module);
  bind_offline(module);
  bind_printing(module);
}
