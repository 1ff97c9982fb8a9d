// Reports as HTML and LaTeX.
#include "host/ground/figures/document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "host/ground/figures/gnuplot_script.hpp"
#include "host/ground/figures/inline_svg.hpp"
#include "host/ground/figures/write_figures.hpp"
#include "tests/host/folder_test.hpp"
#include "tests/host/ground/figures/small_figures.hpp"

namespace pandora {
namespace {

using Kind = Figure::Kind;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSvg = R"svg(<?xml version="1.0"?>
<!DOCTYPE svg>
<svg
 width="321" height="200"
 viewBox="0 0 321 200"
 xmlns="http://www.w3.org/2000/svg"
>
<title>Gnuplot</title>
<desc>Produced by GNUPLOT</desc>
<defs><circle id='gpDot' r='1'/><use xlink:href='#gpDot' id='gpPt6'/></defs>
<path clip-path="url(#clip1)"/><text> id='text' of a label</text>
</svg>
)svg";

TEST(InlineSvg, HasIdsOfItsOwnAndNothingBesideThePicture) {
  EXPECT_EQ(inline_svg(kSvg, "regret", "regret \"<A>\""),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 321 200\" role=\"img\" "
            "aria-label=\"regret &quot;&lt;A&gt;&quot;\">\n\n\n"
            "<defs><circle id='regret-gpDot' r='1'/><use href='#regret-gpDot' id='regret-gpPt6'/></defs>\n"
            "<path clip-path=\"url(#regret-clip1)\"/><text> id='text' of a label</text>\n</svg>\n");
}

TEST(InlineSvg, IsNothingWhereTheFileIsNone) {
  EXPECT_EQ(inline_svg("", "f", "f"), "");
  EXPECT_EQ(inline_svg("<svg width='3'>", "f", "f"), "");
  EXPECT_EQ(inline_svg("<svg width='3'></svg>", "f", "f"), "");
  EXPECT_EQ(inline_svg("<svg viewBox='0 0 1 1'><script>x</script></svg>", "f", "f"), "");
}

ReportDocument small_report() {
  ReportDocument report;
  report.title = "Replication of `pandora` & <more>";
  report.subtitle = "50 replications, 95% intervals";
  ReportSection setting{.heading = "What was run"};
  setting.paragraphs = {"See `results/a_b.json`; 10% of $x_1$ & ρ̂ ≤ 3, naïve, 日.", "A second one."};
  setting.commands = {"pandora run --out 'x' && echo <done>"};
  ReportSection results{.heading = "Results"};
  Table table;
  table.title = "Regime A";
  table.label = "a";
  table.columns = {"policy", "regret"};
  table.rows = {{.cells = {"DOW", Cell("1.2 ± 0.1", true)}}};
  results.tables = {table};
  ReportSection curves{.heading = "Curves"};
  curves.figures = {{"one", "Caption <one>", "spoken \"one\"", false},
                    {"two", "Caption two", "", false},
                    {"absent", "Caption three", "", true}};
  curves.folded = true;
  results.sections = {curves};
  ReportSection machine{.heading = "Machine"};
  machine.preformatted = "  a  <b>\n\nc_d --x\n";
  report.sections = {setting, results, machine};
  return report;
}

std::string some_svg(const std::string& name) {
  return name == "absent" ? "" : kSvg;
}

TEST(ReportHtml, HasEveryPart) {
  EXPECT_THAT(
      report_html(small_report(), some_svg, "figures"),
      AllOf(HasSubstr("<!DOCTYPE html>\n<html lang=\"en\">"), HasSubstr("<meta charset=\"utf-8\">"),
            HasSubstr("name=\"viewport\""), HasSubstr("<title>Replication of pandora &amp; &lt;more&gt;</title>"),
            HasSubstr("<h1>Replication of <code>pandora</code> &amp; &lt;more&gt;</h1>"),
            HasSubstr("<li><a href=\"#s2\">Results</a>\n<ol><li><a href=\"#s2-1\">Curves</a></li></ol>"),
            HasSubstr("<section id=\"s2-1\">\n<details><summary><h3>Curves</h3></summary>"),
            HasSubstr("<p>See <code>results/a_b.json</code>; 10% of $x_1$ &amp; ρ̂ ≤ 3"),
            HasSubstr("pandora run --out 'x' &amp;&amp; echo &lt;done&gt;\n</code></pre>")));
  EXPECT_THAT(
      report_html(small_report(), some_svg, "figures"),
      AllOf(HasSubstr("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Regime A\">\n<table>"),
            HasSubstr("aria-label=\"spoken &quot;one&quot;\""), HasSubstr("<b>Figure 1.</b> Caption &lt;one&gt;"),
            HasSubstr("<a href=\"figures/two.dat\">data</a>"), HasSubstr("<figure class=\"wide\" id=\"figure-3\">"),
            HasSubstr("run <code>gnuplot absent.gp</code>"), HasSubstr("<pre>\n  a  &lt;b&gt;\n\nc_d --x\n</pre>")));
}

// On a narrow screen a wide table scrolls under its row names.
TEST(ReportHtml, KeepsRowNamesInSight) {
  EXPECT_THAT(report_html(small_report(), some_svg),
              HasSubstr("tbody th, thead th.names { position: sticky; left: 0; background: #fff; }"));
}

TEST(ReportHtml, LinksToFilesOnlyWhereTheyAre) {
  EXPECT_THAT(report_html(small_report(), some_svg), Not(HasSubstr(".dat")));
}

TEST(ReportHtml, NeedsNothingBesideItself) {
  EXPECT_THAT(report_html(small_report(), some_svg),
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<link")), Not(HasSubstr("src=")),
                    Not(HasSubstr("@import")), Not(HasSubstr("xlink"))));
}

