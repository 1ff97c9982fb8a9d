// Reports and pages are made by a script in Python (python/src/pandora/rendering): it is given numbers, as a process of its own.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/ground/files/output_folder.hpp"

namespace pandora {

/// The folder of a report, made and locked: two reports there at once would remove each other's figures. Throws Error (usage)
/// where it holds something else, or another process makes one there.
FolderLock claim_report(const std::filesystem::path& out);

struct RenderOptions {
  std::vector<std::string> formats = {"svg"};  ///< of figures: svg, pdf, png; the page has them as SVG in any case
  std::optional<int> T0 = {};                  ///< of figures that show one
};

/// The formats that a list such as "svg,pdf" names. Throws Error (usage).
std::vector<std::string> parse_figure_formats(const std::vector<std::string>& names);

struct RenderResult {
  std::string said;     ///< by the script, in a line: how many figures, and where the page is
  std::string message;  ///< in one sentence why not all was rendered and what to run; empty where it was
};

/// Writes numbers.json into the folder, which exists, and has its report made: report.json, tables/*.csv and figures/*.csv, of
/// which report.html, report.tex and figures/NAME are rendered. What stood there under these names is removed first. Throws
/// Error (output_lost).
RenderResult render(const std::filesystem::path& folder, const nlohmann::json& numbers, const RenderOptions& options);

/// Tables (table_json) as LaTeX. Throws Error (usage) with what to do where there is no Python.
std::string latex_of(const nlohmann::json& tables);

}  // namespace pandora
