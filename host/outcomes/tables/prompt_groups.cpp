#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/ground/statistics/statistics.hpp"
#include "host/outcomes/tables/text_hash.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

PromptGroups group_prompts(const TraceTable& table) {
  std::vector<std::pair<std::uint64_t, std::size_t>> hashed(table.rows());
  for (std::size_t row = 0; row < hashed.size(); ++row) {
    const std::string_view text = table.text(row);
    hashed[row] = {mixed(stable_hash(text.empty() ? table.prompts[row] : text)), row};
  }
  std::sort(hashed.begin(), hashed.end());
  PromptGroups groups{std::vector<std::size_t>(table.rows()), 0};
  for (std::size_t i = 0; i < hashed.size(); ++i) {
    if (i == 0 || hashed[i].first != hashed[i - 1].first) ++groups.count;
    groups.of_row[hashed[i].second] = groups.count - 1;
  }
  return groups;
}

Fold fold_of(const PromptGroups& groups, std::size_t fold, std::size_t folds) {
  Fold out;
  for (std::size_t row = 0; row < groups.of_row.size(); ++row)
    (groups.of_row[row] % folds == fold ? out.held_out : out.training).push_back(row);
  return out;
}

Interval mean_over_prompts(std::span<const double> by_row, const PromptGroups& groups) {
  const double rows = static_cast<double>(by_row.size()), prompts = static_cast<double>(groups.count);
  Interval out;
  for (const double x : by_row) out.value += x;
  out.value /= rows;
  std::vector<double> sums(groups.count, 0.0);  // of deviations, by prompt
  for (std::size_t row = 0; row < by_row.size(); ++row) sums[groups.of_row[row]] += by_row[row] - out.value;
  double scatter = 0.0;
  for (const double sum : sums) scatter += sum * sum;
  const double error = std::sqrt(scatter * prompts / (prompts - 1.0)) / rows;
  const double half_width = student_factor_95(prompts - 1.0) * error;
  out.low = out.value - half_width;
  out.high = out.value + half_width;
  return out;
}

Interval difference_over_prompts(std::span<const double> a, std::span<const double> b, const PromptGroups& groups) {
  std::vector<double> differences(a.size());
  for (std::size_t row = 0; row < a.size(); ++row) differences[row] = a[row] - b[row];
  return mean_over_prompts(differences, groups);
}

std::string interval_text(const Interval& x, int decimals) {
  if (!std::isfinite(x.value)) return "---";
  if (!std::isfinite(x.low)) return fmt::format("{:.{}f}", x.value, decimals);
  return fmt::format("{1:.{0}f} [{2:.{0}f}, {3:.{0}f}]", decimals, x.value, x.low, x.high);
}

nlohmann::json json_of(const Interval& x) {
  return {{"value", x.value}, {"low", x.low}, {"high", x.high}};
}

Interval interval_of(const nlohmann::json& json) {
  const auto number = [&](const char* name) {
    const nlohmann::json& x = json.at(name);
    return x.is_null() ? std::numeric_limits<double>::quiet_NaN() : x.get<double>();
  };
  return {number("value"), number("low"), number("high")};
}

}  // namespace pandora
