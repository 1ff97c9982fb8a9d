// A table as data, and as text for a terminal, Markdown or CSV.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace pandora {

struct Cell {
  std::string text;  ///< UTF-8, without markup; empty: nothing is said
  bool bold = false;
  std::string exact = {};  ///< what CSV gets in place of `text`, such as all digits

  Cell() = default;
  Cell(std::string content, bool is_bold = false, std::string digits = {})  // NOLINT: implicit
      : text(std::move(content)), bold(is_bold), exact(std::move(digits)) {}
  Cell(const char* content) : text(content) {}  // NOLINT: implicit
};

struct Row {
  std::vector<Cell> cells;   ///< one per column
  std::string heading = {};  ///< instead of cells: a line across the whole table, such as a panel's title
  bool rule_above = false;   ///< a thin rule between groups of rows, in Python's LaTeX and HTML
};

struct Table {
  std::string title;                 ///< one sentence with the unit of the entries
  std::string label = {};            ///< LaTeX: \label{tab:LABEL}
  std::vector<std::string> columns;  ///< headings
  std::string heading_column = {};   ///< CSV: the first column, with the row heading above each row; empty: none
  std::size_t row_headers = 1;       ///< leading columns that name the row: repeated wherever the table is split
  std::vector<Row> rows;
  std::vector<std::string> notes = {};  ///< lines below
};

/// "---" for what is unknown; no minus before a zero.
std::string number_text(double x, int decimals);

/// Nothing below 1e-4 is told: so far out no law is known so well.
std::string p_value_text(double p);

/// A cell with all digits for CSV.
Cell exact_cell(const std::string& text, double value, bool bold = false);

enum class TableFormat { text, markdown, latex, csv };

/// "text", "markdown", "latex" or "csv"; throws Error (usage) otherwise.
TableFormat parse_table_format(const std::string& name);

/// Columns of a terminal that the text takes: code points, but combining marks.
std::size_t display_width(const std::string& text);

/// The words of a text in lines of at most `width` columns; a word that is longer keeps a line of its own.
std::string wrapped(const std::string& text, std::size_t width);

/// As text of at most `width` columns: columns that do not fit go to a further table below with the row headers
/// repeated, and nothing is cut. `bold`: escape sequences of a terminal around what is bold, else nothing.
std::string table_text(const Table& table, std::size_t width, bool bold);

std::string table_markdown(const Table& table);

/// All that Python needs to make LaTeX and HTML of it; `exact` of a row is what CSV gets.
nlohmann::json table_json(const Table& table);

/// Header and rows with `exact` where it is given, nothing in place of `---`; notes are left out, and headings of rows
/// unless heading_column names a column for them.
std::string table_csv(const Table& table);

/// Text as one cell of CSV, in quotes where it needs them.
std::string csv_cell(const std::string& text);

/// The same of a text from outside: one that a spreadsheet would run as a formula, as it begins with = + - or @ and is no
/// number or interval, has an apostrophe before it, by which spreadsheets know a text.
std::string csv_name(const std::string& text);

/// In the given format, but LaTeX, which is Python's; width and bold are for text alone.
std::string render(const Table& table, TableFormat format, std::size_t width = 80, bool bold = false);

}  // namespace pandora
