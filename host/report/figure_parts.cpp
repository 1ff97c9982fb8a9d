#include "host/report/figure_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pandora {

void add_point(Series& series, double x, const Estimate& y) {
  const double half = std::isnan(y.half_width_95) ? 0.0 : y.half_width_95;
  series.x.push_back(x);
  series.y.push_back(y.mean);
  series.low.push_back(y.mean - half);
  series.high.push_back(y.mean + half);
}

std::vector<PolicyTitle> titles_shown(const Summary& summary) {
  std::vector<PolicyTitle> titles = policy_titles(summary);
  std::erase_if(titles, [&summary](const PolicyTitle& title) {
    return std::none_of(summary.rows.begin(), summary.rows.end(), [&title](const SummaryRow& row) {
      return row.policy == title.policy && row.reward == title.reward;
    });
  });
  return titles;
}

Series series_of(const PolicyTitle& title) {
  return {.label = title.brief, .policy = title.policy, .reward = title.reward};
}

void choose_axes(Figure& figure) {
  std::vector<double> x, y;
  for (const Series& series : figure.series) {
    x.insert(x.end(), series.x.begin(), series.x.end());
    y.insert(y.end(), series.y.begin(), series.y.end());
  }
  figure.log_x = spans_a_decade(x);
  figure.log_y = spans_a_decade(y) && std::all_of(y.begin(), y.end(), [](double value) { return !(value <= 0.0); });
}

std::string study_sizes(const Study& study, const std::vector<std::string>& varied) {
  std::string out;
  const auto add = [&](const char* key, const std::string& text) {
    if (std::find(varied.begin(), varied.end(), key) == varied.end()) out += (out.empty() ? " " : ", ") + text;
  };
  add("dimensions.boxes", fmt::format("A = {}", study.dimensions.boxes));
  if (!of_table(study)) add("dimensions.context", fmt::format("d_x = {}", study.dimensions.context));
  add("periods", fmt::format("T = {}", study.periods));
  add("replications", fmt::format("{} replication{}", study.replications, study.replications == 1 ? "" : "s"));
  return out.empty() ? out : out + ".";
}

void add_if_any(std::vector<Figure>& figures, Figure figure) {
  std::erase_if(figure.series, [](const Series& s) { return s.y.empty(); });
  if (figure.kind == Figure::Kind::lines || figure.kind == Figure::Kind::line_points)
    if (figure.series.size() > kMostCurves) {
      figure.caption += fmt::format(" The first {} of {} policies, left out:", kMostCurves, figure.series.size());
      for (std::size_t k = kMostCurves; k < figure.series.size(); ++k)
        figure.caption += (k == kMostCurves ? " " : "; ") + figure.series[k].label;
      figure.caption += ".";
      figure.series.resize(kMostCurves);
    }
  if (!figure.series.empty()) figures.push_back(std::move(figure));
}

const char* kind_text(bool knows) {
  return knows ? "policies that see μ*" : "policies that do not see μ*";
}

}  // namespace pandora
