// A study's results as a report: tables, comparisons, figures, and how to make it all again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/ground/figures/document.hpp"
#include "host/report/compare.hpp"
#include "host/report/study_figures.hpp"
#include "host/studies/results/stored_results.hpp"

namespace pandora {

struct ReportOptions {
  std::filesystem::path out;  ///< empty: the folder "report" in that of the results
  std::optional<int> T0;      ///< of figures that show one; see usual_T0
  /// To compare with the base, NAME or NAME/REWARD; empty: all but yardsticks.
  std::vector<std::string> policies = {};
  std::string base = {};                                       ///< empty: the first of `policies`, else usual_base()
  int threads = 1;                                             ///< processes that draw at once
  std::vector<std::string> formats = RenderOptions().formats;  ///< of figures
};

struct ReportOutcome {
  std::filesystem::path file;  ///< report.html, or report.json where it could not be rendered
  std::size_t figures = 0;
  std::string message;  ///< why not all was rendered; empty if it was
};

/// The base with each of the others, as a report compares them; empty where there is one policy.
std::vector<ComparedPair> compared_pairs(StoredResults& results, const std::vector<SettingSummary>& settings,
                                         const ReportOptions& options);

/// The figures of a report, those of the pairs among them. Throws Error (usage) if T0 is given and not of the study.
std::vector<FigureGroup> report_figures(StoredResults& results, const std::vector<SettingSummary>& settings,
                                        const std::vector<ComparedPair>& pairs, std::optional<int> T0);

/// Writes the report's document and has it rendered (document.hpp). A report that stood there is replaced. Throws Error
/// (usage) if the folder holds something else, Error (output_lost).
ReportOutcome write_report(StoredResults& results, const ReportOptions& options);

}  // namespace pandora
