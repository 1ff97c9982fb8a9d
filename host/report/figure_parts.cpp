#include "host/report/figure_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

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

Series series_of(const std::vector<PolicyTitle>& titles, const PolicyTitle& title) {
  Series series{title.brief};
  std::vector<std::string> policies;
  for (const PolicyTitle& other : titles)
    if (std::find(policies.begin(), policies.end(), other.policy) == policies.end()) policies.push_back(other.policy);
  series.style = static_cast<int>(std::find(policies.begin(), policies.end(), title.policy) - policies.begin());
  return series;
}

namespace {

// Two series of one figure never look alike: the later one takes another place. Seven on, markers have the same colour.
void set_apart(Figure& figure) {
  const bool scatter = figure.kind == Figure::Kind::scatter;
  const int places = static_cast<int>(scatter ? kMostMarkers : kMostCurves), step = scatter ? 7 : 1;
  std::set<int> taken;
  for (Series& series : figure.series) {
    if (series.style < 0) continue;
    series.style %= places;
    for (int k = 0; k < places && taken.count(series.style) > 0; ++k) series.style = (series.style + step) % places;
    taken.insert(series.style);
  }
}

}  // namespace

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
  set_apart(figure);
  if (!figure.series.empty()) figures.push_back(std::move(figure));
}

const char* kind_text(bool knows) {
  return knows ? "policies that see μ*" : "policies that do not see μ*";
}

}  // namespace pandora
