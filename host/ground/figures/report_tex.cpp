// A report as LaTeX.
#include <fmt/format.h>

#include <algorithm>

#include "host/ground/base/split.hpp"
#include "host/ground/figures/document.hpp"
#include "host/ground/figures/document_text.hpp"

namespace pandora {
namespace {

constexpr const char* kPreamble = R"(\documentclass[10pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[margin=2.2cm]{geometry}
\usepackage{amsmath,amssymb}
\usepackage{booktabs,multirow,graphicx}
\usepackage{adjustbox}
\usepackage[section]{placeins}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5em}
\setlength{\emergencystretch}{3em}
\extrafloats{200}
% Figures that were not drawn are named in their place.
\newcommand{\reportfigure}[1]{\IfFileExists{#1}{\includegraphics[width=\linewidth]{#1}}%
  {\fbox{\parbox{0.9\linewidth}{\centering\footnotesize\texttt{\detokenize{#1}} was not drawn}}}}
)";

struct Sign {
  char32_t code;
  const char* tex;
};

// What latex_escaped() leaves, and pdflatex does not know by itself in the fonts that are always there.
constexpr Sign kSigns[] = {
    {0xA0, "~"},
    {0xA7, "\\S{}"},
    {0xA9, "\\copyright{}"},
    {0xAB, "$\\ll$"},
    {0xAC, "$\\lnot$"},
    {0xB0, "$^\\circ$"},
    {0xB1, "$\\pm$"},
    {0xB2, "$^2$"},
    {0xB3, "$^3$"},
    {0xB5, "$\\mu$"},
    {0xB7, "$\\cdot$"},
    {0xB9, "$^1$"},
    {0xBB, "$\\gg$"},
    {0xBC, "$1/4$"},
    {0xBD, "$1/2$"},
    {0xBE, "$3/4$"},
    {0xD7, "$\\times$"},
    {0xF7, "$\\div$"},
    {0x3B1, "$\\alpha$"},
    {0x3B2, "$\\beta$"},
    {0x3B3, "$\\gamma$"},
    {0x3B4, "$\\delta$"},
    {0x3B5, "$\\varepsilon$"},
    {0x3B6, "$\\zeta$"},
    {0x3B7, "$\\eta$"},
    {0x3B8, "$\\theta$"},
    {0x3B9, "$\\iota$"},
    {0x3BA, "$\\kappa$"},
    {0x3BB, "$\\lambda$"},
    {0x3BC, "$\\mu$"},
    {0x3BD, "$\\nu$"},
    {0x3BE, "$\\xi$"},
    {0x3C0, "$\\pi$"},
    {0x3C1, "$\\rho$"},
    {0x3C3, "$\\sigma$"},
    {0x3C4, "$\\tau$"},
    {0x3C5, "$\\upsilon$"},
    {0x3C6, "$\\varphi$"},
    {0x3C7, "$\\chi$"},
    {0x3C8, "$\\psi$"},
    {0x3C9, "$\\omega$"},
    {0x393, "$\\Gamma$"},
    {0x394, "$\\Delta$"},
    {0x398, "$\\Theta$"},
    {0x39B, "$\\Lambda$"},
    {0x39E, "$\\Xi$"},
    {0x3A0, "$\\Pi$"},
    {0x3A3, "$\\Sigma$"},
    {0x3A6, "$\\Phi$"},
    {0x3A8, "$\\Psi$"},
    {0x3A9, "$\\Omega$"},
    {0x2010, "-"},
    {0x2011, "-"},
    {0x2013, "--"},
    {0x2014, "---"},
    {0x2018, "`"},
    {0x2019, "'"},
    {0x201C, "``"},
    {0x201D, "''"},
    {0x2022, "$\\bullet$"},
    {0x2026, "\\ldots{}"},
    {0x202F, "\\,"},
    {0x2032, "$'$"},
    {0x2070, "$^0$"},
    {0x2074, "$^4$"},
    {0x2075, "$^5$"},
    {0x2076, "$^6$"},
    {0x2077, "$^7$"},
    {0x2078, "$^8$"},
    {0x2079, "$^9$"},
    {0x207A, "$^+$"},
    {0x207B, "$^-$"},
    {0x207F, "$^n$"},
    {0x2080, "$_0$"},
    {0x2081, "$_1$"},
    {0x2082, "$_2$"},
    {0x2083, "$_3$"},
    {0x2084, "$_4$"},
    {0x2085, "$_5$"},
    {0x2086, "$_6$"},
    {0x2087, "$_7$"},
    {0x2088, "$_8$"},
    {0x2089, "$_9$"},
    {0x1D62, "$_i$"},
    {0x2C7C, "$_j$"},
    {0x209C, "$_t$"},
    {0x2113, "$\\ell$"},
    {0x2190, "$\\leftarrow$"},
    {0x2192, "$\\to$"},
    {0x2194, "$\\leftrightarrow$"},
    {0x2208, "$\\in$"},
    {0x2211, "$\\sum$"},
    {0x2212, "$-$"},
    {0x221A, "$\\surd$"},
    {0x221D, "$\\propto$"},
    {0x221E, "$\\infty$"},
    {0x2248, "$\\approx$"},
    {0x2260, "$\\ne$"},
    {0x2264, "$\\le$"},
    {0x2265, "$\\ge$"},
    {0x226A, "$\\ll$"},
    {0x226B, "$\\gg$"},
    {0x2713, "\\checkmark{}"},
    {0x2717, "$\\times$"},
};

// Every sign in a form that compiles: one that nobody foresaw becomes a question mark, combining marks vanish.
std::string compilable(const std::string& tex) {
  std::string out;
  for (std::size_t at = 0; at < tex.size();) {
    const auto first = static_cast<unsigned char>(tex[at]);
    if (first < 0x80) {
      if (first >= 0x20 || first == '\n') out += tex[at];
      if (first == '\t') out += ' ';
      ++at;
      continue;
    }
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    char32_t code = first & (0xFF >> (length + 1));
    std::size_t taken = 1;
    while (taken < length && at + taken < tex.size() && (static_cast<unsigned char>(tex[at + taken]) & 0xC0) == 0x80)
      code = code << 6 | (static_cast<unsigned char>(tex[at + taken++]) & 0x3F);
    const auto sign = std::find_if(std::begin(kSigns), std::end(kSigns), [&](const Sign& s) { return s.code == code; });
    const bool latin = code >= 0xC0 && code <= 0xFF && code != 0xD0 && code != 0xDE && code != 0xF0 && code != 0xFE;
    if (sign != std::end(kSigns))
      out += sign->tex;
    else if (latin && taken == length)
      out += tex.substr(at, taken);
    else if (code < 0x300 || code > 0x36F)
      out += '?';
    at += taken;
  }
  return out;
}

// In the typewriter font of OT1, which has straight quotes in places of its own. Spaces may break a line unless
// `fixed`.
std::string code_tex(const std::string& text, bool fixed) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "{\\char13}";
    else if (c == '`')
      out += "{\\char18}";
    else if (c == ' ')
      out += fixed ? "~" : " ";
    else if (c == '\\')
      out += "{\\char92}";
    else if (c == '{' || c == '}' || c == '<' || c == '>' || c == '|' || c == '^' || c == '~' || c == '_')
      out += fmt::format("{{\\char{}}}", static_cast<int>(c));
    else if (c == '/' && !fixed)
      out += "/\\allowbreak{}";
    else if (static_cast<unsigned char>(c) >= 0x80)
      out += c;
    else
      out += latex_escaped(std::string(1, c));
  }
  return "\\texttt{" + out + "}";
}

std::string text_tex(const std::string& text) {
  std::string out;
  for (const auto& [piece, code] : pieces_of(text)) out += code ? code_tex(piece, false) : latex_escaped(piece);
  return out;
}

std::string commands_tex(const std::vector<std::string>& commands) {
  std::string out = "{\\small\\raggedright\n";
  for (const std::string& command : commands)
    out += "\\hangindent=2em " + (command.empty() ? "~" : code_tex(command, false)) + "\\par\n";
  return out + "}\n";
}

std::string preformatted_tex(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, display_width(line));
  // Columns of the typewriter font in a line of the page.
  const char* const size = width <= 98 ? "\\footnotesize" : width <= 112 ? "\\scriptsize" : "\\tiny";
  std::string out = fmt::format("{{{}\\setlength{{\\parskip}}{{0pt}}\\raggedright\n", size);
  for (const std::string& line : lines) out += (line.empty() ? "~" : code_tex(line, true)) + "\\par\n";
  return out + "}\n";
}

// No table is wider than the page or longer than it.
std::string table_tex(const Table& table) {
  std::string tex = table_latex(table);
  const std::string begin = "\\begin{tabular}", end = "\\end{tabular}";
  const std::size_t from = tex.find(begin);
  if (from != tex.npos) tex.insert(from, "\\begin{adjustbox}{max totalsize={\\linewidth}{0.84\\textheight}}\n");
  const std::size_t to = tex.rfind(end);
  if (to != tex.npos) tex.insert(to + end.size(), "\n\\end{adjustbox}");
  return tex;
}

std::string one_figure(const ReportFigure& figure, const std::string& folder, const char* width) {
  return fmt::format(
      "\\begin{{minipage}}[t]{{{}}}\n\\centering\n\\reportfigure{{{}{}.pdf}}\n\\caption{{{}}}\n"
      "\\label{{fig:{}}}\n\\end{{minipage}}",
      width, folder, figure.name, text_tex(figure.caption), figure.name);
}

std::string figures_tex(const std::vector<ReportFigure>& figures, const std::string& folder) {
  std::string out;
  for (std::size_t f = 0; f < figures.size(); ++f) {
    out += "\\begin{figure}[htbp]\n\\centering\n";
    const bool pair = !figures[f].wide && f + 1 < figures.size() && !figures[f + 1].wide;
    out += one_figure(figures[f], folder, figures[f].wide ? "\\linewidth" : "0.485\\linewidth");
    if (pair) out += "\\hfill\n" + one_figure(figures[++f], folder, "0.485\\linewidth");
    out += "\n\\end{figure}\n";
  }
  return out;
}

std::string section_tex(const ReportSection& section, const std::string& folder, const char* command) {
  std::string out = fmt::format("\n\\{}{{{}}}\n", command, text_tex(section.heading));
  for (const std::string& paragraph : section.paragraphs) out += text_tex(paragraph) + "\n\n";
  if (!section.commands.empty()) out += commands_tex(section.commands);
  for (const Table& table : section.tables) out += table_tex(table);
  out += figures_tex(section.figures, folder);
  if (!section.preformatted.empty()) out += preformatted_tex(section.preformatted);
  for (const ReportSection& inner : section.sections) out += section_tex(inner, folder, "subsection");
  return out;
}

}  // namespace

std::string report_tex(const ReportDocument& document, const std::string& figures_folder) {
  const std::string folder =
      figures_folder.empty() || figures_folder.back() == '/' ? figures_folder : figures_folder + "/";
  std::string body = fmt::format("\\title{{{}}}\n\\author{{{}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n",
                                 text_tex(document.title), text_tex(document.subtitle));
  if (document.sections.size() > 2) body += "\\tableofcontents\n";
  for (const ReportSection& section : document.sections) body += section_tex(section, folder, "section");
  return kPreamble + compilable(body) + "\\end{document}\n";
}

}  // namespace pandora
