#include "host/outcomes/logs/off_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/ground/statistics/statistics.hpp"

namespace pandora {
namespace {

std::vector<double> totals_of(std::span<const double> by_row, const PromptGroups& groups) {
  std::vector<double> out(groups.count, 0.0);
  for (std::size_t row = 0; row < by_row.size(); ++row) out[groups.of_row[row]] += by_row[row];
  return out;
}

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The mean of x^power.
double moment(std::span<const double> values, int power) {
  double sum = 0.0;
  for (const double x : values) sum += std::pow(x, power);
  return sum / static_cast<double>(values.size());
}

double error_of(std::span<const double> moved) {
  const double n = static_cast<double>(moved.size());
  return std::sqrt(moment(moved, 2) / (n - 1.0));
}

}  // namespace

Moved Moved::plus(const Moved& other, double factor) const {
  Moved out = *this;
  out.value += factor * other.value;
  out.unseen += factor * factor * other.unseen;
  for (std::size_t i = 0; i < by_prompt.size(); ++i) out.by_prompt[i] += factor * other.by_prompt[i];
  return out;
}

LabelNoise LabelNoise::of(double weight, double p, bool is_known, double q_less_g) {
  const double second = weight * weight * (1.0 - p) / p, here = is_known ? second / p : 0.0;
  return {second, here, is_known ? here * q_less_g * q_less_g : 0.0, second * second / p};
}

LabelNoise& LabelNoise::operator+=(const LabelNoise& o) {
  expected += o.expected, known += o.known, residual += o.residual, fourth += o.fourth;
  return *this;
}

LabelNoise LabelNoise::minus(const LabelNoise& o) const {
  return {expected - o.expected, known - o.known, residual - o.residual, fourth - o.fourth};
}

double LabelNoise::unseen() const {
  if (!(expected > 0.0)) return 0.0;
  const double prior = kPrior * fourth / expected;
  return std::max(0.0, expected * (residual + prior * kPriorResidual) / (known + prior) - residual);
}

Moved ratio_over_prompts(std::span<const double> numerator, std::span<const double> denominator,
                         const PromptGroups& groups) {
  const std::vector<double> above = totals_of(numerator, groups), below = totals_of(denominator, groups);
  const double all_above = sum_of(above), all_below = sum_of(below);
  Moved out{all_above / all_below, {}};
  double mean = 0.0;
  for (std::size_t i = 0; i < above.size(); ++i) {
    const double rest = all_below - below[i];
    out.by_prompt.push_back(rest > 0.0 ? (all_above - above[i]) / rest : HUGE_VAL);
    mean += out.by_prompt.back() / static_cast<double>(above.size());
  }
  for (double& x : out.by_prompt) x = -(static_cast<double>(above.size()) - 1.0) * (x - mean);
  return out;
}

Moved mean_moved(std::span<const double> by_row, const PromptGroups& groups) {
  return ratio_over_prompts(by_row, std::vector<double>(by_row.size(), 1.0), groups);
}

Interval robust_interval(const Moved& moved) {
  const double n = static_cast<double>(moved.by_prompt.size()), second = moment(moved.by_prompt, 2);
  if (!(n > 1.0)) return {moved.value, NAN, NAN};
  if (second + moved.unseen == 0.0) return {moved.value, moved.value, moved.value};
  const double error = std::hypot(error_of(moved.by_prompt), std::sqrt(moved.unseen)),
               kurtosis = second > 0.0 ? moment(moved.by_prompt, 4) / (second * second) : 1.0;
  const double freedom = std::min(std::max(2.0 * n / std::max(kurtosis - 1.0, 1e-9), 2.0), n - 1.0);
  const double half = student_t_quantile(0.975, std::max(freedom, 1.0)) * error;
  Interval out{moved.value, moved.value - half, moved.value + half};
  const double skew = second > 0.0 ? moment(moved.by_prompt, 3) / std::pow(second, 1.5) : 0.0, root = std::sqrt(n);
  const double a = skew / (3.0 * root), b = skew / (6.0 * root), t = student_t_quantile(0.975, n - 1.0);
  const auto untransformed = [&](double x) {
    return std::abs(a) < 1e-9 ? x : (std::cbrt(1.0 + 3.0 * a * (x - b)) - 1.0) / a;
  };
  out.low = std::min(out.low, moved.value - error * untransformed(t));
  out.high = std::max(out.high, moved.value - error * untransformed(-t));
  return out;
}

std::vector<double> LoggedPaths::weights() const {
  std::vector<double> out(forecast.size() / (steps + 1), 1.0);
  for (std::size_t at = 0; at < ratio.size(); ++at) out[at / steps] *= ratio[at];
  return out;
}

Moved path_estimate(const LoggedPaths& paths, Estimator how, const PromptGroups& groups) {
  const std::size_t T = paths.steps, rows = paths.forecast.size() / (T + 1);
  const std::vector<double> last = paths.weights();
  std::vector<double> of_row(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const double* const v = paths.forecast.data() + row * (T + 1);
    double weight = 1.0;
    of_row[row] = how == Estimator::dr ? v[0] : last[row] * v[T];
    for (std::size_t t = 0; t < T && how == Estimator::dr; ++t) {
      weight *= paths.ratio[row * T + t];
      of_row[row] += weight * (v[t + 1] - v[t]);
    }
  }
  return how == Estimator::snips ? ratio_over_prompts(of_row, last, groups) : mean_moved(of_row, groups);
}

void forecast_rest(LoggedPaths& paths, std::span<const double> outcome, const std::vector<std::size_t>& folds) {
  const std::size_t T = paths.steps, width = T + 1;
  const std::vector<double> last = paths.weights();
  const std::vector<double> seen = paths.forecast;
  const std::size_t count = folds.empty() ? 0 : *std::max_element(folds.begin(), folds.end()) + 1;
  for (std::size_t fold = 0; fold < count; ++fold)
    for (std::size_t t = 0; t < T; ++t) {
      double total = 0.0, rest = 0.0;
      for (std::size_t row = 0; row < last.size(); ++row) {
        if (folds[row] == fold) continue;
        total += last[row];
        rest += last[row] * (outcome[row] - seen[row * width + t]);
      }
      for (std::size_t row = 0; row < last.size() && total > 0.0; ++row)
        if (folds[row] == fold) paths.forecast[row * width + t] += rest / total;
    }
  for (std::size_t row = 0; row < last.size(); ++row) paths.forecast[row * width + T] = outcome[row];
}

LogSupport support_of(std::span<const double> weights, const PromptGroups& groups) {
  const std::vector<double> totals = totals_of(weights, groups),
                            sizes = totals_of(std::vector<double>(weights.size(), 1.0), groups);
  const double n = static_cast<double>(groups.count), second = moment(totals, 2), all = sum_of(totals);
  LogSupport out;
  out.effective_prompts = second > 0.0 ? all * all / (second * n) : 0.0;
  out.mean = all / static_cast<double>(weights.size());
  std::vector<double> moved;
  for (std::size_t i = 0; i < totals.size(); ++i)
    moved.push_back((totals[i] - out.mean * sizes[i]) * n / static_cast<double>(weights.size()));
  // Where by chance few great weights were drawn, their mean and its error are small together; the mean is to be 1.
  out.mean_error = error_of(moved) / std::sqrt(std::clamp(out.mean, 1e-3, 1.0));
  return out;
}

LogSupport support_of_labels(std::span<const double> before, std::span<const double> p, std::span<const double> weights,
                             const PromptGroups& groups) {
  LogSupport out = support_of(before, groups);
  double second = 0.0, noise = 0.0;
  for (std::size_t row = 0; row < before.size(); ++row) {
    second += before[row] * before[row] / p[row];
    noise += before[row] * before[row] * (1.0 / p[row] - 1.0);
  }
  const double n = static_cast<double>(before.size()), all = sum_of(before);
  if (second > 0.0) out.effective_prompts = std::min(out.effective_prompts, all * all / second);
  out.mean = sum_of(weights) / n;
  out.mean_error = std::hypot(out.mean_error, std::sqrt(noise) / n);
  return out;
}

std::string support_fault(const LogSupport& support, const TraceTable& log, const std::string& policy) {
  if (support.effective_prompts == 0.0)
    return fmt::format("no decision calls what {} calls: the log cannot tell", policy);
  if (support.never > 0)
    return fmt::format(
        "{} makes up to {} calls for a prompt, and no decision of the log makes its call number {}: the log cannot tell; "
        "--openings apart takes models' answers to be independent",
        policy, support.calls, support.never);
  if (support.effective_prompts < kLeastEffective)
    return fmt::format(
        "{:.1f} effective prompts do what {} does, too few for an interval; {:.0f} are needed: log more decisions, or "
        "explore more",
        support.effective_prompts, policy, kLeastEffective);
  if (std::abs(support.mean - 1.0) > 3.5 * support.mean_error + 1e-9)
    return fmt::format(
        "the weights of {} have the mean {:.3f} and not 1: {}", policy, support.mean,
        log.log ? "propensities are wrong, it makes calls that the log never makes, or each model was called "
                  "by a toss of its own (--openings independent)"
                : "label_propensity is not the probability with which qualities became known");
  return "";
}

void require_possible(const Interval& quality, const TraceTable& log, const std::string& policy) {
  if (quality.low > 1.0 || quality.high < 0.0)
    log.refuse(
        "says that the quality of {} is {:.3f} [{:.3f}, {:.3f}]: answers whose quality is known are not like the others; "
        "feedback must come as often for good answers as for bad ones",
        policy, quality.value, quality.low, quality.high);
}

void require_support(const LogSupport& support, const TraceTable& log, const std::string& policy) {
  if (const std::string fault = support_fault(support, log, policy); !fault.empty()) log.refuse("{}", fault);
}

}  // namespace pandora
