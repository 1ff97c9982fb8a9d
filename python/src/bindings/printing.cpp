// Prints and writes in Python as the program does: tables, files, lists of prices, and the names that a misspelt word
// probably meant.
#include <nanobind/stl/filesystem.h>

#include "bindings.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora::python {
namespace {

using Path = std::filesystem::path;

void set_table(Table* self, const std::string& title, const Texts& columns, const std::vector<Texts>& rows,
               const std::vector<std::size_t>& rules, const Texts& notes, std::size_t headers) {
  new (self) Table{.title = title, .columns = columns, .row_headers = headers, .rows = {}, .notes = notes};
  for (const Texts& row : rows) self->rows.push_back({.cells = {row.begin(), row.end()}});
  for (const std::size_t row : rules) self->rows.at(row).rule_above = true;
}

std::string csv(const std::vector<Texts>& rows) {
  std::string out;
  for (const Texts& row : rows) {
    for (const std::string& cell : row) out += (&cell == &row[0] ? "" : ",") + csv_name(cell);
    out += "\n";
  }
  return out;
}

}  // namespace

// Signatures are written out, because nanobind gives paths no types.
void bind_printing(nb::module_& module) {
  nb::class_<Table>(module, "PrintedTable", "A table of texts. rules: rows with a thin rule above them.")
      .def("__init__", &set_table, nb::arg("title"), nb::arg("columns"), nb::arg("rows"), nb::arg("rules"),
           nb::arg("notes"), nb::arg("headers"))
      .def(
          "text", [](const Table& t, std::size_t width) { return table_text(t, width, false); }, nb::arg("width"))
      .def("markdown", &table_markdown)
      .def("found", &table_dict, "As pandora.table.of_program takes it.");
  module.def("csv", &csv, nb::arg("rows"), "Cells, of which a spreadsheet runs none as a formula.");
  module.def(
      "printable",
      [](const nb::bytes& text, std::size_t most) {
        const std::string_view view(text.c_str(), text.size());
        return most == 0 ? printable_lines(view) : printable(view, most);
      },
      nb::arg("text"), nb::arg("most"), "One line of at most so many bytes; 0: lines stay, and all of them.");
  module.def("claim_file", &claim_output_file,
             nb::sig("def claim_file(path: str, force: bool, inputs: Sequence[str]) -> None"), nb::arg("path"),
             nb::arg("force"), nb::arg("inputs"),
             "Raises if the file cannot be written, is one of the inputs or, without force, exists already.");
  module.def("claim_folder", &claim_output_folder, nb::arg("path"), nb::arg("force"),
             "Makes the folder. Raises if it cannot be written or, without force, is not empty.");
  module.def(
      "write_file", [](const Path& path, const std::string& text) { write_file(path, text); },
      nb::sig("def write_file(path: str, text: str) -> None"), nb::arg("path"), nb::arg("text"),
      "Whole or not at all.");
  module.def(
      "nearest",
      [](const std::string& word, const Texts& names, std::size_t most) { return nearest(word, names, most); },
      nb::arg("word"), nb::arg("names"), nb::arg("most") = 3,
      "The names that a word was probably meant to be, nearest first.");
  module.def("nearest_text", &nearest_text, nb::arg("found"), "\"; the nearest is a\"; empty where none is near.");
}

}  // namespace pandora::python
