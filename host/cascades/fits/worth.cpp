#include "host/cascades/fits/worth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "host/cascades/fits/trace_check.hpp"
#include "host/ground/statistics/statistics.hpp"

namespace pandora {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double student_t(double probability, const PromptGroups& groups) {
  return student_t_quantile(probability, static_cast<double>(groups.count) - 1.0);
}

// Sums of deviations from the mean, as mean_over_prompts() has them.
double skewness_over_prompts(std::span<const double> by_row, const PromptGroups& groups) {
  double mean = 0.0;
  for (const double x : by_row) mean += x / static_cast<double>(by_row.size());
  std::vector<double> sums(groups.count, 0.0);
  for (std::size_t row = 0; row < by_row.size(); ++row) sums[groups.of_row[row]] += by_row[row] - mean;
  return skewness(sums);
}

}  // namespace

CascadeWorth CascadeWorth::unknown() {
  constexpr Interval none{kNone, kNone, kNone};
  return {none, none, none, none, none, none};
}

Interval cross_fitted(const Interval& over_prompts, std::size_t folds) {
  const double k = static_cast<double>(folds), factor = std::sqrt(1.0 + k / (k - 1.0));
  const auto away = [&](double end) { return over_prompts.value + factor * (end - over_prompts.value); };
  return {over_prompts.value, away(over_prompts.low), away(over_prompts.high)};
}

std::vector<double> per_1000(std::vector<double> dollars) {
  for (double& x : dollars) x *= 1000.0;
  return dollars;
}

CascadeWorth worth_of(const Routed& routed, const Routed& model, double price, const PromptGroups& groups,
                      std::size_t folds) {
  const auto of = [&](const Interval& over_prompts) {
    return folds > 1 ? cross_fitted(over_prompts, folds) : over_prompts;
  };
  const std::vector<double> utility = routed.utility(price);
  return {of(mean_over_prompts(routed.quality, groups)),
          of(mean_over_prompts(per_1000(routed.dollars), groups)),
          of(mean_over_prompts(routed.calls, groups)),
          of(mean_over_prompts(utility, groups)),
          of(difference_over_prompts(utility, model.utility(price), groups)),
          of(saving_over_prompts(routed.dollars, model.dollars, groups))};
}

// With D and M the means, 1 - D / M varies as the mean of ((1 - saving) m_i - d_i) / M does.
Interval saving_over_prompts(std::span<const double> dollars, std::span<const double> of_model,
                             const PromptGroups& groups) {
  const double sum = std::accumulate(dollars.begin(), dollars.end(), 0.0),
               model = std::accumulate(of_model.begin(), of_model.end(), 0.0);
  if (!(model > 0.0)) return {kNone, kNone, kNone};
  const double ratio = sum / model, mean = model / static_cast<double>(dollars.size());
  std::vector<double> influence(dollars.size());
  for (std::size_t i = 0; i < influence.size(); ++i) influence[i] = (ratio * of_model[i] - dollars[i]) / mean;
  Interval out = mean_over_prompts(influence, groups);
  const double saving = 1.0 - ratio, shift = saving - out.value;
  return {saving, out.low + shift, out.high + shift};
}

double standard_error(const Interval& interval, const PromptGroups& groups) {
  return (interval.high - interval.value) / student_t(0.975, groups);
}

double confident_bound(const Interval& interval, std::span<const double> by_row, const PromptGroups& groups,
                       bool upper) {
  const double t = student_t(upper ? 0.05 : 0.95, groups);
  return interval.value -
         standard_error(interval, groups) * skewed_quantile(t, skewness_over_prompts(by_row, groups), groups.count);
}

DollarTail dollar_tail(std::span<const double> dollars, const PromptGroups& groups) {
  std::vector<double> sums(groups.count, 0.0);
  for (std::size_t row = 0; row < dollars.size(); ++row) sums[groups.of_row[row]] += dollars[row];
  DollarTail out{skewness_over_prompts(dollars, groups), sums.size(), std::max<std::size_t>(1, sums.size() / 100)};
  std::sort(sums.rbegin(), sums.rend());
  double all = 0.0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    all += sums[i];
    if (i < out.dearest) out.share = all;
  }
  out.share = all > 0.0 ? out.share / all : 0.0;
  out.mean = all / static_cast<double>(dollars.size());
  return out;
}

std::string tail_text(const DollarTail& tail) {
  return fmt::format(
      "the dearest {} of {} prompts carr{} {:.0f}% of the dollars; a skewness of {:.2g} asks for {:.0f} "
      "prompts and more",
      tail.dearest, tail.prompts, tail.dearest == 1 ? "ies" : "y", 100.0 * tail.share, tail.skewness,
      std::ceil(tail.least_prompts()));
}

PromptGroups groups_of(const PromptGroups& groups, std::span<const std::size_t> rows) {
  std::vector<std::size_t> number(groups.count, groups.count);
  PromptGroups out;
  out.of_row.reserve(rows.size());
  for (const std::size_t row : rows) {
    std::size_t& known = number[groups.of_row[row]];
    if (known == groups.count) known = out.count++;
    out.of_row.push_back(known);
  }
  return out;
}

std::string usd_text(const Interval& x) {
  const double size = std::abs(x.value);
  const bool known = size > 0.0 && std::isfinite(size);
  return interval_text(x, known ? std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 2, 9) : 2);
}

std::string share_text(const Interval& x) {
  if (!std::isfinite(x.value)) return "---";
  if (!std::isfinite(x.low)) return fmt::format("{:.1f}%", 100.0 * x.value);  // of a single prompt
  return fmt::format("{:.1f}% [{:.1f}%, {:.1f}%]", 100.0 * x.value, 100.0 * x.low, 100.0 * x.high);
}

std::string saving_text(const Interval& x) {
  if (!std::isfinite(x.value)) return "costs what is not known";
  return x.value >= 0.0 ? fmt::format("saves {} of its dollars", share_text(x))
                        : fmt::format("costs {} more", share_text({-x.value, -x.high, -x.low}));
}

nlohmann::json json_of(const CascadeWorth& worth) {
  return {{"quality", json_of(worth.quality)}, {"usd_per_1000", json_of(worth.usd_per_1000)},
          {"calls", json_of(worth.calls)},     {"utility", json_of(worth.utility)},
          {"gain", json_of(worth.gain)},       {"saving", json_of(worth.saving)}};
}

Interval interval_in(const nlohmann::json& record, const char* name) {
  try {
    return interval_of(record.at(name));
  } catch (const nlohmann::json::exception&) {
    return {kNone, kNone, kNone};
  }
}

CascadeWorth worth_in(const nlohmann::json& record) {
  const auto read = [&](const char* name) { return interval_in(record, name); };
  return {read("quality"), read("usd_per_1000"), read("calls"), read("utility"), read("gain"), read("saving")};
}

double nearest_rank(std::span<const double> sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

double latency_p95(std::vector<double> seconds) {
  std::erase_if(seconds, [](double x) { return std::isnan(x); });
  std::sort(seconds.begin(), seconds.end());
  return seconds.empty() ? NAN : nearest_rank(seconds, 0.95);
}

}  // namespace pandora
