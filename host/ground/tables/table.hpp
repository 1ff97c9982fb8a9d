// A table as data, and as text for a terminal, Markdown or CSV.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace pandora {

struct Cell {
  std::string text;  ///< UTF-8, without markup; empty: no entry
  bool bold = false;
  std::string exact = {};  ///< the text for CSV in place of `text`, such as all digits

  Cell() = default;
  Cell(std::string content, bool is_bold = false, std::string digits = {})  // NOLINT: implicit
      : text(std::move(content)), bold(is_bold), exact(std::move(digits)) {}
  Cell(const char* content) : text(content) {}  // NOLINT: implicit
};

struct Row {
  std::vector<Cell> cells;   ///< one per column
  std::string heading = {};  ///< instead of cells: a line across the whole table, such as the title of a panel
  bool rule_above = false;   ///< a thin rule between groups of rows, in Python's LaTeX and HTML
};

struct Table {
  std::string title;                 ///< one sentence, with the unit of the entries
  std::string label = {};            ///< LaTeX: \label{tab:LABEL}
  std::vector<std::string> columns;  ///< headings
  std::string heading_column = {};   ///< CSV: the first column, with the row heading above each row; empty: none
  std::size_t row_headers = 1;       ///< leading columns that name the row: repeated wherever the table is split
  std::vector<Row> rows;
  std::vector<std::string> notes = {};  ///< lines below
};

/// "---" for unknown numbers; never "-0".
std::string number_text(double x, int decimals);

/// Values below 1e-4 are shown as a bound, because no law is known so well in its tail.
std::string p_value_text(double p);

/// A cell with all digits in CSV.
Cell exact_cell(const std::string& text, double value, bool bold = false);

enum class TableFormat { text, markdown, latex, csv };

/// "text", "markdown", "latex" or "csv"; throws Error (usage) otherwise. `also`: what else its message names.
TableFormat parse_table_format(const std::string& name, const std::string& also = "");

/// The number of a terminal's columns that the text takes: its code points without combining marks.
std::size_t display_width(const std::string& text);

/// Wraps the words of a text into lines of at most `width` columns; a longer word gets a line of its own.
std::string wrapped(const std::string& text, std::size_t width);

/// The table as text of at most `width` columns. Columns that do not fit go to a further table below, which repeats the
/// row headers; nothing is cut. `bold`: marks bold text by escape sequences of a terminal.
std::string table_text(const Table& table, std::size_t width, bool bold);

std::string table_markdown(const Table& table);

/// Everything from which Python makes LaTeX and HTML.
nlohmann::json table_json(const Table& table);

/// Header and rows as CSV, with `exact` where it is given and nothing in place of `---`. Leaves out notes, and also
/// headings of rows unless heading_column names a column for them.
std::string table_csv(const Table& table);

/// Text as one cell of CSV, in quotes where it needs them.
std::string csv_cell(const std::string& text);

/// The same for a text from outside. If a spreadsheet would run it as a formula (it begins with = + - or @ and is no
/// number or interval), it gets an apostrophe in front, by which spreadsheets recognise text.
std::string csv_name(const std::string& text);

/// The table in the given format, except LaTeX, which Python makes. Width and bold are used for text only.
std::string render(const Table& table, TableFormat format, std::size_t width = 80, bool bold = false);

}  // namespace pandora
