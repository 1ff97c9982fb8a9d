#include "host/cascades/fits/field_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pandora {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// By trapezoids.
template <class Points, class X>
double area_under(const Points& points, const X& x) {
  double area = 0.0;
  for (std::size_t i = 1; i < points.size(); ++i)
    area += (x(points[i]) - x(points[i - 1])) * (points[i].quality + points[i - 1].quality) / 2.0;
  return area;
}

double usd_of(const CostQuality& point) {
  return point.usd;
}

// Points in the order of their dollars; constant beyond them.
double quality_at(const std::vector<CostQuality>& points, double usd) {
  const auto right = std::ranges::lower_bound(points, usd, {}, &CostQuality::usd);
  if (right == points.begin()) return points.front().quality;
  if (right == points.end()) return points.back().quality;
  const CostQuality &a = *(right - 1), &b = *right;
  return a.quality + (usd - a.usd) / (b.usd - a.usd) * (b.quality - a.quality);
}

}  // namespace

std::vector<CostQuality> non_decreasing_hull(std::vector<CostQuality> points) {
  std::ranges::sort(points, [](const CostQuality& a, const CostQuality& b) {
    return a.usd != b.usd ? a.usd < b.usd : a.quality > b.quality;
  });
  std::vector<CostQuality> hull;
  for (const CostQuality& point : points) {
    if (!hull.empty() && point.quality <= hull.back().quality) continue;
    const auto below = [&] {  // the last corner, under the line from the one before it
      const CostQuality &a = hull[hull.size() - 2], &b = hull.back();
      return (b.quality - a.quality) * (point.usd - a.usd) <= (point.quality - a.quality) * (b.usd - a.usd);
    };
    while (hull.size() > 1 && below()) hull.pop_back();
    hull.push_back(point);
  }
  return hull;
}

double average_improvement(const std::vector<CostQuality>& points, double dearest, bool as_code) {
  std::vector<CostQuality> hull = non_decreasing_hull(points);
  hull.push_back({std::max(dearest, hull.back().usd), hull.back().quality});
  const double area = area_under(hull, usd_of), end = hull.back().usd, range = end - hull.front().usd;
  if (as_code) return end > 0.0 ? area / end : kUndefined;
  return range > 0.0 ? area / range : hull.front().quality;
}

double cost_of_quality(const std::vector<CostQuality>& points, double quality) {
  const std::vector<CostQuality> hull = non_decreasing_hull(points);
  const auto reached = std::ranges::find_if(hull, [&](const CostQuality& point) { return point.quality >= quality; });
  if (reached == hull.end()) return kUndefined;
  if (reached == hull.begin()) return reached->usd;
  const CostQuality &a = *(reached - 1), &b = *reached;
  return a.usd + (quality - a.quality) / (b.quality - a.quality) * (b.usd - a.usd);
}

double strong_share_area(std::vector<StrongShare> points) {
  std::ranges::stable_sort(points, {}, &StrongShare::share);
  return area_under(points, [](const StrongShare& point) { return point.share; });
}

double performance_gap_recovered(const std::vector<StrongShare>& points, double weak, double strong) {
  const auto [least, most] = std::ranges::minmax(points, {}, &StrongShare::share);
  const double gap = (strong - weak) * (most.share - least.share);
  return gap != 0.0 ? (strong_share_area(points) - weak * (most.share - least.share)) / gap : kUndefined;
}

double share_that_recovers(std::vector<StrongShare> points, double weak, double strong, double recovered) {
  std::ranges::stable_sort(points, {}, &StrongShare::share);
  const double mark = weak + recovered * (strong - weak);
  if (points.front().quality >= mark) return points.front().share;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const StrongShare &a = points[i - 1], &b = points[i];
    if (b.quality >= mark) return a.share + (mark - a.quality) / (b.quality - a.quality) * (b.share - a.share);
  }
  return kUndefined;
}

double deferral_area(std::vector<CostQuality> points, double dearest, double up_to) {
  if (!(dearest > 0.0)) return kUndefined;
  std::ranges::stable_sort(points, {}, &CostQuality::usd);
  for (CostQuality& point : points) point.usd /= dearest;
  std::vector<CostQuality> curve = {{0.0, quality_at(points, 0.0)}};
  for (const CostQuality& point : points)
    if (point.usd > 0.0 && point.usd < up_to) curve.push_back(point);
  curve.push_back({up_to, quality_at(points, up_to)});
  return area_under(curve, usd_of) / up_to;
}

double least_cost_at(const std::vector<CostQuality>& points, double quality) {
  double least = std::numeric_limits<double>::infinity();
  for (const CostQuality& point : points)
    if (point.quality >= quality) least = std::min(least, point.usd);
  return std::isfinite(least) ? least : kUndefined;
}

