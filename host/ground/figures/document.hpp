// A report as data: what it says, in which order. How it looks is the
// renderer's, a script in Python (python/src/pandora/rendering) as a process of its own.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/ground/figures/figure.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora {

/// Its parts stand in this order. In texts, what stands between two backquotes is code.
struct ReportSection {
  std::string heading;
  std::vector<std::string> paragraphs = {};
  std::vector<std::string> commands = {};  ///< lines of a shell
  std::vector<Table> tables = {};
  std::vector<Figure> figures = {};
  std::string preformatted = {};             ///< every line and space as it stands
  std::vector<ReportSection> sections = {};  ///< one level
  bool folded = false;                       ///< a page shows the heading alone until it is clicked
};

struct ReportDocument {
  std::string title, subtitle;
  std::vector<ReportSection> sections;
};

struct RenderOptions {
  std::vector<std::string> formats = {"svg"};  ///< of figures: svg, pdf, png; the page has them as SVG in any case
  int processes = 1;                           ///< that draw at once
  double most_seconds = 600;                   ///< after which it is taken to hang
};

struct RenderResult {
  bool rendered = false;
  std::string message;  ///< why not all was rendered and what to do; empty where it was
};

/// The formats that a list such as "svg,pdf" names. Throws Error (usage).
std::vector<std::string> parse_figure_formats(const std::vector<std::string>& names);

/// report.json: all but the numbers, which stand in tables/*.csv and figures/*.csv. Throws std::logic_error where
/// check() does or two figures have one name.
nlohmann::json document_json(const ReportDocument& document);

/// Whether report.json or report.html in the folder is one that write_document made.
bool holds_document(const std::filesystem::path& folder);

/// Writes report.json, tables/*.csv and figures/*.csv into the folder, which exists, and has them rendered:
/// report.html, report.tex and figures/NAME in the formats that are asked for. What stood there under these names is
/// removed first. Where it is not rendered, or only in part, the message says why and what to do. Throws Error
/// (output_lost).
RenderResult write_document(const std::filesystem::path& folder, const ReportDocument& document,
                            const RenderOptions& options);

/// Renders the document of a folder (document.hpp). The interpreter is what the environment variable PANDORA_PYTHON
/// names, else python3 in a folder of PATH, else /usr/bin/python3, whichever has the modules; the script is what
/// PANDORA_RENDERER names, else that beside the program: installed, or in its source tree.
RenderResult render_document(const std::filesystem::path& folder, const RenderOptions& options);

struct ChildResult {
  std::string problem;  ///< why it could not be started; empty where it was
  bool in_time = true;
  int status = 0;    ///< as waitpid() says
  std::string said;  ///< on both outputs, without blanks at its ends; 64 KiB at most
};

/// Runs words[0], a path, without a shell and with nothing to read. One that takes longer than `most_seconds` is ended,
/// whatever it does with its output; what it started itself is not waited for.
ChildResult run_child(std::vector<std::string> words, double most_seconds);

}  // namespace pandora
