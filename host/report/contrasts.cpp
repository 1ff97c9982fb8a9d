#include "host/report/contrasts.hpp"

#include <algorithm>
#include <cmath>

#include "host/ground/statistics/statistics.hpp"

namespace pandora {

double mean_of_values(const Values& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Estimate student_t_interval(const Values& values) {
  return paired_difference(values, Values(values.size(), 0.0)).difference;
}

Values less(const Values& a, const Values& b, double factor) {
  Values out(a.size());
  for (std::size_t r = 0; r < a.size(); ++r) out[r] = a[r] - factor * b[r];
  return out;
}

Holds below_zero(const Estimate& e) {
  if (std::isnan(e.half_width_95)) return Holds::open;
  return e.mean + e.half_width_95 < 0.0 ? Holds::yes : e.mean - e.half_width_95 > 0.0 ? Holds::no : Holds::open;
}

FindingCell cell_of(std::string name, std::string compared, const Values& shown, const Values& margin,
                    std::optional<double> published) {
  FindingCell out;
  out.cell = std::move(name);
  out.compared = std::move(compared);
  out.difference = student_t_interval(shown);
  const Estimate claimed = student_t_interval(margin);
  out.holds = below_zero(claimed);
  out.mean_agrees = claimed.mean < 0.0;
  if (published) out.published = *published < 0.0;
  return out;
}

std::string panel_text(const Panel& panel) {
  return panel.regime + " " + panel.environment;
}

std::string panel_text(const Panel& panel, int T0) {
  return panel_text(panel) + ", T0=" + std::to_string(T0);
}

std::optional<double> published_mean(const Panel& panel, const RegretEntry& entry) {
  const std::optional<PublishedValue> own = published_value(panel, entry);
  return own ? std::optional(own->value) : std::nullopt;
}

std::vector<int> calibrations(const Panel& panel) {
  std::vector<int> out;
  for (const RegretEntry& entry : panel.entries)
    if (std::find(out.begin(), out.end(), entry.T0) == out.end()) out.push_back(entry.T0);
  return out;
}

std::optional<double> difference_of(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a - *b) : std::nullopt;
}

}  // namespace pandora
