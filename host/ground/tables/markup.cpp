// Tables as Markdown, CSV and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>

#include "host/ground/base/error.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora {
namespace {

// All digits, nothing for what is unknown.
std::string exact_text(const Cell& cell) {
  return !cell.exact.empty() ? cell.exact : cell.text == "---" ? "" : cell.text;
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '<' || c == '`') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string csv_name(const std::string& text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text[0]) == std::string_view::npos) return csv_cell(text);
  static const std::regex number([] {
    const std::string one = R"([+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|nan)%?)";
    return fmt::format(R"({0}( \[{0}, {0}\])?)", one);
  }());
  return csv_cell(std::regex_match(text, number) ? text : "'" + text);
}

std::string table_markdown(const Table& table) {
  std::string out = table.title.empty() ? "" : "**" + markdown_cell(table.title) + "**\n\n", rule = "|";
  out += "|";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    out += " " + markdown_cell(table.columns[c]) + " |";
    rule += c < table.row_headers ? "---|" : "---:|";
  }
  out += "\n" + rule + "\n";
  for (const Row& row : table.rows) {
    out += "|";
    if (!row.heading.empty()) {
      out += " *" + markdown_cell(row.heading) + "* |" + std::string(table.columns.size() - 1, '|');
    } else {
      for (const Cell& cell : row.cells) {
        const std::string text = markdown_cell(cell.text);
        out += " " + (cell.bold ? "**" + text + "**" : text) + " |";
      }
    }
    out += "\n";
  }
  for (const std::string& note : table.notes) out += "\n" + markdown_cell(note) + "\n";
  return out;
}

nlohmann::json table_json(const Table& table) {
  using nlohmann::json;
  json rows = json::array();
  for (const Row& row : table.rows) {
    if (!row.heading.empty()) {
      rows.push_back({{"heading", row.heading}});
      continue;
    }
    json cells = json::array(), bold = json::array(), exact = json::array();
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      cells.push_back(row.cells[c].text);
      exact.push_back(exact_text(row.cells[c]));
      if (row.cells[c].bold) bold.push_back(c);
    }
    rows.push_back({{"cells", cells}, {"exact", exact}, {"bold", bold}, {"rule_above", row.rule_above}});
  }
  return {{"title", table.title},
          {"label", table.label},
          {"notes", table.notes},
          {"row_headers", table.row_headers},
          {"rows", rows},
          {"heading_column", table.heading_column},
          {"columns", table.columns}};
}

std::string table_csv(const Table& table) {
  std::string out, heading;
  const bool headed = !table.heading_column.empty();
  if (headed) out += csv_cell(table.heading_column) + ",";
  for (std::size_t c = 0; c < table.columns.size(); ++c) out += (c > 0 ? "," : "") + csv_cell(table.columns[c]);
  out += "\n";
  for (const Row& row : table.rows) {
    if (!row.heading.empty()) {
      heading = row.heading;
      continue;
    }
    if (headed) out += csv_cell(heading) + ",";
    for (std::size_t c = 0; c < row.cells.size(); ++c) out += (c > 0 ? "," : "") + csv_cell(exact_text(row.cells[c]));
    out += "\n";
  }
  return out;
}

TableFormat parse_table_format(const std::string& name) {
  if (name == "text") return TableFormat::text;
  if (name == "markdown") return TableFormat::markdown;
  if (name == "latex") return TableFormat::latex;
  if (name == "csv") return TableFormat::csv;
  throw Error(ExitCode::usage, fmt::format("--format {}: unknown; use text, markdown, latex or csv", name));
}

std::string render(const Table& table, TableFormat format, std::size_t width, bool bold) {
  return format == TableFormat::markdown ? table_markdown(table)
         : format == TableFormat::csv    ? table_csv(table)
                                         : table_text(table, width, bold);
}

}  // namespace pandora
