#include "host/cascades/fits/logged_worth.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "host/outcomes/logs/labels.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// A policy's calls that a decision of the log made too.
struct LoggedWalk {
  std::vector<std::size_t> cells;  // in the order of the calls
  bool left = false;               // whether the policy would have made a call then that the log did not make
  std::size_t deployed = 0;        // a cell; none is known where it left
};

struct MovedPolicy {
  Moved quality, dollars, calls;
  LogSupport support;
};

class LogReader {
 public:
  LogReader(const CascadeOptions& options, const CascadeInput& input, Estimator how, Openings openings)
      : table_(*input.table),
        input_(input),
        how_(how),
        openings_(openings),
        models_(table_.models.size()),
        groups_(group_prompts(table_)),
        folds_(folds_by_appearance(groups_)),
        label_probability_(label_probabilities(table_)),
        worth_(input.shown.begin(), input.shown.end()) {
    const CalibratedEvaluator evaluator(table_, input.evaluator);
    if (evaluator.is_truth() && table_.unlabelled() > 0) (void)with_estimated_quality(table_, "quality");  // refuses
    if (evaluator.is_truth()) {
      guess_ = table_.quality;
    } else {
      std::vector<double> probability = label_probability_;
      for (std::size_t at = 0; at < probability.size(); ++at) probability[at] *= table_.log->propensity[at];
      guess_ =
          cross_fitted_quality(table_, find_score(table_, evaluator_of(input.evaluator)->name), probability, folds_);
    }
    for (std::size_t m = 0; m < options.calibration.size(); ++m)
      for (std::size_t at = input.columns[m]; at < worth_.size(); at += models_)
        if (!std::isnan(worth_[at]))
          worth_[at] = IsotonicMap{options.calibration[m].scores, options.calibration[m].qualities}(worth_[at]);
  }

  LoggedWalk walk_alone(std::size_t row, std::size_t single) const {
    const std::size_t at = row * models_ + single;
    return is_call(at, 0) ? LoggedWalk{{at}, false, at} : LoggedWalk{{}, true, at};
  }

  LoggedWalk walk(Cascade& cascade, std::size_t row) const {
    const std::uint64_t request = cascade.begin(input_.psi_of_row(row));
    LoggedWalk out;
    while (const std::optional<std::size_t> model = cascade.next(request)) {
      const std::size_t at = row * models_ + input_.columns[*model];
      out.left = out.left || !is_call(at, out.cells.size());
      if (!out.left) out.cells.push_back(at);
      // What the log does not tell is not looked at: the request only has to come to an end.
      cascade.observe(
          request, *model,
          out.left ? Observation{0.0, {0.0}} : Observation{table_.cost[at] + input_.judge_usd, {input_.shown[at]}});
    }
    out.deployed = row * models_ + input_.columns[cascade.deploy(request)];
    return out;
  }

  MovedPolicy estimate(const std::vector<LoggedWalk>& walks, double judge_usd) const {
    std::size_t T = 1;
    for (const LoggedWalk& walk : walks) T = std::max(T, walk.cells.size() + (walk.left ? 1 : 0));
    const auto along = [&](auto&& next) { return paths(walks, T, next); };
    MovedPolicy out;
    LoggedPaths dollars = along([&](double sofar, std::size_t at) { return sofar + table_.cost[at] + judge_usd; });
    LoggedPaths calls = along([](double sofar, std::size_t) { return sofar + 1.0; });
    for (LoggedPaths* const of : {&dollars, &calls}) forecast_rest(*of, last_of(*of), folds_);
    out.dollars = path_estimate(dollars, how_, groups_);
    out.calls = path_estimate(calls, how_, groups_);
    const LoggedPaths quality =
        with_labels(walks, along([&](double sofar, std::size_t at) { return std::max(sofar, worth_[at]); }));
    out.quality = path_estimate(quality, how_, groups_);
    out.support = support_of(quality.weights(), groups_);
    return out;
  }

 private:
  bool called(std::size_t at) const { return !std::isnan(table_.log->place[at]); }
  bool is_call(std::size_t at, std::size_t calls_before) const {
    return called(at) &&
           (openings_ == Openings::independent || table_.log->place[at] == static_cast<double>(calls_before + 1));
  }

