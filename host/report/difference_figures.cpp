#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "host/report/figure_parts.hpp"
#include "host/report/study_figures.hpp"

namespace pandora {

namespace {

// The title of POLICY/REWARD; of another program's, the name itself.
PolicyTitle title_of(const std::string& name, const std::vector<PolicyTitle>& titles) {
  for (const PolicyTitle& title : titles)
    if (name == title.policy + "/" + title.reward) return title;
  const std::size_t slash = name.find('/');
  return {.policy = name.substr(0, slash),
          .reward = slash == name.npos ? "" : name.substr(slash + 1),
          .name = name,
          .brief = name,
          .group = ""};
}

}  // namespace

FigureGroup difference_figures(const std::vector<ComparedPair>& pairs, const std::vector<PolicyTitle>& titles) {
  FigureGroup group{"Differences, paired over replications", {}};
  std::map<std::string, Figure> figures;  // by name; policies in the order of the pairs
  std::vector<std::string> order;
  for (const ComparedPair& pair : pairs)
    for (const ComparedRow& row : pair.rows) {
      if (!row.T0 || !row.setting.empty() || row.paired.n == 0) continue;
      std::string base = pair.a;
      std::replace(base.begin(), base.end(), '/', '-');
      const std::string name = fmt::format("difference-{}-{}-{}", base, row.environment, row.regime);
      const auto [at, is_new] = figures.try_emplace(name);
      Figure& figure = at->second;
      if (is_new) {
        order.push_back(name);
        figure.kind = Figure::Kind::line_points;
        figure.name = name;
        figure.x_label = "calibration periods T₀";
        figure.y_label = fmt::format("regret less that of {}, × 1000", title_of(pair.a, titles).brief);
        figure.references = {{0.0, false, ""}};
        figure.caption = fmt::format(
            "{}, regime {}: time-averaged regret less that of {} on the same draws, with 95% intervals of the "
            "paired difference; below 0 is better.",
            environment_title(row.environment), row.regime, title_of(pair.a, titles).brief);
      }
      if (const Series series = series_of(title_of(pair.b, titles));
          figure.series.empty() || figure.series.back().label != series.label)
        figure.series.push_back(series);
      const Estimate& d = row.paired.difference;
      add_point(figure.series.back(), *row.T0, {-d.mean, d.half_width_95});
    }
  for (const std::string& name : order) {
    choose_axes(figures[name]);
    figures[name].log_y = false;
    add_if_any(group.figures, std::move(figures[name]));
  }
  return group;
}

}  // namespace pandora
