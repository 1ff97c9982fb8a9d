// Numbers as cells of a table, and tables for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/ground/base/printable.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora {
namespace {

constexpr std::size_t kGap = 2;

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t own = display_width(text);
  const std::string blank(width > own ? width - own : 0, ' ');
  return right ? blank + text : text + blank;
}

std::string emphasised(const std::string& text, bool bold) {
  return bold ? "\033[1m" + text + "\033[0m" : text;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// Words in lines of at most `width`; a word that is longer keeps a line of its own.
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
  // `cell(c)` for each column that is shown.
  const auto line = [&](auto&& cell) {
    std::string out;
    for (std::size_t c = 0; c < last; ++c)
      if (c < headers || c >= first) out += (c > 0 ? std::string(kGap, ' ') : "") + cell(c);
    return trimmed(out);
  };
  std::string out = line([&](std::size_t c) { return padded(table.columns[c], widths[c], c >= headers); }) +
                    line([&](std::size_t c) { return std::string(widths[c], '-'); });
  for (const Row& row : table.rows)
    out += !row.heading.empty() ? wrapped(row.heading, width) : line([&](std::size_t c) {
      return emphasised(padded(row.cells[c].text, widths[c], c >= headers), bold && row.cells[c].bold);
    });
  return out;
}

}  // namespace

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

}  // namespace pandora
