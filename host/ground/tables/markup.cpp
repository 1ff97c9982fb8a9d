// Tables as Markdown, LaTeX, HTML and CSV.
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "host/ground/base/error.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora {
namespace {

// A sign and what takes its place, two words each.
using Replacements = std::vector<std::pair<std::string, std::string>>;
Replacements pairs_of(std::string_view text) {
  Replacements out;
  const std::vector<std::string> words = words_of(text);
  for (std::size_t k = 0; k + 1 < words.size(); k += 2) out.emplace_back(words[k], words[k + 1]);
  return out;
}

// What is special in LaTeX, and the signs of the tables in a form that every engine compiles.
constexpr const char* kLatex = R"(
T₀  $T_0$
\  \textbackslash{}   {  \{   }  \}   &  \&   %  \%   $  \$   #  \#   _  \_   ~  \textasciitilde{}   ^  \textasciicircum{}
<  $<$       >  $>$       |  $|$         ±  $\pm$      ×  $\times$   −  $-$        ≤  $\le$    ≥  $\ge$    →  $\to$
·  $\cdot$   …  \ldots{}  ₀  $_0$        ₁  $_1$       ₅  $_5$      ³  $^3$       ²  $^2$     ⁻  $^{-}$   ½  $1/2$
ρ  $\rho$    θ  $\theta$  σ  $\sigma$     μ  $\mu$      ξ  $\xi$     τ  $\tau$      Λ  $\Lambda$
λ  $\lambda$ ψ  $\psi$    φ  $\phi$)";

std::string replaced(const std::string& text, const Replacements& table) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const auto& pair) {
      return text.compare(at, pair.first.size(), pair.first) == 0;
    });
    out += found == table.end() ? text.substr(at, 1) : found->second;
    at += found == table.end() ? 1 : found->first.size();
  }
  return out;
}

std::string latex_cell(const Cell& cell) {
  const std::string text = latex_escaped(cell.text);
  return cell.bold ? "\\textbf{" + text + "}" : text;
}

// Rows from `at` on with the same first cell, up to a heading.
std::size_t run_length(const std::vector<Row>& rows, std::size_t at) {
  std::size_t end = at + 1;
  while (end < rows.size() && rows[end].heading.empty() && rows[end].cells[0].text == rows[at].cells[0].text) ++end;
  return end - at;
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

std::string html_escaped(const std::string& text) {
  static const Replacements table = pairs_of(R"(& &amp;  < &lt;  > &gt;  " &quot;)");
  return replaced(printable_lines(text), table);
}

std::string latex_escaped(const std::string& text) {
  static const Replacements table = [] {
    Replacements all = pairs_of(kLatex);
    all.emplace_back("\u0302", "");
    return all;
  }();
  static const std::regex calibration("\\bT0\\b");
  return std::regex_replace(replaced(printable_lines(text), table), calibration, "$$T_0$$");
}

std::string table_latex(const Table& table) {
  std::size_t longest = 0;
  for (const Row& row : table.rows)
    for (std::size_t c = table.row_headers; c < row.cells.size(); ++c)
      longest = std::max(longest, display_width(row.cells[c].text));
  const std::size_t most = longest > kLongLatexCell ? kMostLongLatexColumns : kMostLatexColumns;
  if (table.columns.size() > table.row_headers + most) {
    std::string all;
    for (const Table& piece : in_pieces(table, most)) all += table_latex(piece);
    return all;
  }
  const std::size_t n = table.columns.size(), headers = std::min(table.row_headers, n);
  std::string out = fmt::format(
      "% needs \\usepackage{{booktabs,multirow}}\n\\begin{{table}}[htp!]\n\\centering\n\\scriptsize\n\\caption{{{}}}\n",
      latex_escaped(table.title));
  if (!table.label.empty()) out += fmt::format("\\label{{tab:{}}}\n", table.label);
  out +=
      fmt::format("\\begin{{tabular}}{{{}{}}}\n\\toprule\n", std::string(headers, 'l'), std::string(n - headers, 'c'));
  for (std::size_t c = 0; c < n; ++c) out += (c > 0 ? " & " : "") + latex_escaped(table.columns[c]);
  out += "\\\\\n\\midrule\n";
  std::size_t merged = 0;  // rows left under a \multirow
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const Row& row = table.rows[r];
    if (!row.heading.empty()) {
      out += fmt::format("{}\\multicolumn{{{}}}{{l}}{{{}}}\\\\\n\\cmidrule(lr){{1-{}}}\n", r > 0 ? "\\midrule\n" : "",
                         n, latex_escaped(row.heading), n);
      continue;
    }
    if (row.rule_above && r > 0 && table.rows[r - 1].heading.empty())
      out += fmt::format("\\cmidrule(lr){{{}-{}}}\n", std::min<std::size_t>(headers, n), n);
    for (std::size_t c = 0; c < n; ++c) {
      if (c > 0) out += " & ";
      if (c > 0 || headers < 2) {
        out += latex_cell(row.cells[c]);
      } else if (merged > 0) {
        --merged;
      } else if (const std::size_t length = run_length(table.rows, r); length > 1) {
        out += fmt::format("\\multirow{{{}}}{{*}}{{\\emph{{{}}}}}", length, latex_cell(row.cells[0]));
        merged = length - 1;
      } else {
        out += "\\emph{" + latex_cell(row.cells[0]) + "}";
      }
    }
    out += "\\\\\n";
  }
  out += "\\bottomrule\n\\end{tabular}\n";
  for (const std::string& note : table.notes) out += "\\par\\smallskip " + latex_escaped(note) + "\n";
  return out + "\\end{table}\n";
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

std::string table_html(const Table& table) {
  std::string out = "<table>\n";
  if (!table.title.empty()) out += "<caption>" + html_escaped(table.title) + "</caption>\n";
  out += "<thead><tr>";
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", c < table.row_headers ? " class=\"names\"" : "",
                       html_escaped(table.columns[c]));
  out += "</tr></thead>\n<tbody>\n";
  for (const Row& row : table.rows) {
    if (!row.heading.empty()) {
      out += fmt::format("<tr class=\"heading\"><th colspan=\"{}\">{}</th></tr>\n", table.columns.size(),
                         html_escaped(row.heading));
      continue;
    }
    out += row.rule_above ? "<tr class=\"rule\">" : "<tr>";
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const std::string text = html_escaped(row.cells[c].text),
                        inner = row.cells[c].bold ? "<b>" + text + "</b>" : text;
      out += c < table.row_headers ? "<th scope=\"row\">" + inner + "</th>" : "<td>" + inner + "</td>";
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n";
  for (const std::string& note : table.notes) out += "<p class=\"note\">" + html_escaped(note) + "</p>\n";
  return out;
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
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      out += (c > 0 ? "," : "") + csv_cell(!row.cells[c].exact.empty()  ? row.cells[c].exact
                                           : row.cells[c].text == "---" ? ""
                                                                        : row.cells[c].text);
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
         : format == TableFormat::latex  ? table_latex(table)
         : format == TableFormat::csv    ? table_csv(table)
         : format == TableFormat::html   ? table_html(table)
                                         : table_text(table, width, bold);
}

}  // namespace pandora
