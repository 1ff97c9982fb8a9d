// The value of a policy from a log of another one: importance weights, doubly robust estimates, and intervals that know
// of prompts that weigh much.
#pragma once

#include <algorithm>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// How a value is found: of a full table the plain mean; from a log by inverse propensity scores, the same over the
/// sum of the weights, or doubly robust.
enum class Estimator { plugin, ips, snips, dr };
inline constexpr const char* kEstimatorNames[] = {"plugin", "ips", "snips", "dr"};

/// An estimate, and by how much each prompt moves it (jackknifed, of mean 0).
struct Moved {
  double value = 0.0;
  std::vector<double> by_prompt;
  double unseen = 0.0;  ///< a variance beside theirs, of what is rare and heavy: LabelNoise

  Moved plus(const Moved& other, double factor) const;
};

/// sum(numerator) / sum(denominator) over rows.
Moved ratio_over_prompts(std::span<const double> numerator, std::span<const double> denominator,
                         const PromptGroups& groups);
Moved mean_moved(std::span<const double> by_row, const PromptGroups& groups);

/// How sure rarely known qualities make a sum over decisions. A decision of weight w whose answer's quality q becomes known
/// with probability p adds w (q - g) / p to it if it does, where g is the judge's word. Where p is small few decisions
/// carry most of the sum's variance, and where by chance none of them is known the sum seems sure. So its variance is
/// taken for sum(w^2 (1 - p) / p) times the mean of (q - g)^2 over known answers and kPrior more, of the weight that
/// known ones have on average, of which 0.25 is known: as of answers right or wrong of which the judge says half of what
/// can be said.
struct LabelNoise {
  static constexpr double kPrior = 5.0, kPriorResidual = 0.25;
  double expected = 0.0, known = 0.0, residual = 0.0, fourth = 0.0;  ///< sums over decisions

  static LabelNoise of(double weight, double p, bool is_known, double q_less_g);
  LabelNoise& operator+=(const LabelNoise& o);
  LabelNoise minus(const LabelNoise& o) const;
  /// By how much that exceeds what the known ones show; 0 where every p is 1.
  double unseen() const;
};

/// 95%: the union of Student's t with as many degrees of freedom as the kurtosis over prompts leaves (Satterthwaite
/// 1946: 2 G / (kurtosis - 1), at most G - 1), and of Hall's interval (1992), which follows the skewness. On made-up
/// logs it holds the truth in 95.3% on average where Student's t and the cluster bootstrap do in 92.4%
/// (tests/reference/python/coverage.py).
Interval robust_interval(const Moved& moved);

/// What rows of a log say along the calls of a policy. With T steps: the ratio of each step is [the log did what the
/// policy does] / its probability, and 1 once the policy has stopped; forecasts of the outcome before each step, the
/// outcome itself at the end.
struct LoggedPaths {
  std::size_t steps = 0;
  std::vector<double> ratio;     ///< rows x T
  std::vector<double> forecast;  ///< rows x (T + 1); any finite number where nothing was seen

  /// w_T = the product of all ratios.
  std::vector<double> weights() const;
};

/// The mean outcome: IPS mean(w_T y), SNIPS sum(w_T y) / sum(w_T), DR mean(v_0 + sum_t w_t (v_t - v_{t-1})), which is
/// unbiased whatever the forecasts v are (Jiang and Li 2016).
Moved path_estimate(const LoggedPaths& paths, Estimator how, const PromptGroups& groups);

/// Adds to what was seen after each step, rows x (T + 1), the mean of what is yet to come, weighted by w_T and found on
/// the other folds; the last column becomes the outcome.
void forecast_rest(LoggedPaths& paths, std::span<const double> outcome, const std::vector<std::size_t>& folds);

/// What weights say of a log's power to tell.
struct LogSupport {
  double effective_prompts = 0.0;       ///< (sum w)^2 / sum w^2 of prompts' totals, Kish (1965)
  double mean = 0.0, mean_error = 0.0;  ///< of the weights, with a standard error over prompts; should be 1
  std::size_t calls = 0, never = 0;     ///< of the policy for a prompt, at most, and the first that the log never makes
};
LogSupport support_of(std::span<const double> weights, const PromptGroups& groups);
/// Of the weights where the last step is that the answer's quality became known, with probability p: how much could
/// become known counts, not how much did by chance. `before`: the weights without that step.
LogSupport support_of_labels(std::span<const double> before, std::span<const double> p, std::span<const double> weights,
                             const PromptGroups& groups);

inline constexpr double kLeastEffective = 30.0;  ///< prompts

/// Why the weights cannot carry an estimate: no row does what the policy does, or makes one of its calls, fewer than
/// kLeastEffective effective prompts, or weights whose mean is not 1 by more than 3.5 standard errors. "" where they can.
std::string support_fault(const LogSupport& support, const TraceTable& log, const std::string& policy);
/// Throws Error (bad_data) with that.
void require_support(const LogSupport& support, const TraceTable& log, const std::string& policy);
/// Throws Error (bad_data) where a quality is surely above 1, or below 0.
void require_possible(const Interval& quality, const TraceTable& log, const std::string& policy);

}  // namespace pandora
