// The figures of a study's results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/ground/figures/figure.hpp"
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
/// against each of them, the others at their first values. Throws Error (usage) if T0 is given and not of the study.
std::vector<FigureGroup> study_figures(StoredResults& results, std::optional<int> T0);

}  // namespace pandora
