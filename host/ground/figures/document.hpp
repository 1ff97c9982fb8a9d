// A report as data, and as HTML or LaTeX.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/ground/figures/figure.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora {

struct ReportFigure {
  std::string name;     ///< stem of its files
  std::string caption;  ///< whole sentences
  std::string spoken;   ///< what it shows, for readers that do not see it; empty: the caption
  bool wide = false;    ///< over the whole page, else two stand beside each other
};

/// With what a reader must know (figure_notes) at the end of the caption.
ReportFigure report_figure(const Figure& figure);

/// Its parts stand in this order. In texts, what stands between two backquotes is code.
struct ReportSection {
  std::string heading;
  std::vector<std::string> paragraphs = {};
  std::vector<std::string> commands = {};  ///< lines of a shell
  std::vector<Table> tables = {};
  std::vector<ReportFigure> figures = {};
  std::string preformatted = {};             ///< every line and space as it stands
  std::vector<ReportSection> sections = {};  ///< one level
  bool folded = false;                       ///< HTML shows the heading alone until it is clicked
};

struct ReportDocument {
  std::string title, subtitle;
  std::vector<ReportSection> sections;
};

/// The text of NAME.svg, or nothing where it was not drawn.
using SvgOf = std::function<std::string(const std::string& name)>;

/// Reads NAME.svg of that folder when asked for it.
SvgOf svg_in(const std::string& folder);

/// One page that needs nothing beside itself: styles and pictures stand in it, there is no script. `figures_folder`,
/// relative to the page, is where links to the data, scripts and PDFs of the figures lead; empty: no links.
std::string report_html(const ReportDocument& document, const SvgOf& svg_of, const std::string& figures_folder = "");

/// For pdflatex with the packages of texlive-latex-recommended and texlive-latex-extra. PDFs are looked for in
/// `figures_folder`, relative to the file; one that is missing there is named in its place.
std::string report_tex(const ReportDocument& document, const std::string& figures_folder);

}  // namespace pandora
