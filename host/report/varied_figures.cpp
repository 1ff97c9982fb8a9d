#include <fmt/format.h>

#include <algorithm>

#include "host/ground/base/split.hpp"
#include "host/report/figure_parts.hpp"
#include "host/studies/results/policy_titles.hpp"
#include "host/studies/study/hyperparameter_values.hpp"

namespace pandora {

namespace {

// Environments of several sizes stand in settings of their own: together again, in the order of the study.
std::vector<SettingSummary> by_varied_keys(const std::vector<SettingSummary>& all) {
  std::vector<SettingSummary> out;
  for (const SettingSummary& s : all) {
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&s](const SettingSummary& o) { return o.setting.varied == s.setting.varied; });
    if (same == out.end())
      out.push_back(s);
    else
      append(Summary(s.summary), same->summary);
  }
  return out;
}

}  // namespace

std::vector<FigureGroup> varied_figures(const std::vector<SettingSummary>& all, int T0) {
  const std::vector<SettingSummary> settings = by_varied_keys(all);
  std::vector<FigureGroup> groups;
  const auto& first = settings[0].setting.varied;
  const std::vector<PolicyTitle> titles = titles_shown(settings[0].summary);
  for (const OracleRow& oracle : settings[0].summary.oracle) {
    FigureGroup group{fmt::format("{}, regime {}", environment_title(oracle.environment), oracle.regime), {}};
    for (std::size_t key = 0; key < first.size(); ++key)
      for (const bool knows : {true, false}) {
        const bool numeric = std::all_of(settings.begin(), settings.end(), [&](const SettingSummary& s) {
          return number_of(s.setting.varied[key].second).has_value();
        });
        Figure figure;
        figure.kind = numeric ? Figure::Kind::line_points : Figure::Kind::bars;
        figure.name = fmt::format("vary-{}-{}-{}-{}", key + 1, kKinds[knows], oracle.environment, oracle.regime);
        figure.x_label = first[key].first;
        figure.y_label = "regret (10⁻³ reward/period)";
        figure.log_x = figure.log_y = numeric;
        figure.caption =
            fmt::format("Time-averaged regret against {} of {}, T₀ = {}, with 95% intervals{}.", first[key].first,
                        kind_text(knows), T0, first.size() > 1 ? "; other keys at their first values" : "");
        std::vector<const SettingSummary*> line;  // the other keys at their first values
        for (const SettingSummary& s : settings) {
          bool of_line = true;
          for (std::size_t other = 0; other < first.size(); ++other)
            of_line = of_line && (other == key || s.setting.varied[other] == first[other]);
          if (of_line) line.push_back(&s);
        }
        for (const SettingSummary* s : line)
          if (!numeric) figure.categories.push_back(s->setting.varied[key].second);
        for (const PolicyTitle& title : titles) {
          if (title.knows_reward != knows) continue;
          Series series = series_of(titles, title);
          for (const SettingSummary* s : line)
            for (const SummaryRow& row : s->summary.rows)
              if (row.best && row.policy == title.policy && row.reward == title.reward && row.T0 == T0 &&
                  row.regime == oracle.regime && row.environment == oracle.environment) {
                if (numeric)
                  add_point(series, *number_of(s->setting.varied[key].second), row.regret);
                else
                  series.y.push_back(row.regret.mean);
              }
          if (numeric || series.y.size() == figure.categories.size()) figure.series.push_back(std::move(series));
        }
        add_if_any(group.figures, std::move(figure));
      }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace pandora
