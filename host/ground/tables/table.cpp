#include "host/ground/tables/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>

#include "host/ground/base/error.hpp"
#include "host/ground/base/option.hpp"
#include "host/ground/base/printable.hpp"

namespace pandora {
namespace {

constexpr std::size_t kGap = 2;

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t own = display_width(text);
  const std::string blank(width > own ? width - own : 0, ' ');
  return right ? blank + text : text + blank;
}

std::vector<std::size_t> widths_of(const Table& table) {
  std::vector<std::size_t> widths;
  for (const std::string& column : table.columns) widths.push_back(display_width(column));
  for (const Row& row : table.rows)
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row.cells[c].text));
  return widths;
}

// The row headers and columns [first, last).
std::string piece(const Table& table, const std::vector<std::size_t>& widths, std::size_t first, std::size_t last,
                  std::size_t width, bool bold) {
  const std::size_t headers = std::min(table.row_headers, table.columns.size());
  // Writes `cell(c)` for each column that is shown.
  const auto line = [&](auto&& cell) {
    std::string out;
    for (std::size_t c = 0; c < last; ++c)
      if (c < headers || c >= first) out += (c > 0 ? std::string(kGap, ' ') : "") + cell(c);
    return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
  };
  std::string out = line([&](std::size_t c) { return padded(table.columns[c], widths[c], c >= headers); }) +
                    line([&](std::size_t c) { return std::string(widths[c], '-'); });
  const auto is_blank = [&](const Row& row) {
    return std::ranges::all_of(row.cells.begin() + first, row.cells.begin() + last,
                               [](const Cell& cell) { return cell.text.empty(); });
  };
  for (const Row& row : table.rows) {
    if (row.heading.empty() && first > headers && is_blank(row)) continue;  // an earlier piece has all of it
    out += !row.heading.empty() ? wrapped(row.heading, width) : line([&](std::size_t c) {
      const std::string text = padded(row.cells[c].text, widths[c], c >= headers);
      return bold && row.cells[c].bold ? "\033[1m" + text + "\033[0m" : text;
    });
  }
  return out;
}

// All digits; empty for unknown numbers.
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

std::string wrapped(const std::string& text, std::size_t width) {
  std::string out, line;
  for (const std::string& word : words_of(text)) {
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + line + "\n";
}

std::string number_text(double x, int decimals) {
  if (!std::isfinite(x)) return "---";
  const std::string text = fmt::format("{:.{}f}", x, decimals);
  return text.find_first_not_of("-0.") == std::string::npos && text[0] == '-' ? text.substr(1) : text;
}

std::string p_value_text(double p) {
  return std::isnan(p) ? "---" : p < 1e-4 ? "< 1e-4" : fmt::format("{:.4f}", p);
}

Cell exact_cell(const std::string& text, double value, bool bold) {
  return {text, bold, std::isfinite(value) ? fmt::format("{:.9g}", value) : ""};
}

std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) == 0x80) continue;  // inside a code point
    const bool combining = (byte == 0xCC || (byte == 0xCD && i + 1 < text.size() &&
                                             static_cast<unsigned char>(text[i + 1]) < 0xB0));  // U+0300 .. U+036F
    width += combining ? 0 : 1;
  }
  return width;
}

std::string table_text(const Table& table, std::size_t width, bool bold) {
  const std::vector<std::size_t> widths = widths_of(table);
  const std::size_t headers = std::min(table.row_headers, table.columns.size());
  std::size_t fixed = 0;
  for (std::size_t c = 0; c < headers; ++c) fixed += widths[c] + (c > 0 ? kGap : 0);
  std::string out = wrapped(table.title, width);
  for (std::size_t first = headers; first < table.columns.size() || first == headers;) {
    std::size_t last = first, used = fixed;
    while (last < table.columns.size() && (last == first || used + kGap + widths[last] <= width))
      used += kGap + widths[last++];
    if (first > headers) out += "\n";
    out += piece(table, widths, first, last, width, bold);
    if (last == table.columns.size()) break;
    first = last;
  }
  for (const std::string& note : table.notes) out += wrapped(note, width);
  return out;
}

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

TableFormat parse_table_format(const std::string& name, const std::string& also) {
  if (name == "text") return TableFormat::text;
  if (name == "markdown") return TableFormat::markdown;
  if (name == "latex") return TableFormat::latex;
  if (name == "csv") return TableFormat::csv;
  throw Error(ExitCode::usage, option("format", name) + ": unknown; use text, " + also + "markdown, latex or csv");
}

std::string render(const Table& table, TableFormat format, std::size_t width, bool bold) {
  return format == TableFormat::markdown ? table_markdown(table)
         : format == TableFormat::csv    ? table_csv(table)
                                         : table_text(table, width, bold);
}

}  // namespace pandora
