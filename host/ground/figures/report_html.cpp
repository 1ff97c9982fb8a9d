// A report as one page of HTML.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "host/ground/base/error.hpp"
#include "host/ground/figures/document.hpp"
#include "host/ground/figures/document_text.hpp"
#include "host/ground/figures/inline_svg.hpp"
#include "host/ground/files/input_file.hpp"

namespace pandora {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(0.8rem, 3vw, 2.5rem) 4rem; max-width: 78rem; background: #fff; color: #1a1a1a;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0.5rem 0 0.2rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 0.6rem; padding-bottom: 0.25rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 0.4rem; }
h1, h2, h3, p, figcaption, caption { overflow-wrap: anywhere; }
p { margin: 0.5rem 0; max-width: 48rem; }
.subtitle { color: #555; }
a { color: #0b5394; }
nav { margin: 1.4rem 0; padding: 0.7rem 1rem; background: #f5f6f7; border-radius: 4px; font-size: 0.93rem; }
nav p { margin: 0 0 0.2rem; font-weight: 600; }
nav ol { margin: 0; padding-left: 1.4rem; }
nav ol ol { list-style: none; padding-left: 0.9rem; }
.columns { columns: 20rem; column-gap: 2rem; }
.columns > li { break-inside: avoid; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.87em; }
pre { overflow-x: auto; padding: 0.7rem 0.9rem; background: #f5f6f7; border-radius: 4px; line-height: 1.45; }
.scroll { overflow-x: auto; margin: 1.1rem 0; }
table { border-collapse: collapse; font-size: 0.87rem; border-top: 2px solid #222; border-bottom: 2px solid #222;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: 0.4rem; font-weight: 600; min-width: 16rem; }
th, td { padding: 0.22rem 0.6rem; white-space: nowrap; }
td { text-align: right; }
thead th { border-bottom: 1px solid #222; text-align: right; vertical-align: bottom; font-weight: 600; }
tbody th { text-align: left; font-weight: 400; }
thead th.names { text-align: left; }
tbody th, thead th.names { position: sticky; left: 0; background: #fff; }
tr.rule > * { border-top: 1px solid #bbb; }
tr.heading th { padding-top: 0.7rem; font-style: italic; border-bottom: 1px solid #bbb; }
.note { margin: 0.3rem 0; font-size: 0.84rem; color: #444; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: 1.6rem 2rem;
  margin: 1.1rem 0; }
figure { margin: 0; min-width: 0; }
figure.wide { grid-column: 1 / -1; }
figure svg { display: block; width: 100%; height: auto; max-width: 34rem; }
figure.wide svg { max-width: 62rem; }
figcaption { margin-top: 0.4rem; font-size: 0.87rem; color: #333; max-width: 48rem; }
.files { white-space: nowrap; }
.absent { padding: 2rem 1rem; border: 1px dashed #999; color: #555; text-align: center; }
details { margin: 1rem 0; }
summary { cursor: pointer; }
summary h2, summary h3 { display: inline; border: 0; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, .files { display: none; }
  .scroll, pre { overflow: visible; }
  tbody th, thead th.names { position: static; }
  pre { white-space: pre-wrap; }
  figure, tr { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
}
)";

std::string text_html(const std::string& text) {
  std::string out;
  for (const auto& [piece, code] : pieces_of(text))
    out += code ? "<code>" + html_escaped(piece) + "</code>" : html_escaped(piece);
  return out;
}

std::string without_marks(const std::string& text) {
  std::string out;
  for (const auto& [piece, code] : pieces_of(text)) out += piece;
  return html_escaped(out);
}

class Page {
 public:
  Page(const SvgOf& svg_of, std::string folder) : svg_of_(svg_of), folder_(std::move(folder)) {
    if (!folder_.empty() && folder_.back() != '/') folder_ += '/';
  }

  std::string section(const ReportSection& section, const std::string& id, int level) {
    const std::string heading = fmt::format("<h{0}>{1}</h{0}>", level, text_html(section.heading));
    std::string out = fmt::format("<section id=\"{}\">\n", id);
    out += section.folded ? "<details><summary>" + heading + "</summary>\n" : heading + "\n";
    for (const std::string& paragraph : section.paragraphs) out += "<p>" + text_html(paragraph) + "</p>\n";
    if (!section.commands.empty()) {
      out += "<pre><code>";
      for (const std::string& command : section.commands) out += html_escaped(command) + "\n";
      out += "</code></pre>\n";
    }
    for (const Table& table : section.tables)
      out += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n{}</div>\n",
                         html_escaped(table.title.empty() ? section.heading : table.title), table_html(table));
    if (!section.figures.empty()) {
      out += "<div class=\"figures\">\n";
      for (const ReportFigure& figure : section.figures) out += this->figure(figure);
      out += "</div>\n";
    }
    if (!section.preformatted.empty()) out += "<pre>" + html_escaped("\n" + section.preformatted) + "</pre>\n";
    for (std::size_t s = 0; s < section.sections.size(); ++s)
      out += this->section(section.sections[s], fmt::format("{}-{}", id, s + 1), level + 1);
    return out + (section.folded ? "</details>\n" : "") + "</section>\n";
  }

 private:
  std::string figure(const ReportFigure& figure) {
    const std::string spoken = figure.spoken.empty() ? figure.caption : figure.spoken;
    std::string picture = inline_svg(svg_of_(figure.name), fmt::format("{}-{}", figure.name, ++count_), spoken);
    if (picture.empty())
      picture = fmt::format("<p class=\"absent\">This figure was not drawn; run <code>gnuplot {}.gp</code></p>\n",
                            html_escaped(figure.name));
    std::string files;
    if (!folder_.empty()) {
      const std::string stem = html_escaped(folder_ + figure.name);
      files = fmt::format(
          " <span class=\"files\"><a href=\"{0}.pdf\">PDF</a> · <a href=\"{0}.dat\">data</a> · "
          "<a href=\"{0}.gp\">script</a></span>",
          stem);
    }
    return fmt::format("<figure{} id=\"figure-{}\">\n{}<figcaption><b>Figure {}.</b> {}{}</figcaption>\n</figure>\n",
                       figure.wide ? " class=\"wide\"" : "", count_, picture, count_, text_html(figure.caption), files);
  }

  const SvgOf& svg_of_;
  std::string folder_;
  int count_ = 0;
};

std::string contents(const ReportDocument& document) {
  std::string out = "<nav aria-label=\"Contents\">\n<p>Contents</p>\n<ol class=\"columns\">\n";
  for (std::size_t s = 0; s < document.sections.size(); ++s) {
    const ReportSection& section = document.sections[s];
    out += fmt::format("<li><a href=\"#s{}\">{}</a>", s + 1, text_html(section.heading));
    for (std::size_t t = 0; t < section.sections.size(); ++t)
      out += fmt::format("{}<li><a href=\"#s{}-{}\">{}</a></li>{}", t == 0 ? "\n<ol>" : "", s + 1, t + 1,
                         text_html(section.sections[t].heading), t + 1 == section.sections.size() ? "</ol>\n" : "");
    out += "</li>\n";
  }
  return out + "</ol>\n</nav>\n";
}

}  // namespace

ReportFigure report_figure(const Figure& figure) {
  std::string caption = figure.caption.empty() ? figure.title : figure.caption;
  for (const std::string& note : figure_notes(figure)) {
    if (!caption.empty()) caption += caption.back() == '.' ? " " : ". ";
    caption += note;
  }
  std::string spoken = figure.title.empty() ? figure.name : figure.title;
  if (!figure.x_label.empty() && !figure.y_label.empty())
    spoken += ": " + figure.y_label + " against " + figure.x_label;
  spoken += ";";
  for (const Series& series : figure.series)
    spoken += " " + series.label + (&series == &figure.series.back() ? "" : ",");
  return {figure.name, caption, spoken, figure.width_cm > 12};
}

SvgOf svg_in(const std::string& folder) {
  return [folder](const std::string& name) {
    constexpr std::uint64_t kMost = std::uint64_t{64} << 20;
    try {
      return read_file(std::filesystem::path(folder) / (name + ".svg"), kMost);
    } catch (const Unreadable& problem) {
      if (problem.why == Unreadable::Why::failed)
        throw Error(ExitCode::bad_data,
                    fmt::format("{}/{}.svg: {}; make the report again", folder, name, problem.what()));
      return std::string();  // it was not drawn
    }
  };
}

std::string report_html(const ReportDocument& document, const SvgOf& svg_of, const std::string& figures_folder) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"generator\" "
      "content=\"pandora\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += fmt::format("<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n",
                     without_marks(document.title), kStyle, text_html(document.title));
  if (!document.subtitle.empty()) out += "<p class=\"subtitle\">" + text_html(document.subtitle) + "</p>\n";
  out += "</header>\n" + (document.sections.empty() ? "" : contents(document)) + "<main>\n";
  Page page(svg_of, figures_folder);
  for (std::size_t s = 0; s < document.sections.size(); ++s)
    out += page.section(document.sections[s], fmt::format("s{}", s + 1), 2);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace pandora
