// The module itself, and helpers for every topic: columns, tables, exceptions as a line.
#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/machine/build.hpp"
#include "host/ground/statistics/statistics.hpp"
#include "pandora/program.hpp"

namespace pandora::python {

Dict dict_of(const Columns& columns) {
  nb::dict out;
  for (const Columns::Column& column : columns.columns()) {
    if (!column.head.in_frames) continue;
    const nb::str name(column.head.column.c_str());
    if (column.head.kind == Field::Kind::text) out[name] = nb::cast(column.texts);
    if (column.head.kind == Field::Kind::number) out[name] = nb::cast(array_of(column.numbers));
    if (column.head.kind == Field::Kind::integer) {
      std::vector<std::int64_t> values;
      for (const std::string& text : column.texts) values.push_back(std::stoll(text));
      out[name] = nb::cast(array_of(std::move(values)));
    }
    if (column.head.kind == Field::Kind::flag) {
      nb::list flags;
      for (const std::string& text : column.texts) flags.append(nb::bool_(text == "1"));
      out[name] = flags;
    }
  }
  return out;
}

Dict table_dict(const Table& table) {
  nb::dict out;
  out["title"] = table.title;
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
    std::string place;  // the last line outside this package
    for (nb::object trace = error.traceback(); trace.is_valid() && !trace.is_none(); trace = trace.attr("tb_next")) {
      const nb::object frame = trace.attr("tb_frame");
      if (nb::cast<std::string>(nb::str(frame.attr("f_globals").attr("get")("__name__", ""))).starts_with("pandora."))
        continue;
      const std::string file = nb::cast<std::string>(frame.attr("f_code").attr("co_filename"));
      place =
          " (" + file.substr(file.rfind('/') + 1) + ":" + std::to_string(nb::cast<int>(trace.attr("tb_lineno"))) + ")";
    }
    what += place;
  } catch (nb::python_error&) {  // raised by the exception's own __str__
  }
  return what;
}

}  // namespace pandora::python

NB_MODULE(_core, module) {
  using namespace pandora::python;
  nb::set_leak_warnings(false);  // registered policies and environments stay to the end of the process
  module.doc() = "The library behind the package; users find everything in pandora itself.";
  module.attr("build") = pandora::build_text();
  module.def(
      "main",
      [](Texts words) {
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        const nb::gil_scoped_release release;
        return pandora::run_program(static_cast<int>(words.size()), arguments.data());
      },
      nb::arg("words"), "The program: argv, of which the first is its name; returns its exit code.");
  module.def("student_t_quantile", &pandora::student_t_quantile, nb::arg("probability"), nb::arg("degrees_of_freedom"),
             "Quantile of Student's t.");
  module.def("beta_quantile", &pandora::beta_quantile, nb::arg("probability"), nb::arg("a"), nb::arg("b"),
             "Quantile of the beta distribution.");
  bind_errors(module);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_work_at_exit));
  nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") =
                                                          nb::cpp_function(&forget_work_after_fork));
  bind_studies(module);
  bind_results(module);
  bind_runs(module);
  bind_oracle(module);
  bind_policies(module);
  bind_environments(module);
  bind_traces(module);
  bind_features(module);
  bind_searches(module);
  bind_indices(module);
  bind_printing(module);
}