  // Ratios, and in the place of forecasts what was seen after each call: next(seen before, cell), from 0 on.
  template <class Next>
  LoggedPaths paths(const std::vector<LoggedWalk>& walks, std::size_t T, Next&& next) const {
    LoggedPaths out{T, {}, {}};
    for (const LoggedWalk& walk : walks) {
      double seen = 0.0;
      out.forecast.push_back(seen);
      for (std::size_t t = 0; t < T; ++t) {
        const bool calls = t < walk.cells.size();
        out.ratio.push_back(calls                                 ? 1.0 / table_.log->propensity[walk.cells[t]]
                            : walk.left && t == walk.cells.size() ? 0.0
                                                                  : 1.0);
        out.forecast.push_back(seen = calls ? next(seen, walk.cells[t]) : seen);
      }
    }
    return out;
  }

  static std::vector<double> last_of(const LoggedPaths& paths) {
    std::vector<double> out;
    for (std::size_t at = paths.steps; at < paths.forecast.size(); at += paths.steps + 1)
      out.push_back(paths.forecast[at]);
    return out;
  }

  // That the deployed answer's quality became known is one step more; before it the judge's word stands for it.
  LoggedPaths with_labels(const std::vector<LoggedWalk>& walks, LoggedPaths paths) const {
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

  const TraceTable& table_;
  const CascadeInput& input_;
  const Estimator how_;
  const Openings openings_;
  const std::size_t models_;
  const PromptGroups groups_;
  const std::vector<std::size_t> folds_;
  const std::vector<double> label_probability_;
  std::vector<double> worth_, guess_;  // cells: as the cascade takes them; as calibrated here
};

// A table whose qualities are known in part: scores and dollars tell what is called and deployed in every row.
class HoleReader {
 public:
  HoleReader(const TraceTable& table, const std::string& evaluator, Estimator how)
      : table_(table), how_(how), estimated_(*with_estimated_quality(table, evaluator)), groups_(group_prompts(table)) {
    const std::vector<double> probability = label_probabilities(table);
    for (std::size_t at = 0; at < probability.size(); ++at)
      weight_.push_back(std::isnan(table.quality[at]) ? 0.0 : 1.0 / probability[at]);
  }

  // `run`: what a policy does on a table that differs from this one in its qualities alone.
  template <class Run>
  MovedPolicy estimate(Run&& run) const {
    TraceTable changed = table_;
    changed.quality = weight_;
    const std::vector<double> weights = run(changed).quality;
    const Routed routed = run(estimated_);
    MovedPolicy out{mean_moved(routed.quality, groups_), mean_moved(routed.dollars, groups_),
                    mean_moved(routed.calls, groups_), support_of(weights, groups_)};
    if (how_ == Estimator::dr) return out;
    for (std::size_t at = 0; at < weight_.size(); ++at)
      changed.quality[at] = weight_[at] > 0.0 ? weight_[at] * table_.quality[at] : 0.0;
    const std::vector<double> weighted = run(changed).quality;
    out.quality =
        how_ == Estimator::ips ? mean_moved(weighted, groups_) : ratio_over_prompts(weighted, weights, groups_);
    return out;
  }

 private:
  const TraceTable& table_;
  const Estimator how_;
  const TraceTable estimated_;
  const PromptGroups groups_;
  std::vector<double> weight_;  // of cells: 1 / probability, 0 where the quality is not known
};

// 1 - dollars / dollars of the model, to the first order.
Interval saving_of(const Moved& dollars, const Moved& model) {
  if (!(model.value > 0.0)) return {NAN, NAN, NAN};
  const double ratio = dollars.value / model.value;
  Moved out{0.0, std::vector<double>(dollars.by_prompt.size(), 0.0)};
  out = out.plus(dollars, -1.0 / model.value).plus(model, ratio / model.value);
  out.value = 1.0 - ratio;
  return robust_interval(out);
}

CascadeWorth worth_of(const MovedPolicy& policy, const MovedPolicy& alone, double price) {
  const auto utility = [&](const MovedPolicy& of) { return of.quality.plus(of.dollars, -price); };
  const Moved per_1000 = policy.dollars.plus(policy.dollars, 999.0);
  return {robust_interval(policy.quality),
          robust_interval(per_1000),
          robust_interval(policy.calls),
          robust_interval(utility(policy)),
          robust_interval(utility(policy).plus(utility(alone), -1.0)),
          saving_of(policy.dollars, alone.dollars)};
}

}  // namespace

std::optional<Estimator> parse_estimator(const std::string& text) {
  if (text.empty()) return {};
  for (const Estimator how : {Estimator::plugin, Estimator::ips, Estimator::snips, Estimator::dr})
    if (text == kEstimatorNames[static_cast<int>(how)]) return how;
  throw Error(ExitCode::usage, fmt::format("--estimator {}: unknown; use plugin, ips, snips or dr", text));
}

