// Makes reports and pages by a Python script (python/src/pandora/rendering), which gets numbers and runs in a process
// of its own.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/ground/files/output_folder.hpp"

namespace pandora {

/// Makes and locks the folder of a report, because two reports there at once would remove each other's figures. Throws
/// Error (usage) if it holds something else, or if another process makes a report there.
FolderLock claim_report(const std::filesystem::path& out);

struct RenderOptions {
  std::vector<std::string> formats = {"svg"};  ///< of figures: svg, pdf, png; the page always has them as SVG
  std::optional<int> T0 = {};                  ///< for figures that show one T_0
};

struct RenderResult {
  std::string said;     ///< by the script, in a line: how many figures, and where the page is
  std::string message;  ///< if not everything was rendered: the reason and the command to run; otherwise empty
};

/// Writes numbers.json into the folder, which must exist, and has its report made: report.json, tables/*.csv and
/// figures/*.csv, and from them report.html, report.tex and figures/NAME. Removes earlier files of these names first.
/// Throws Error (output_lost).
RenderResult render(const std::filesystem::path& folder, const nlohmann::json& numbers, const RenderOptions& options);

/// How a program ended.
struct Ended {
  std::string problem;   ///< why it could not be started; empty if it was started
  int status = 0;        ///< as from waitpid()
  std::string out, err;  ///< standard output; standard error without the blanks and lines at its end
};

/// Runs words[0], a path, without a shell and with default signals.
Ended run_child(std::vector<std::string> words, const std::string& input = "");

/// The Python that PANDORA_PYTHON names; without this variable the programs of `first`, python3 in the folders of PATH,
/// then the system's. Only absolute paths of programs that can be run.
std::vector<std::string> interpreters(const std::vector<std::filesystem::path>& first = {});

/// Tables (table_json) as LaTeX. Throws Error (usage) with the remedy if there is no Python.
std::string latex_of(const nlohmann::json& tables);

}  // namespace pandora
