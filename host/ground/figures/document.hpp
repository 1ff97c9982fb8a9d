// A report as data: what it says, in which order. How it looks is the renderer's (renderer.hpp).
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/ground/figures/figure.hpp"
#include "host/ground/figures/renderer.hpp"
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

}  // namespace pandora
