// What Python prints and writes as the program does: tables, figures, documents, files, lists of prices, and names that
// a word was probably meant to be.
#include <nanobind/stl/filesystem.h>

#include <nlohmann/json.hpp>

#include "bindings.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/figures/document.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/studies/study/price_list.hpp"

namespace pandora::python {
namespace {

using Path = std::filesystem::path;
using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;

void set_table(Table* self, const std::string& title, const Texts& columns, const std::vector<Texts>& rows,
               const std::vector<std::size_t>& rules, const Texts& notes, std::size_t headers) {
  new (self) Table{.title = title, .columns = columns, .row_headers = headers, .rows = {}, .notes = notes};
  for (const Texts& row : rows) self->rows.push_back({.cells = {row.begin(), row.end()}});
  for (const std::size_t row : rules) self->rows.at(row).rule_above = true;
}

// `x` and `y`: values, lower and upper ends; without ends a line.
void set_series(Series* self, const std::string& label, const std::vector<Numbers>& x, const std::vector<Numbers>& y,
                const Texts& marks) {
  new (self) Series{.label = label, .x = x.at(0), .y = y.at(0), .line = x.size() == 1, .marks = marks};
  if (self->line) return;
  self->x_low = x.at(1), self->x_high = x.at(2), self->low = y.at(1), self->high = y.at(2);
}

void set_figure(Figure* self, const std::string& name, const std::string& title, const std::string& caption,
                const std::string& x_label, const std::string& y_label, const std::vector<Series>& series) {
  new (self) Figure{.kind = Figure::Kind::scatter,
                    .name = name,
                    .title = title,
                    .x_label = x_label,
                    .y_label = y_label,
                    .log_x = true,
                    .series = series,
                    .caption = caption,
                    .width_cm = 12.0};
}

std::string write(const Path& folder, const std::string& title, const std::string& subtitle, const std::string& heading,
                  const std::vector<std::pair<std::string, Table>>& tables, const std::vector<Figure>& figures,
                  const Texts& formats) {
  ReportSection section{.heading = heading, .figures = figures};
  for (const auto& [name, table] : tables) section.tables.emplace_back(table).label = name;
  const nb::gil_scoped_release release;
  return write_document(folder, {title, subtitle, {section}}, {.formats = formats}).message;
}

std::string csv(const std::vector<Texts>& rows) {
  std::string out;
  for (const Texts& row : rows) {
    for (const std::string& cell : row) out += (&cell == &row[0] ? "" : ",") + csv_name(cell);
    out += "\n";
  }
  return out;
}

std::vector<std::pair<std::string, std::pair<double, double>>> price_list(const Path& path) {
  std::vector<std::pair<std::string, std::pair<double, double>>> out;
  for (const auto& [model, price] : read_price_list(path)) out.push_back({model, {price.in, price.out}});
  return out;
}

}  // namespace

void bind_printing(nb::module_& module) {
  nb::class_<Table>(module, "PrintedTable", "A table of texts. rules: rows with a thin rule above them.")
      .def("__init__", &set_table, nb::arg("title"), nb::arg("columns"), nb::arg("rows"), nb::arg("rules"),
           nb::arg("notes"), nb::arg("headers"))
      .def(
          "text", [](const Table& t, std::size_t width) { return table_text(t, width, false); }, nb::arg("width"))
      .def("markdown", &table_markdown)
      .def("found", &table_dict, "As pandora.table.of_program takes it.");
  nb::class_<Series>(module, "Series", "Points of a figure: values, lower and upper ends; without ends a line.")
      .def("__init__", &set_series, nb::arg("label"), nb::arg("x"), nb::arg("y"), nb::arg("marks"));
  nb::class_<Figure>(module, "Scatter", "A scatter over a logarithmic axis.")
      .def("__init__", &set_figure, nb::arg("name"), nb::arg("title"), nb::arg("caption"), nb::arg("x_label"),
           nb::arg("y_label"), nb::arg("series"))
      .def(
          "json", [](const Figure& f) { return figure_json(f, true).dump(); }, "As pandora.Figure takes it.");
  module.def("csv", &csv, nb::arg("rows"), "Cells, of which a spreadsheet runs none as a formula.");
  module.def(
      "printable",
      [](const nb::bytes& text, std::size_t most) {
        const std::string_view view(text.c_str(), text.size());
        return most == 0 ? printable_lines(view) : printable(view, most);
      },
      nb::arg("text"), nb::arg("most"), "One line of at most so many bytes; 0: lines stay, and all of them.");
  module.def(
      "write_document", &write, nb::arg("folder"), nb::arg("title"), nb::arg("subtitle"), nb::arg("heading"),
      nb::arg("tables"), nb::arg("figures"), nb::arg("formats"),
      "Writes a report of one section and has it rendered; why not all was, empty where it was. tables: by name.");
  module.def("claim_file", &claim_output_file, nb::arg("path"), nb::arg("force"), nb::arg("inputs"),
             "Refuses what cannot be written, is an input or, without force, is there already.");
  module.def("claim_folder", &claim_output_folder, nb::arg("path"), nb::arg("force"),
             "Makes the folder; refuses one that cannot be written or, without force, is not empty.");
  module.def(
      "write_file", [](const Path& path, const std::string& text) { write_file(path, text); }, nb::arg("path"),
      nb::arg("text"), "Whole or not at all.");
  module.def("price_list", &price_list, nb::arg("path"),
             "Of each model in a TOML file dollars for a million tokens in and out.");
  module.def("nearest", &nearest, nb::arg("word"), nb::arg("names"), nb::arg("most") = 3,
             "Names that a word was probably meant to be, the nearest first.");
  module.def("nearest_text", &nearest_text, nb::arg("found"), "\"; the nearest is a\"; empty where none is near.");
}

}  // namespace pandora::python
