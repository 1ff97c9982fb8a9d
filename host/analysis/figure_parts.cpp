#include "host/analysis/figure_parts.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace pandora {

void add_point(Series& series, double x, const Estimate& y) {
  const double half = std::isnan(y.half_width_95) ? 0.0 : y.half_width_95;
  series.x.push_back(x);
  series.y.push_back(y.mean);
  series.low.push_back(y.mean - half);
  series.high.push_back(y.mean + half);
}

void add_if_any(std::vector<Figure>& figures, Figure figure) {
  std::erase_if(figure.series, [](const Series& s) { return s.y.empty(); });
  if (figure.kind == Figure::Kind::lines || figure.kind == Figure::Kind::line_points)
    if (figure.series.size() > kMostCurves) {
      figure.caption += fmt::format(" The first {} of {} policies.", kMostCurves, figure.series.size());
      figure.series.resize(kMostCurves);
    }
  if (!figure.series.empty()) figures.push_back(std::move(figure));
}

const char* kind_text(bool knows) {
  return knows ? "policies that see μ*" : "policies that do not see μ*";
}

std::optional<double> number_of(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace pandora
