// What routing can pay on a table: the best single model, Weitzman's index policy, the best fixed cascade and a bound,
// each judged on prompts that it was not fitted on.
#include <fmt/format.h>

#include "host/cascades/fits/trace_check.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"
#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// What the policies fitted on other rows do, by row.
struct JudgedPolicies {
  Routed single, cascade, index;
};

// In each fold the policy that was better in the others.
std::vector<double> better_of(const std::vector<double>& a, const std::vector<double>& b, const PromptGroups& groups,
                              std::size_t folds) {
  std::vector<double> lead(folds, 0.0);  // of a, by fold
  double total = 0.0;
  for (std::size_t row = 0; row < a.size(); ++row) {
    lead[groups.of_row[row] % folds] += a[row] - b[row];
    total += a[row] - b[row];
  }
  std::vector<double> out = a;
  for (std::size_t row = 0; row < a.size(); ++row)
    if (!(total - lead[groups.of_row[row] % folds] > 0.0)) out[row] = b[row];
  return out;
}

void conclude(Headroom& out, const JudgedPolicies& judged, const Outcomes& outcomes, const PromptGroups& groups) {
  const std::size_t folds = out.fold_fits.size();
  const std::vector<std::size_t> rows = all_rows(outcomes.rows());
  const auto worth = [&](const Routed& routed) {
    CascadeWorth of_policy = worth_of(routed, judged.single, out.price, groups, 0);
    of_policy.gain = cross_fitted(of_policy.gain, folds);
    return of_policy;
  };
  out.best_single = worth(judged.single);
  out.fixed_cascade = worth(judged.cascade);
  out.index_policy = worth(judged.index);
  out.bound = worth(best_answers(outcomes, out.price, rows));
  const Routed in_hindsight = evaluate(outcomes, FixedCascade{{out.fitted.single}, {}}, rows);
  out.single_in_hindsight = mean_over_prompts(in_hindsight.utility(out.price), groups);
  out.by_cascade = out.fixed_cascade.utility.value > out.index_policy.utility.value;
  const std::vector<double> better =
      better_of(judged.cascade.utility(out.price), judged.index.utility(out.price), groups, folds);
  out.routing_gain = cross_fitted(difference_over_prompts(better, judged.single.utility(out.price), groups), folds);
}

}  // namespace

std::vector<Headroom> measure_headroom(const TraceTable& table, const std::string& evaluator,
                                       const std::vector<double>& prices) {
  for (const double price : prices)
    if (!(price >= 0.0 && price <= kMostPrice))
      throw Error(
          ExitCode::usage,
          fmt::format("price {:g}: out of range; give utility per dollar, a number from 0 to 1e9, such as 5", price));
  require_content(table);
  const CalibratedEvaluator shown(table, evaluator);
  const PromptGroups groups = group_prompts(table);
  if (groups.count < 2)
    table.refuse(
        "has {} prompt{}: nothing is left to judge on what is fitted on others; give a table of "
        "at least 2 different prompts, better hundreds",
        groups.count, groups.count == 1 ? "" : "s");
  const std::size_t folds = std::min(kHeadroomFolds, groups.count);
  const Routed room = empty_rows(table.rows());
  std::vector<JudgedPolicies> judged(prices.size(), {room, room, room});
  std::vector<Headroom> out(prices.size());
  for (Headroom& headroom : out) headroom.fold_fits.resize(folds);
  const auto judge = [&](std::size_t fold) {  // folds touch different rows; the last one is the fit on all of them
    const Fold rows = fold < folds ? fold_of(groups, fold, folds) : Fold{{}, all_rows(table.rows())};
    const std::vector<double> seen = shown.seen(shown.calibrate(rows.training));
    const Outcomes outcomes = shown.outcomes(seen);
    for (std::size_t p = 0; p < prices.size(); ++p) {
      FittedPolicies& fitted = fold < folds ? out[p].fold_fits[fold] : out[p].fitted;
      fitted = {best_single_model(outcomes, prices[p], rows.training),
                fit_fixed_cascade(outcomes, prices[p], rows.training),
                fit_model_indices(outcomes, prices[p], rows.training)};
      const auto put = [&](Routed& all, const auto& policy) {
        put_rows(all, evaluate(outcomes, policy, rows.held_out), rows.held_out);
      };
      put(judged[p].single, FixedCascade{{fitted.single}, {}});
      put(judged[p].cascade, fitted.cascade);
      put(judged[p].index, fitted.index);
    }
  };
  constexpr std::size_t kWorthThreads = 100'000;  // answers; small tables are not worth threads
  in_parallel(table.quality.size() < kWorthThreads ? 1 : 0, folds + 1, judge);
  for (std::size_t p = 0; p < prices.size(); ++p) {
    out[p].price = prices[p];
    conclude(out[p], judged[p], shown.outcomes(table.quality), groups);
  }
  return out;
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
