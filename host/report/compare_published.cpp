#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/ground/statistics/student_t.hpp"
#include "host/report/compare_text.hpp"
#include "pandora/error.hpp"

namespace pandora {

Table compare_published(StoredResults& results, const CompareOptions& options) {
  const Study& study = results.settings()[0].setting.study;
  require_names(options, results.settings());
  std::vector<PolicyName> names;
  for (const std::string& text : options.policies) names.push_back(parse_policy_name(text, results.settings()[0].plan));
  struct Found {
    const SummaryRow* row;
    double z;
  };
  const std::vector<SettingSummary> settings = results.summaries();
  std::vector<Found> found;
  std::vector<double> p;
  for (const SettingSummary& s : settings)
    for (const SummaryRow& row : s.summary.rows) {
      const bool named = names.empty() || std::any_of(names.begin(), names.end(), [&](const PolicyName& n) {
                           return n.policy == row.policy && (n.reward.empty() || n.reward == row.reward);
                         });
      if (!row.published || !named || !wanted(options.T0, row.T0) || !wanted(options.environments, row.environment) ||
          !wanted(options.regimes, row.regime))
        continue;
      const double error = std::hypot(row.regret.half_width_95, row.published->half_width_95) / 1.96;
      const bool few = row.replications < kLeastForComparison;  // the half-width is a guess
      found.push_back({&row, few ? std::nan("") : (row.regret.mean - row.published->value) / error});
      p.push_back(normal_p_value(found.back().z));
    }
  if (found.empty())
    throw Error(ExitCode::usage,
                fmt::format("{}: has nothing that the paper publishes (its dimensions, horizon and environments); "
                            "`pandora reproduce` runs that study",
                            results.path()));
  const std::vector<double> adjusted = holm_adjusted(p);
  Table table;
  table.label = "published";
  table.title = "Time-averaged regret x 1000, reproduced against published, ± 1.96 standard errors; not paired";
  table.columns = {"cell", "reproduced", "published", "difference", "z", "p (Holm)"};
  double squares = 0.0;
  int outside = 0, told = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const SummaryRow& row = *found[k].row;
    if (!std::isnan(found[k].z)) {
      ++told;
      squares += found[k].z * found[k].z;
      outside += std::abs(found[k].z) > 1.96 ? 1 : 0;
    }
    const double difference = row.regret.mean - row.published->value;
    table.rows.push_back(
        {{fmt::format("{}, {}, T0={}, {}/{}", row.environment, row.regime, row.T0, row.policy, row.reward),
          exact_cell(plus_minus(row.regret), row.regret.mean),
          exact_cell(plus_minus({row.published->value, row.published->half_width_95}), row.published->value),
          exact_cell(number_text(difference, 2), difference, adjusted[k] < 0.05),
          exact_cell(number_text(found[k].z, 2), found[k].z), exact_cell(p_value_text(adjusted[k]), adjusted[k])}});
  }
  if (told > 0)
    table.notes.push_back(fmt::format(
        "|z| > 1.96 in {} of {} cells; root mean square of z {:.2f} (1 if both are right and the cells were "
        "independent, which they are not: they share tapes).",
        outside, told, std::sqrt(squares / told)));
  else
    table.notes.push_back(fmt::format("z is told from {} replications on.", kLeastForComparison));
  constexpr int kFew = 20;
  if (told > 0 && study.replications < kFew)
    table.notes.push_back(fmt::format(
        "z takes the intervals at their word: of {} replications they are too narrow, and |z| is too large.",
        study.replications));
  return table;
}

}  // namespace pandora
