#include "host/cascades/fits/cross_validation.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/ground/base/in_parallel.hpp"

namespace pandora {

// A fit without two folds, judged in these; without one (the same twice) or none (kCascadeFolds), judged on every row.
struct CrossValidation::Task {
  std::size_t folds[2] = {0, 0};
  std::vector<std::size_t> rows;     // that are judged, ascending
  std::vector<Routed> routed;        // of these, by candidate
  std::vector<FixedCascade> orders;  // by candidate
};

Interval JudgedCandidates::fitted(const Interval& over_prompts) const {
  const auto [value, low, high] = cross_fitted(over_prompts, kCascadeFolds);
  return {value, value + narrower * (low - value), value + narrower * (high - value)};
}

CrossValidation::CrossValidation(const TraceTable& table, const CascadeFitSettings& settings)
    : table_(table), settings_(settings), groups_(group_prompts(table)) {
  if (groups_.count < kLeastPrompts)
    table.refuse(fmt::format(
        "has {} different prompt{}: too few to judge a cascade on what it was not fitted on; give a table of at least "
        "{}, better hundreds",
        groups_.count, groups_.count == 1 ? "" : "s", kLeastPrompts));
}

void CrossValidation::judge(const std::vector<CascadeCandidate>& candidates, Task& task) const {
  std::vector<std::size_t> training;
  for (std::size_t row = 0; row < table_.rows(); ++row) {
    const std::size_t fold = groups_.of_row[row] % kCascadeFolds;
    (fold == task.folds[0] || fold == task.folds[1] ? task.rows : training).push_back(row);
  }
  if (task.folds[0] == task.folds[1]) task.rows = all_rows(table_.rows());
  const TrainedTable trained(table_, settings_, std::move(training));
  for (const CascadeCandidate& candidate : candidates) {
    FixedCascade& order = task.orders.emplace_back();
    if (candidate.kind == CascadeKind::indices) {
      Cascade indices = trained.fit_indices(trained.options_of_indices(candidate.price, false));
      task.routed.push_back(run_prompts(indices, trained.input(), task.rows));
    } else {
      order = trained.fit_order(candidate);
      task.routed.push_back(trained.route(order, task.rows));
    }
  }
}

CrossValidated CrossValidation::run(const std::vector<CascadeCandidate>& candidates, bool nested) const {
  std::vector<Task> tasks;
  for (std::size_t f = 0; f < kCascadeFolds; ++f)
    for (std::size_t g = f; g < (nested ? kCascadeFolds : f + 1); ++g) tasks.push_back({{f, g}, {}, {}, {}});
  tasks.push_back({{kCascadeFolds, kCascadeFolds}, {}, {}, {}});
  in_parallel(settings_.threads, tasks.size(), [&](std::size_t i) { judge(candidates, tasks[i]); });
  CrossValidated out;
  for (std::size_t f = 0; nested && f < kCascadeFolds; ++f) {
    std::vector<Routed> by_candidate(candidates.size(), empty_rows(table_.rows()));  // rows of f stay empty
    for (const Task& task : tasks) {
      if (task.folds[0] == task.folds[1] || (task.folds[0] != f && task.folds[1] != f)) continue;
      for (std::size_t c = 0; c < candidates.size(); ++c) put_rows(by_candidate[c], task.routed[c], task.rows);
    }
    const std::vector<std::size_t> rows = rows_outside(f);
    JudgedCandidates& without = out.without.emplace_back();
    without.groups = groups_of(groups_, rows);
    without.narrower = std::sqrt(static_cast<double>(without.groups.count) / static_cast<double>(groups_.count));
    for (const Routed& routed : by_candidate) without.routed.push_back(routed_of(routed, rows));
  }
  out.whole = std::move(tasks.back().routed);
  out.whole_orders = std::move(tasks.back().orders);
  tasks.pop_back();
  for (Task& task : tasks) {
    if (task.folds[0] != task.folds[1]) continue;
    out.orders.push_back(std::move(task.orders));
    out.by_fold.push_back(std::move(task.routed));
  }
  out.all.groups = groups_;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    std::vector<WorthByRow> fits;
    for (const std::vector<Routed>& fold : out.by_fold) fits.emplace_back(fold[c]);
    out.all.routed.push_back(corrected(out.whole[c], fits, groups_));
  }
  return out;
}

WorthByRow corrected(const Routed& whole, const std::vector<WorthByRow>& by_fold, const PromptGroups& groups) {
  const std::size_t rows = groups.of_row.size(), folds = by_fold.size();
  WorthByRow out = whole;
  for (std::vector<double> WorthByRow::*what : {&WorthByRow::quality, &WorthByRow::dollars, &WorthByRow::calls}) {
    std::vector<double> less(rows), mean(folds, 0.0), count(folds, 0.0);
    double all = 0.0;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t fold = groups.of_row[row] % folds;
      for (const WorthByRow& fit : by_fold) less[row] -= (fit.*what)[row] / static_cast<double>(folds);
      less[row] += (by_fold[fold].*what)[row];
      mean[fold] += less[row];
      count[fold] += 1.0;
      all += less[row] / static_cast<double>(rows);
    }
    // That folds have other fits is no scatter of prompts.
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t fold = groups.of_row[row] % folds;
      (out.*what)[row] += less[row] - mean[fold] / count[fold] + all;
    }
  }
  return out;
}

}  // namespace pandora