double arena_score(const CostQuality& point) {
  constexpr double kBeta = 0.1;
  if (!(point.usd > 0.0)) return kUndefined;
  const double cheapness = std::log2(kArenaDearest / point.usd) / std::log2(kArenaDearest / kArenaCheapest);
  return (1.0 + kBeta) * point.quality * cheapness / (kBeta * point.quality + cheapness);
}

double greatest_quality(const std::vector<CostQuality>& points) {
  return std::ranges::max(points, {}, &CostQuality::quality).quality;
}

double pareto_distance(const std::vector<CostQuality>& points, const std::vector<CostQuality>& everyone) {
  const auto [cheapest, dearest] = std::ranges::minmax(everyone, {}, &CostQuality::usd);
  const auto [worst, best] = std::ranges::minmax(everyone, {}, &CostQuality::quality);
  const auto range = [](double spread) { return spread > 0.0 ? spread : 1.0; };
  const double usd = range(dearest.usd - cheapest.usd), quality = range(best.quality - worst.quality);
  std::vector<CostQuality> front;
  for (const CostQuality& point : everyone) {
    const auto beats = [&](const CostQuality& other) {
      return other.usd <= point.usd && other.quality >= point.quality &&
             (other.usd < point.usd || other.quality > point.quality);
    };
    if (std::ranges::none_of(everyone, beats)) front.push_back(point);
  }
  double sum = 0.0;
  for (const CostQuality& point : points) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const CostQuality& other : front)
      nearest = std::min(nearest, std::hypot((other.usd - point.usd) / usd, (other.quality - point.quality) / quality));
    sum += nearest;
  }
  return sum / static_cast<double>(points.size());
}

ForecastAnswers::ForecastAnswers(std::span<const double> forecast, std::span<const double> truth, std::size_t per_row) {
  for (std::size_t at = 0; at < forecast.size(); ++at) answers_.push_back({forecast[at], truth[at], at / per_row});
  std::ranges::sort(answers_, std::greater(), &Answer::forecast);
}

template <class PerTie>
void ForecastAnswers::for_ties(std::span<const std::uint32_t> weights, const PerTie& per_tie) const {
  for (std::size_t i = 0; i < answers_.size();) {
    Tie tie;
    const double forecast = answers_[i].forecast;
    for (; i < answers_.size() && answers_[i].forecast == forecast; ++i) {
      const double weight = weights[answers_[i].row];
      tie.count += weight;
      tie.loss += weight * (1.0 - answers_[i].truth);
      tie.right += answers_[i].truth >= 0.5 ? weight : 0.0;
    }
    if (tie.count > 0.0) per_tie(tie);
  }
}

double ForecastAnswers::calibration_error(std::span<const std::uint32_t> weights) const {
  double gaps[kBins] = {}, count = 0.0, sum = 0.0;
  for (const Answer& answer : answers_) {
    const double place = std::ceil(answer.forecast * static_cast<double>(kBins)) - 1.0, weight = weights[answer.row];
    gaps[static_cast<std::size_t>(std::clamp(place, 0.0, kBins - 1.0))] += weight * (answer.truth - answer.forecast);
    count += weight;
  }
  for (const double gap : gaps) sum += std::abs(gap);
  return sum / count;
}

double ForecastAnswers::area_under_roc(std::span<const std::uint32_t> weights) const {
  double right = 0.0, wrong = 0.0, won = 0.0;
  for_ties(weights, [&](const Tie& tie) {
    const double lost = tie.count - tie.right;
    won += lost * (right + 0.5 * tie.right);
    right += tie.right;
    wrong += lost;
  });
  return right > 0.0 && wrong > 0.0 ? won / (right * wrong) : kUndefined;
}

// Within a tie of mean loss l, after K answers that lost C: sum over j of (C + j l) / (K + j).
double ForecastAnswers::area_under_risk(std::span<const std::uint32_t> weights) const {
  double count = 0.0, loss = 0.0, risks = 0.0;
  for_ties(weights, [&](const Tie& tie) {
    const double mean = tie.loss / tie.count;
    double harmonic = 0.0;
    for (double j = 1.0; j <= tie.count; ++j) harmonic += 1.0 / (count + j);
    risks += tie.count * mean + (loss - count * mean) * harmonic;
    count += tie.count;
    loss += tie.loss;
  });
  return risks / count;
}

double ForecastAnswers::risk_at(double coverage, std::span<const std::uint32_t> weights) const {
  double all = 0.0;
  for (const Answer& answer : answers_) all += weights[answer.row];
  double left = coverage * all, loss = 0.0;
  for_ties(weights, [&](const Tie& tie) {
    const double taken = std::min(left, tie.count);
    loss += taken * tie.loss / tie.count;
    left -= taken;
  });
  return loss / (coverage * all);
}

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return kUndefined;
  std::ranges::sort(values);
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= values.size()) return values.back();
  return values[below] + (at - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

}  // namespace pandora
