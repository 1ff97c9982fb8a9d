// A study's results as a report: tables, comparisons, figures, what those are put together from, and how to make it all
// again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/ground/figures/document.hpp"
#include "host/report/compare.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/results/stored_results.hpp"

namespace pandora {

/// Figures that belong under one heading.
struct FigureGroup {
  std::string heading;  ///< such as "Uniform, regime A"
  std::vector<Figure> figures;
};

/// The T_0 of figures that show one: of those at which all policies run, if there are any, the largest that is at most
/// a hundredth of the horizon, else the smallest.
int usual_T0(const Study& study, const Plan& plan);

/// Regret of each policy less that of the first, against T_0, where nothing varies. `titles`: of all policies.
FigureGroup difference_figures(const std::vector<ComparedPair>& pairs, const std::vector<PolicyTitle>& titles);

/// Where nothing varies, for each environment and regime: cumulative regret with 95% intervals, linear and log-log with
/// fitted slopes; regret against T_0 and against the hyperparameter; quality against cost; queries and deployments per
/// box; depth. Where the study is the paper's, published against reproduced with z-scores. Where keys vary, regret
/// against each of them, the others at their first values. `policies`: of these alone, NAME or NAME/REWARD, and of the
/// oracle; empty: of all. Throws Error (usage) if T0 is given and not of the study.
std::vector<FigureGroup> study_figures(StoredResults& results, std::optional<int> T0,
                                       const std::vector<std::string>& policies = {});

/// A figure without series.
Figure empty_figure(Figure::Kind kind, std::string name, std::string x_label, std::string y_label, std::string caption);

/// A point with its interval; an unknown half-width draws none.
void add_point(Series& series, double x, const Estimate& y);

/// The policies that have rows, of those that are named (all, where none is), in the order of the tables.
std::vector<PolicyTitle> titles_shown(const Summary& summary, const std::vector<std::string>& policies = {});

/// An empty series of a policy.
Series series_of(const PolicyTitle& title);

/// The figure if a series is left that has points; of curves no more than axes bear, the first ones.
void add_if_any(std::vector<Figure>& figures, Figure figure);

/// Logarithmic axes, where what a figure of lines shows spans a decade or more.
void choose_axes(Figure& figure);

/// Such as " A = 3, d_x = 100, T = 30000, 50 replications.", what a caption ends with; without the keys that vary.
std::string study_sizes(const Study& study, const std::vector<std::string>& varied = {});

/// Names of files and captions for policies that see mu* and that do not: they have figures of their own.
inline constexpr const char* kKinds[] = {"unknown", "known"};
const char* kind_text(bool knows);

/// Regret against each key that varies, the others at their first values.
std::vector<FigureGroup> varied_figures(const std::vector<SettingSummary>& settings, int T0,
                                        const std::vector<std::string>& policies = {});

struct ReportOptions {
  std::filesystem::path out;  ///< empty: the folder "report" in that of the results
  std::optional<int> T0;      ///< of figures that show one; see usual_T0
  /// Of which tables, comparisons and figures are, NAME or NAME/REWARD; empty: all, and all but yardsticks are compared.
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

/// The figures of a report, those of the pairs among them. Throws Error (usage) for a T0 or a policy that the study has
/// not.
std::vector<FigureGroup> report_figures(StoredResults& results, const std::vector<SettingSummary>& settings,
                                        const std::vector<ComparedPair>& pairs, const ReportOptions& options);

/// Writes the report's document and has it rendered (document.hpp). A report that stood there is replaced. Throws Error
/// (usage) if the folder holds something else, Error (output_lost).
ReportOutcome write_report(StoredResults& results, const ReportOptions& options);

}  // namespace pandora
