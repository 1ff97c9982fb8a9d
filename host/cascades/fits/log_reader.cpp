#include "host/cascades/fits/log_reader.hpp"

#include <algorithm>
#include <cmath>

#include "host/outcomes/logs/labels.hpp"

namespace pandora {
namespace {

std::vector<double> last_of(const LoggedPaths& paths) {
  std::vector<double> out;
  for (std::size_t at = paths.steps; at < paths.forecast.size(); at += paths.steps + 1)
    out.push_back(paths.forecast[at]);
  return out;
}

// 1 - dollars / dollars of the model, to the first order.
Interval saving_of(const Moved& dollars, const Moved& model) {
  if (!(model.value > 0.0)) return {NAN, NAN, NAN};
  const double ratio = dollars.value / model.value;
  Moved out{0.0, std::vector<double>(dollars.by_prompt.size(), 0.0)};
  out = out.plus(dollars, -1.0 / model.value).plus(model, ratio / model.value);
  out.value = 1.0 - ratio;
  return robust_interval(out);
}

}  // namespace

LogReader::LogReader(const CascadeOptions& options, const CascadeInput& input, Estimator how, Openings openings)
    : table_(*input.table),
      input_(input),
      how_(how),
      openings_(openings),
      models_(table_.models.size()),
      groups_(group_prompts(table_)),
      folds_(folds_by_appearance(groups_)),
      label_probability_(label_probabilities(table_)),
      worth_(input.shown.begin(), input.shown.end()) {
  const bool is_truth = input.evaluator == "quality";
  if (std::ranges::all_of(table_.quality, [](double q) { return std::isnan(q); }))
    table_.refuse("knows no call's quality; give that of some calls");
  if (is_truth && table_.unlabelled() > 0) (void)with_estimated_quality(table_, "quality");  // refuses
  std::vector<double> probability = label_probability_;
  for (std::size_t at = 0; at < probability.size(); ++at) probability[at] *= table_.log->propensity[at];
  guess_ =
      is_truth ? table_.quality : cross_fitted_quality(table_, judge_of(table_, input.evaluator), probability, folds_);
  if (worth_.empty()) worth_ = guess_;  // of a cascade that sees nothing
  for (std::size_t m = 0; m < options.calibration.size(); ++m) {
    const IsotonicMap calibrated{options.calibration[m].scores, options.calibration[m].qualities};
    for (std::size_t at = input.columns[m]; at < worth_.size(); at += models_)
      if (!std::isnan(worth_[at])) worth_[at] = calibrated(worth_[at]);
  }
  std::size_t told = 0;
  double sum = 0.0, squares = 0.0;
  for (std::size_t row = 0; row < table_.rows() && !table_.log->by_rules.empty(); ++row) {
    const double* const of_row = table_.log->by_rules.data() + row * models_;
    const double* const found = std::find_if_not(of_row, of_row + models_, [](double p) { return std::isnan(p); });
    if (found == of_row + models_) break;
    const double weight = *found > 0.0 ? 1.0 / *found : 0.0;
    running_.push_back({row * models_ + static_cast<std::size_t>(found - of_row), weight});
    told += !std::isnan(table_.quality[running_.back().deployed]);
    sum += weight, squares += weight * weight;
  }
  if (running_.size() < table_.rows() || told == 0 || sum * sum < kLeastEffective * squares) running_.clear();
  told_ = static_cast<double>(told) / static_cast<double>(table_.rows());
}

double LogReader::running_quality(std::size_t row) const {
  const std::size_t at = running_[row].deployed;
  return guess_[at] + (std::isnan(table_.quality[at]) ? 0.0 : (table_.quality[at] - guess_[at]) / told_);
}

double LogReader::running_usd(std::size_t row) const {
  double usd = 0.0;
  for (std::size_t at = row * models_; at < (row + 1) * models_; ++at)
    if (!std::isnan(table_.log->place[at])) usd += table_.cost[at] + input_.judge_usd;
  return usd;
}

MovedPolicy LogReader::estimate_running() const {
  std::vector<double> weight, quality, dollars, calls;
  for (std::size_t row = 0; row < table_.rows(); ++row) {
    const auto of_row = table_.log->place.begin() + static_cast<long>(row * models_);
    const double w = running_weight(row);
    weight.push_back(w);
    quality.push_back(w * running_quality(row));
    dollars.push_back(w * running_usd(row));
    calls.push_back(w * static_cast<double>(std::count_if(of_row, of_row + static_cast<long>(models_),
                                                          [](double place) { return !std::isnan(place); })));
  }
  return {ratio_over_prompts(quality, weight, groups_), ratio_over_prompts(dollars, weight, groups_),
          ratio_over_prompts(calls, weight, groups_), support_of(weight, groups_)};
}

double LogReader::ratio(std::size_t cell, std::size_t calls_before) const {
  return is_call(cell, calls_before) ? 1.0 / table_.log->propensity[cell] : 0.0;
}

double LogReader::estimated_quality(std::size_t cell) const {
  if (std::isnan(table_.quality[cell])) return guess_[cell];
  return guess_[cell] + (table_.quality[cell] - guess_[cell]) / label_probability_[cell];
}

LoggedWalk LogReader::walk_alone(std::size_t row, std::size_t single) const {
  const std::size_t at = row * models_ + single;
  return is_call(at, 0) ? LoggedWalk{{at}, false, at, 0.0} : LoggedWalk{{}, true, at, 0.0};
}

LoggedWalk LogReader::walk(Cascade& cascade, std::size_t row) const {
  const std::uint64_t request = cascade.begin(input_.psi_of_row(row));
  const bool judged = cascade.needs_score(request);
  LoggedWalk out;
  out.judge_usd = judged ? input_.judge_usd : 0.0;
  while (const std::optional<std::size_t> model = cascade.next(request)) {
    const std::size_t at = row * models_ + input_.columns[*model];
    out.left = out.left || !is_call(at, out.cells.size());
    if (!out.left) out.cells.push_back(at);
    // What the log does not tell is not looked at: the request only has to come to an end.
    const double usd = out.left ? 0.0 : table_.cost[at] + out.judge_usd,
                 score = out.left || input_.shown.empty() ? 0.0 : input_.shown[at];
    cascade.observe(request, *model, {usd, judged ? std::vector{score} : std::vector<double>()});
  }
  out.deployed = row * models_ + input_.columns[cascade.deploy(request)];
  return out;
}

// Ratios, and in the place of forecasts what was seen after each call: next(seen before, cell, judge's dollars), from 0 on.
template <class Next>
LoggedPaths LogReader::paths(const std::vector<LoggedWalk>& walks, std::size_t T, Next&& next) const {
  LoggedPaths out{T, {}, {}};
  for (const LoggedWalk& walk : walks) {
    double seen = 0.0;
    out.forecast.push_back(seen);
    for (std::size_t t = 0; t < T; ++t) {
      const bool calls = t < walk.cells.size();
      out.ratio.push_back(calls                                 ? 1.0 / table_.log->propensity[walk.cells[t]]
                          : walk.left && t == walk.cells.size() ? 0.0
                                                                : 1.0);
      out.forecast.push_back(seen = calls ? next(seen, walk.cells[t], walk.judge_usd) : seen);
    }
  }
  return out;
}

// That the deployed answer's quality became known is one step more; before it the judge's word stands for it.
LoggedPaths LogReader::with_labels(const std::vector<LoggedWalk>& walks, LoggedPaths paths) const {
  std::vector<double> guess;
  for (const LoggedWalk& walk : walks) guess.push_back(walk.left ? 0.0 : guess_[walk.deployed]);
  forecast_rest(paths, guess, folds_);
  LoggedPaths out{paths.steps + 1, {}, {}};
  for (std::size_t row = 0; row < walks.size(); ++row) {
    const auto of = [&](const std::vector<double>& all, std::size_t width) {
      return all.begin() + static_cast<long>(row * width);
    };
    out.ratio.insert(out.ratio.end(), of(paths.ratio, paths.steps),
                     of(paths.ratio, paths.steps) + static_cast<long>(paths.steps));
    out.forecast.insert(out.forecast.end(), of(paths.forecast, paths.steps + 1),
                        of(paths.forecast, paths.steps + 1) + static_cast<long>(paths.steps + 1));
    const std::size_t at = walks[row].deployed;
    const bool known = !walks[row].left && !std::isnan(table_.quality[at]);
    out.ratio.push_back(walks[row].left ? 1.0 : known ? 1.0 / label_probability_[at] : 0.0);
    out.forecast.push_back(known ? table_.quality[at] : guess[row]);
  }
  return out;
}

// Whether the log makes no call number t + 1 of the policy's, and that is no chance: it never makes so many calls, or the
// policy makes this one in several decisions.
bool LogReader::is_never_made(const std::vector<LoggedWalk>& walks, std::size_t t) const {
  constexpr std::size_t kSeveral = 5;
  std::size_t wanted = 0;
  for (const LoggedWalk& walk : walks) {
    if (t < walk.cells.size()) return false;
    wanted += walk.left && t == walk.cells.size();
  }
  return wanted >= kSeveral || (wanted > 0 && t > 0 && !has_second_calls(table_));
}

MovedPolicy LogReader::estimate(const std::vector<LoggedWalk>& walks, bool chosen) const {
  std::size_t T = 1;
  for (const LoggedWalk& walk : walks) T = std::max(T, walk.cells.size() + (walk.left ? 1 : 0));
  const auto along = [&](auto&& next) { return paths(walks, T, next); };
  MovedPolicy out;
  LoggedPaths dollars =
      along([&](double sofar, std::size_t at, double judge) { return sofar + table_.cost[at] + judge; });
  LoggedPaths calls = along([](double sofar, std::size_t, double) { return sofar + 1.0; });
  for (LoggedPaths* const of : {&dollars, &calls}) forecast_rest(*of, last_of(*of), folds_);
  out.dollars = path_estimate(dollars, how_, groups_);
  out.calls = path_estimate(calls, how_, groups_);
  const LoggedPaths quality =
      with_labels(walks, along([&](double sofar, std::size_t at, double) { return std::max(sofar, worth_[at]); }));
  out.quality = path_estimate(quality, how_, groups_);
  const std::vector<double> before = calls.weights();
  std::vector<double> p;
  LabelNoise noise;
  for (std::size_t row = 0; row < walks.size(); ++row) {
    p.push_back(walks[row].left ? 1.0 : label_probability_[walks[row].deployed]);
    if (before[row] > 0.0) noise += label_noise(walks[row].deployed, before[row]);
  }
  const double rows = static_cast<double>(walks.size());
  if (chosen) out.quality.unseen = noise.unseen() / (rows * rows);
  out.support = support_of_labels(before, p, quality.weights(), groups_);
  out.support.calls = T;
  for (std::size_t t = T; t-- > 0;)
    if (is_never_made(walks, t)) out.support.never = t + 1;
  return out;
}

CascadeWorth worth_of(const MovedPolicy& policy, const MovedPolicy& alone, double price) {
  const Moved per_1000 = policy.dollars.plus(policy.dollars, 999.0);
  const auto at_most_1 = [](Interval x) { return Interval{x.value, x.low, std::max(x.value, std::min(x.high, 1.0))}; };
  Interval quality = at_most_1(robust_interval(policy.quality));
  quality.low = std::min(quality.value, std::max(quality.low, 0.0));
  return {quality,
          robust_interval(per_1000),
          robust_interval(policy.calls),
          at_most_1(robust_interval(policy.utility(price))),
          robust_interval(policy.utility(price).plus(alone.utility(price), -1.0)),
          saving_of(policy.dollars, alone.dollars)};
}

}  // namespace pandora
