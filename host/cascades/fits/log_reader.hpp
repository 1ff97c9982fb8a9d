// A log of decisions as a policy walks through it, and what it says of the policy's outcomes.
#pragma once

#include <cmath>

#include "host/cascades/fits/logged_worth.hpp"

namespace pandora {

/// Standard errors less than its mean, for which what a log says is taken where the best of many is looked for.
inline constexpr double kLogCaution = 2.0;

/// A policy's calls that a decision of the log made too.
struct LoggedWalk {
  std::vector<std::size_t> cells = {};  ///< in the order of the calls
  bool left = false;                    ///< whether the policy would have made a call then that the log did not make
  std::size_t deployed = 0;             ///< a cell; none is known where it left
  double judge_usd = 0.0;               ///< added to the dollars of each call
};

struct MovedPolicy {
  Moved quality, dollars, calls;
  LogSupport support;

  Moved utility(double price) const { return quality.plus(dollars, -price); }
};

class LogReader {
 public:
  /// `options`: whose calibration forecasts; `input` must outlive this. Throws Error (usage) for the evaluator
  /// "quality" where a call's quality is not known.
  LogReader(const CascadeOptions& options, const CascadeInput& input, Estimator how, Openings openings);

  const PromptGroups& groups() const { return groups_; }
  const std::vector<std::size_t>& folds() const { return folds_; }
  /// 1 / propensity of a call that a policy would make after `calls_before` others; 0 where the log did not make it.
  double ratio(std::size_t cell, std::size_t calls_before) const;
  /// g + L (q - g) / p of a call: the judge's word, corrected where its quality is known.
  double estimated_quality(std::size_t cell) const;
  LabelNoise label_noise(std::size_t cell, double weight) const {
    const double less = table_.quality[cell] - guess_[cell];
    return LabelNoise::of(weight, label_probability_[cell], !std::isnan(less), less);
  }
  /// 1 / (propensity x label_propensity).
  double label_weight(std::size_t cell) const {
    return 1.0 / (table_.log->propensity[cell] * label_probability_[cell]);
  }

  LoggedWalk walk_alone(std::size_t row, std::size_t single) const;
  /// Of a cascade that learns nothing meanwhile.
  LoggedWalk walk(Cascade& cascade, std::size_t row) const;
  /// Of a walk for every row. `chosen`: of policies that were chosen for what a log says of them, so that what it does not
  /// show counts (LabelNoise).
  MovedPolicy estimate(const std::vector<LoggedWalk>& walks, bool chosen) const;

  /// Whether the log says which decisions went by the rules alone, and enough did. What the rules that made it bring, without
  /// exploring, is the mean over these of running_quality() and running_usd(), with running_weight() (0 of others).
  bool knows_running() const { return !running_.empty(); }
  double running_weight(std::size_t row) const { return running_[row].weight; }
  double running_quality(std::size_t row) const;
  double running_usd(std::size_t row) const;
  MovedPolicy estimate_running() const;

 private:
  template <class Next>
  LoggedPaths paths(const std::vector<LoggedWalk>& walks, std::size_t T, Next&& next) const;
  bool is_never_made(const std::vector<LoggedWalk>& walks, std::size_t t) const;
  LoggedPaths with_labels(const std::vector<LoggedWalk>& walks, LoggedPaths paths) const;
  bool is_call(std::size_t at, std::size_t calls_before) const {
    return !std::isnan(table_.log->place[at]) &&
           (openings_ != Openings::in_order || table_.log->place[at] == static_cast<double>(calls_before + 1));
  }

  const TraceTable& table_;
  const CascadeInput& input_;
  const Estimator how_;
  const Openings openings_;
  const std::size_t models_;
  const PromptGroups groups_;
  const std::vector<std::size_t> folds_;
  const std::vector<double> label_probability_;
  struct Running {
    std::size_t deployed = 0;  // cell
    double weight = 0.0;
  };
  std::vector<Running> running_;       // by row; empty where the log does not say
  double told_ = 1.0;                  // share of decisions whose deployed answer's quality is known
  std::vector<double> worth_, guess_;  // cells: as the cascade takes them; as calibrated here
};

/// Of a policy beside one model alone, with robust_interval().
CascadeWorth worth_of(const MovedPolicy& policy, const MovedPolicy& alone, double price);

}  // namespace pandora
