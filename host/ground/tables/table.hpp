// A table as data, and as text for a terminal, Markdown, LaTeX, HTML or CSV.
#pragma once

#include <cstddef>
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
  bool rule_above = false;   ///< a thin rule between groups of rows (LaTeX, HTML)
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

enum class TableFormat { text, markdown, latex, csv, html };

/// "text", "markdown", "latex" or "csv"; throws Error (usage) otherwise.
TableFormat parse_table_format(const std::string& name);

/// Columns of a terminal that the text takes: code points, but combining marks.
std::size_t display_width(const std::string& text);

/// As text of at most `width` columns: columns that do not fit go to a further table below with the row headers
/// repeated, and nothing is cut. `bold`: escape sequences of a terminal around what is bold, else nothing.
std::string table_text(const Table& table, std::size_t width, bool bold);

/// The table in pieces of at most `most` columns beside the row headers, which each piece has; notes go to the last.
std::vector<Table> in_pieces(const Table& table, std::size_t most);

/// A page of LaTeX has room for so many columns beside the row headers; for fewer where a cell is long, such as of a
/// value with a published one.
inline constexpr std::size_t kMostLatexColumns = 8, kMostLongLatexColumns = 3, kLongLatexCell = 16;

/// A table environment of LaTeX, several where there are more columns than that. A comment above it names the packages
/// that it needs; ± becomes $\pm$, T0 and T₀ become $T_0$, --- stays.
std::string table_latex(const Table& table);
std::string table_markdown(const Table& table);
std::string table_html(const Table& table);

/// Header and rows with `exact` where it is given, nothing in place of `---`; notes are left out, and headings of rows
/// unless heading_column names a column for them.
std::string table_csv(const Table& table);

/// Text as one cell of CSV, in quotes where it needs them.
std::string csv_cell(const std::string& text);

/// The same of a text from outside: one that a spreadsheet would run as a formula, as it begins with = + - or @ and is no
/// number or interval, has an apostrophe before it, by which spreadsheets know a text.
std::string csv_name(const std::string& text);

/// In the given format; width and bold are for text alone.
std::string render(const Table& table, TableFormat format, std::size_t width = 80, bool bold = false);

/// Text with what is special in HTML or LaTeX escaped; Greek letters, ±, − and hats are kept in a form that compiles.
std::string html_escaped(const std::string& text);
std::string latex_escaped(const std::string& text);

}  // namespace pandora