// Of pictures that gnuplot drew: every id once, every reference to one that is there, every element closed.
class ReportOfFigures : public test::FolderTest {};

TEST_F(ReportOfFigures, IsSoundHtml) {
  const std::vector<Figure> figures = test::figures_of_every_kind();
  const FigureResult drawn = write_figures(base_, figures, {.pdf = false, .png = false, .threads = 2});
  ASSERT_TRUE(drawn.rendered) << drawn.message;
  ReportDocument report = small_report();
  for (const Figure& figure : figures) report.sections[0].figures.push_back(report_figure(figure));
  const std::string html = report_html(report, svg_in(base_.string()));
  std::set<std::string> ids;
  std::vector<std::string> open;
  const std::set<std::string> empty = {"meta", "br"};
  const std::regex tag("<(/?)([a-zA-Z][a-zA-Z0-9]*)([^>]*)>"), id("\\sid=[\"']([^\"']*)[\"']"),
      reference("(?:href=[\"']#|url\\(#)([^\"')]*)");
  std::vector<std::string> references;
  for (std::sregex_iterator it(html.begin(), html.end(), tag), end; it != end; ++it) {
    const std::string name = (*it)[2], rest = (*it)[3];
    if ((*it)[1].length() > 0) {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), name) << "before " << it->prefix().str().substr(0, 200);
      open.pop_back();
    } else if (!rest.ends_with('/') && empty.count(name) == 0) {
      open.push_back(name);
    }
    std::smatch found;
    if (std::regex_search(rest, found, id)) {
      EXPECT_TRUE(ids.insert(found[1]).second) << found[1];
    }
    if (std::regex_search(rest, found, reference)) references.push_back(found[1]);
  }
  EXPECT_TRUE(open.empty());
  EXPECT_GT(ids.size(), figures.size());
  EXPECT_GT(references.size(), figures.size());
  for (const std::string& name : references) EXPECT_EQ(ids.count(name), 1u) << name;
}

TEST(ReportFigure, TellsWhatAReaderMustKnow) {
  Figure figure = test::small_figure(Kind::lines, "f");
  figure.log_y = true;
  figure.caption = "Regret";
  const ReportFigure made = report_figure(figure);
  EXPECT_THAT(made.caption, HasSubstr("Regret. A logarithmic axis cannot show"));
  EXPECT_EQ(made.spoken, "Title of f: regret ± 95% against period t; DOW, oracle");
  EXPECT_FALSE(made.wide);
}

