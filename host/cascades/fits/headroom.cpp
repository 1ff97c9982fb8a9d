#include "host/cascades/fits/headroom.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/ground/base/in_parallel.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"
#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "host/outcomes/routing/routing.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// What the policies fitted on other rows do, by row.
struct JudgedPolicies {
  Routed single, cascade, index;
};

FittedPolicies fit(const Outcomes& outcomes, double price, const std::vector<std::size_t>& rows) {
  return {best_single_model(outcomes, price, rows), fit_fixed_cascade(outcomes, price, rows),
          fit_model_indices(outcomes, price, rows)};
}

// The folds fitted and judged, for all prices.
class CrossFitting {
 public:
  CrossFitting(const TraceTable& table, const std::string& evaluator, const std::vector<double>& prices)
      : table_(table), evaluator_(table, evaluator), prices_(prices), groups_(group_prompts(table)) {
    if (groups_.count < 2)
      table.refuse(
          fmt::format("has {} prompt{}: nothing is left to judge on what is fitted on others; give a table of "
                      "at least 2 different prompts, better hundreds",
                      groups_.count, groups_.count == 1 ? "" : "s"));
    folds_ = std::min(kHeadroomFolds, groups_.count);
    const std::size_t rows = table.rows();
    judged_.assign(prices.size(), {empty_rows(rows), empty_rows(rows), empty_rows(rows)});
    out_.resize(prices.size());
    for (Headroom& headroom : out_) headroom.fold_fits.resize(folds_);
  }

  std::vector<Headroom> run() {
    // Folds touch different rows; the last task is the fit on all of them. Small tables are not worth threads.
    constexpr std::size_t kWorthThreads = 100'000;  // answers
    in_parallel(table_.quality.size() < kWorthThreads ? 1 : 0, folds_ + 1,
                [this](std::size_t fold) { fold < folds_ ? judge_fold(fold) : fit_all(); });
    for (std::size_t p = 0; p < prices_.size(); ++p) conclude(p);
    return std::move(out_);
  }

 private:
  void judge_fold(std::size_t fold) {
    const Fold rows = fold_of(groups_, fold, folds_);
    const std::vector<double> seen = evaluator_.seen(evaluator_.calibrate(rows.training));
    const Outcomes outcomes = evaluator_.outcomes(seen);
    for (std::size_t p = 0; p < prices_.size(); ++p) {
      const FittedPolicies fitted = fit(outcomes, prices_[p], rows.training);
      const auto judge = [&](Routed& all, const auto& policy) {
        put_rows(all, evaluate(outcomes, policy, rows.held_out), rows.held_out);
      };
      judge(judged_[p].single, FixedCascade{{fitted.single}, {}});
      judge(judged_[p].cascade, fitted.cascade);
      judge(judged_[p].index, fitted.index);
      out_[p].fold_fits[fold] = fitted;
    }
  }

  void fit_all() {
    const std::vector<std::size_t> rows = all_rows(table_.rows());
    const std::vector<double> seen = evaluator_.seen(evaluator_.calibrate(rows));
    for (std::size_t p = 0; p < prices_.size(); ++p) out_[p].fitted = fit(evaluator_.outcomes(seen), prices_[p], rows);
  }

  void conclude(std::size_t p) {
    const double price = prices_[p];
    const std::vector<std::size_t> rows = all_rows(table_.rows());
    const Outcomes outcomes = evaluator_.outcomes(table_.quality);
    Headroom& out = out_[p];
    out.price = price;
    const auto worth = [&](const Routed& routed) {
      CascadeWorth of_policy = worth_of(routed, judged_[p].single, price, groups_, 0);
      of_policy.gain = cross_fitted(of_policy.gain, folds_);
      return of_policy;
    };
    out.best_single = worth(judged_[p].single);
    out.fixed_cascade = worth(judged_[p].cascade);
    out.index_policy = worth(judged_[p].index);
    out.bound = worth(best_answers(outcomes, price, rows));
    out.single_in_hindsight =
        mean_over_prompts(evaluate(outcomes, FixedCascade{{out.fitted.single}, {}}, rows).utility(price), groups_);
    out.by_cascade = out.fixed_cascade.utility.value > out.index_policy.utility.value;
    out.routing_gain = cross_fitted(
        difference_over_prompts(better_of(judged_[p].cascade.utility(price), judged_[p].index.utility(price)),
                                judged_[p].single.utility(price), groups_),
        folds_);
  }

  // In each fold the policy that was better in the others.
  std::vector<double> better_of(const std::vector<double>& a, const std::vector<double>& b) const {
    std::vector<double> lead(folds_, 0.0);  // of a, by fold
    double total = 0.0;
    for (std::size_t row = 0; row < a.size(); ++row) {
      lead[groups_.of_row[row] % folds_] += a[row] - b[row];
      total += a[row] - b[row];
    }
    std::vector<double> out = a;
    for (std::size_t row = 0; row < a.size(); ++row)
      if (!(total - lead[groups_.of_row[row] % folds_] > 0.0)) out[row] = b[row];
    return out;
  }

  const TraceTable& table_;
  const CalibratedEvaluator evaluator_;
  const std::vector<double>& prices_;
  const PromptGroups groups_;
  std::size_t folds_ = 0;
  std::vector<JudgedPolicies> judged_;  // by price
  std::vector<Headroom> out_;
};

}  // namespace

std::vector<Headroom> measure_headroom(const TraceTable& table, const std::string& evaluator,
                                       const std::vector<double>& prices) {
  for (const double price : prices)
    if (!(price >= 0.0 && price <= kMostPrice))
      throw Error(
          ExitCode::usage,
          fmt::format("price {:g}: out of range; give utility per dollar, a number from 0 to 1e9, such as 5", price));
  require_content(table);
  return CrossFitting(table, evaluator, prices).run();
}

std::string verdict(const Headroom& headroom, const TraceTable& table, const std::string& evaluator) {
  const std::string& single = table.models[headroom.fitted.single];
  const char* const policy = headroom.by_cascade ? "the fixed cascade" : "the index policy";
  if (headroom.pays())
    return fmt::format(
        "routing can pay up to {:.4f} in utility per prompt at price {:g}: so much is the bound above {}; {} gains {} "
        "with this evaluator ({})",
        headroom.bound.gain.value, headroom.price, single, policy, interval_text(headroom.routing_gain, 4), evaluator);
  return fmt::format(
      "no cascade is better than {} with this evaluator ({}) at price {:g}: {} gains {} in utility per prompt, and the "
      "bound is {:.4f} above",
      single, evaluator, headroom.price, policy, interval_text(headroom.routing_gain, 4), headroom.bound.gain.value);
}

}  // namespace pandora