Openings parse_openings(const std::string& text) {
  if (text != "in_order" && text != "independent")
    throw Error(ExitCode::usage, fmt::format("--openings {}: unknown; use in_order or independent", text));
  return text == "independent" ? Openings::independent : Openings::in_order;
}

bool Identified::has(Estimator how) const {
  return std::find(estimators.begin(), estimators.end(), how) != estimators.end();
}

std::vector<std::string> estimator_names(const Identified& can) {
  std::vector<std::string> out;
  for (const Estimator how : can.estimators) out.emplace_back(kEstimatorNames[static_cast<int>(how)]);
  return out;
}

Identified identified(const TraceTable& table) {
  const std::vector<Estimator> weighted = {Estimator::ips, Estimator::snips, Estimator::dr};
  if (!table.log && table.unlabelled() == 0)
    return {{Estimator::plugin}, {"every answer's quality and cost is known: means say all, and nothing is weighted"}};
  if (!table.log) return {weighted, {"plugin needs every answer's quality; " + label_note(table)}};
  Identified out{weighted, {"plugin needs every model's answer to every prompt, and a log has those that were called"}};
  const std::vector<double>& place = table.log->place;
  if (std::none_of(place.begin(), place.end(), [](double p) { return p > 1.0; }))
    out.reasons.push_back(
        "every decision made one call: policies that make one can be estimated, but not what a second call would bring");
  if (table.unlabelled() > 0 && table.label_propensity.empty())
    out.reasons.push_back(
        "whether a call's quality is known is taken to depend on its model alone; label_propensity says it better");
  return out;
}

Estimator chosen_estimator(const TraceTable& table, std::optional<Estimator> asked) {
  const Identified can = identified(table);
  const Estimator how = asked.value_or(can.best());
  if (can.has(how)) return how;
  throw Error(ExitCode::usage, fmt::format("--estimator {}: not from {}, which identifies {}: {}",
                                           kEstimatorNames[static_cast<int>(how)], table.source,
                                           fmt::join(estimator_names(can), ", "), fmt::join(can.reasons, "; ")));
}

LoggedWorth plain_worth(Cascade& cascade, const CascadeInput& input, std::size_t single) {
  const TraceTable& table = *input.table;
  const PromptGroups groups = group_prompts(table);
  const std::vector<std::size_t> rows = all_rows(table.rows());
  const Outcomes outcomes{table.models.size(), table.quality, table.quality, table.cost};
  const Routed alone = evaluate(outcomes, FixedCascade{{single}, {}}, rows), routed = run_prompts(cascade, input, rows);
  const double price = cascade.options().price;
  return {worth_of(routed, alone, price, groups, 0),
          worth_of(alone, alone, price, groups, 0),
          dollar_tail(routed.dollars, groups),
          static_cast<double>(groups.count),
          {}};
}

LoggedWorth logged_worth(Cascade& cascade, const CascadeInput& input, std::size_t single, Estimator how,
                         Openings openings) {
  const TraceTable& table = *input.table;
  const CascadeOptions& options = cascade.options();
  cascade.set_learning(false);
  MovedPolicy own, alone;
  const Identified can = identified(table);
  LoggedWorth out;
  if (table.log) {
    const LogReader reader(options, input, how, openings);
    std::vector<LoggedWalk> walks, alone_walks;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      walks.push_back(reader.walk(cascade, row));
      alone_walks.push_back(reader.walk_alone(row, single));
    }
    own = reader.estimate(walks, input.judge_usd);
    alone = reader.estimate(alone_walks, 0.0);
    out.notes = can.reasons;
  } else {
    const HoleReader reader(table, input.evaluator, how);
    const std::vector<std::size_t> rows = all_rows(table.rows());
    own = reader.estimate([&](const TraceTable& with) {
      CascadeInput same = input;
      same.table = &with;
      return run_prompts(cascade, same, rows);
    });
    alone = reader.estimate([&](const TraceTable& with) {
      return evaluate(Outcomes{with.models.size(), with.quality, with.quality, with.cost}, FixedCascade{{single}, {}},
                      rows);
    });
    out.notes = {label_note(table)};
  }
  require_support(own.support, table, "the cascade");
  require_support(alone.support, table, table.models[single] + " alone");
  out.worth = worth_of(own, alone, options.price);
  out.alone = worth_of(alone, alone, options.price);
  out.effective_prompts = std::min(own.support.effective_prompts, alone.support.effective_prompts);
  out.notes.push_back(fmt::format("estimated by {} from {:.0f} effective prompts of {}",
                                  kEstimatorNames[static_cast<int>(how)], out.effective_prompts,
                                  own.quality.by_prompt.size()));
  return out;
}

}  // namespace pandora