TEST(ReportTex, HasEveryPart) {
  const std::string tex = report_tex(small_report(), "figures");
  EXPECT_THAT(
      tex,
      AllOf(HasSubstr("\\title{Replication of \\texttt{pandora} \\& $<$more$>$}"), HasSubstr("\\tableofcontents"),
            HasSubstr("\\section{Results}"), HasSubstr("\\subsection{Curves}"),
            HasSubstr("\\texttt{results/\\allowbreak{}a{\\char95}b.json}; 10\\% of \\$x\\_1\\$ \\& $\\rho$"),
            HasSubstr("$\\le$ 3, naïve, ?."), HasSubstr("--out {\\char13}x{\\char13} \\&\\& echo {\\char60}done"),
            HasSubstr("1.2 $\\pm$ 0.1"), HasSubstr("\\reportfigure{figures/one.pdf}\n\\caption{Caption $<$one$>$}")));
  EXPECT_THAT(tex, HasSubstr("\\texttt{~~a~~{\\char60}b{\\char62}}\\par\n~\\par\n\\texttt{c{\\char95}d~--x}"));
}

// Two stand beside each other, a wide one alone.
TEST(ReportTex, PairsFigures) {
  const std::string tex = report_tex(small_report(), "figures");
  std::size_t floats = 0, boxes = 0;
  for (std::size_t at = 0; (at = tex.find("\\begin{figure}", at)) != tex.npos; ++at) ++floats;
  for (std::size_t at = 0; (at = tex.find("\\begin{minipage}", at)) != tex.npos; ++at) ++boxes;
  EXPECT_EQ(floats, 2u);
  EXPECT_EQ(boxes, 3u);
}

// Whatever the text: pdflatex stops at signs that nobody declared.
TEST(ReportTex, HasNoSignThatPdflatexDoesNotKnow) {
  ReportDocument report = small_report();
  report.sections[0].paragraphs = {"— “x” ₂ ² α ẞ ш 🙂 é \xff\xc3 \x01\t end"};
  const std::string tex = report_tex(report, "");
  EXPECT_THAT(tex, HasSubstr("--- ``x'' $_2$ $^2$ $\\alpha$ ? ? ? é \\textbackslash{}xff"));
  for (const char c : tex) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

// Titles and names come from outside: what steers a terminal or a page, or is none of a text, stands in no file.
TEST(ReportHtml, HasNoControlCharacters) {
  const std::string steering = std::string("a\0\x1b[31m\x7f\xff", 9) + "\u202e\u009b z";
  ReportDocument report = small_report();
  report.title = report.subtitle = steering;
  ReportSection section{.heading = steering};
  section.paragraphs = section.commands = {steering, "`" + steering + "`"};
  section.preformatted = steering + "\n" + steering;
  Table table;
  table.title = steering;
  table.columns = {steering};
  table.rows = {{{steering}}};
  table.notes = {steering};
  section.tables = {table};
  Figure figure = test::small_figure(Kind::bars, "f");
  figure.title = figure.x_label = figure.y_label = figure.series[0].label = figure.categories[0] = steering;
  section.figures = {report_figure(figure)};
  report.sections.push_back(section);
  const auto none = [](const std::string&) { return std::string(); };
  for (const std::string& text : {report_html(report, none, "figures"), report_tex(report, "figures"),
                                  figure_script(figure), figure_data(figure)}) {
    EXPECT_TRUE(std::none_of(text.begin(), text.end(), [](unsigned char c) {
      return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || c == 0xff;
    }));
    for (const char* sign : {"\u202e", "\u009b"}) EXPECT_THAT(text, Not(HasSubstr(sign)));
    EXPECT_THAT(text, HasSubstr("31m"));
  }
}

}  // namespace
}  // namespace pandora
