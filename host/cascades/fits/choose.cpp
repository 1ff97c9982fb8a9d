#include "host/cascades/fits/choose.hpp"

#include <cmath>
#include <numeric>

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
    table.refuse(
        "has {} different prompt{}: too few to judge a cascade on what it was not fitted on; give a table of at least "
        "{}, better hundreds",
        groups_.count, groups_.count == 1 ? "" : "s", kLeastPrompts);
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

namespace {

class Choosing {
 public:
  Choosing(const std::vector<CascadeCandidate>& candidates, const JudgedCandidates& judged, const CascadeAim& aim)
      : candidates_(candidates), judged_(judged), aim_(aim) {}

  CascadeChoice run() const {
    CascadeChoice out;
    out.single = pick_single();
    out.thresholds = pick_in_sequence(CascadeKind::thresholds);
    out.indices = pick_in_sequence(CascadeKind::indices);
    choose_cascade(out);
    const PickedCandidate& cascade = out.of(out.cascade);
    out.gain = judged_.fitted(difference(cascade.candidate, out.single->candidate));
    decide(out, aim_);
    return out;
  }

 private:
  PickedCandidate judged(std::size_t c) const {
    if (!aim_.is_bound()) return {c};
    const bool dollars = aim_.is_on_dollars();
    const std::vector<double>& by_row = dollars ? judged_.routed[c].dollars : judged_.routed[c].quality;
    const Interval over_prompts = mean_over_prompts(by_row, judged_.groups);
    // Nothing is fitted where a model is named.
    const bool fitted = candidates_[c].kind != CascadeKind::single;
    const double reached = (dollars ? upper_bound : lower_bound)(fitted ? judged_.fitted(over_prompts) : over_prompts,
                                                                 by_row, judged_.groups);
    return {c, dollars ? reached <= aim_.value : reached >= aim_.value, reached};
  }

  std::optional<PickedCandidate> pick_in_sequence(CascadeKind kind) const {
    std::optional<PickedCandidate> out;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if (candidates_[c].kind != kind) continue;
      const PickedCandidate now = judged(c);
      if (!out || now.met) out = now;
      if (!now.met) break;
    }
    return out;
  }

  double worth(std::size_t c) const {
    const std::vector<double> by_row = worth_by_row(judged_.routed[c], aim_, candidates_[c].price);
    return std::accumulate(by_row.begin(), by_row.end(), 0.0) / static_cast<double>(by_row.size());
  }

  // The most valuable one that keeps the bound; else the one that comes nearest to it. Means of the same models differ
  // by much more than their errors, so that no sequence is needed.
  std::optional<PickedCandidate> pick_single() const {
    std::optional<PickedCandidate> out;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if (candidates_[c].kind != CascadeKind::single) continue;
      const PickedCandidate now = judged(c);
      const auto better = [&] {
        if (now.met != out->met) return now.met;
        if (now.met) return worth(c) > worth(out->candidate);
        return aim_.is_on_dollars() ? now.bound < out->bound : now.bound > out->bound;
      };
      if (!out || better()) out = now;
    }
    return out;
  }

  Interval difference(std::size_t a, std::size_t b) const {
    // Under a price, at the same price.
    return difference_over_prompts(worth_by_row(judged_.routed[a], aim_, candidates_[a].price),
                                   worth_by_row(judged_.routed[b], aim_, candidates_[a].price), judged_.groups);
  }

  void choose_cascade(CascadeChoice& out) const {
    out.cascade = out.thresholds ? CascadeKind::thresholds : CascadeKind::indices;
    if (!out.thresholds || !out.indices) return;
    out.compared = true;
    out.difference = judged_.fitted(difference(out.indices->candidate, out.thresholds->candidate));
    out.difference_error = standard_error(out.difference, judged_.groups);
    if (out.indices->met == out.thresholds->met ? out.difference.value > out.difference_error : out.indices->met)
      out.cascade = CascadeKind::indices;
  }

  const std::vector<CascadeCandidate>& candidates_;
  const JudgedCandidates& judged_;
  const CascadeAim& aim_;
};

}  // namespace

const PickedCandidate& CascadeChoice::of(CascadeKind which) const {
  return which == CascadeKind::single ? *single : which == CascadeKind::thresholds ? *thresholds : *indices;
}

std::vector<double> worth_by_row(const WorthByRow& routed, const CascadeAim& aim, double price) {
  if (aim.kind == CascadeAim::Kind::price) return routed.utility(price);
  if (aim.is_on_dollars()) return routed.quality;
  std::vector<double> out = routed.dollars;
  for (double& x : out) x *= -1000.0;
  return out;
}

CascadeChoice choose(const std::vector<CascadeCandidate>& candidates, const JudgedCandidates& judged,
                     const CascadeAim& aim) {
  return Choosing(candidates, judged, aim).run();
}

void decide(CascadeChoice& choice, const CascadeAim& aim) {
  const PickedCandidate &cascade = choice.of(choice.cascade), &single = *choice.single;
  bool alone = single.met;
  if (single.met && cascade.met)
    alone = !(choice.gain.low > 0.0);
  else if (!single.met && !cascade.met)
    alone = aim.is_on_dollars() ? single.bound <= cascade.bound : single.bound >= cascade.bound;
  choice.kind = alone ? CascadeKind::single : choice.cascade;
}

NestedChoice choose_nested(const std::vector<CascadeCandidate>& candidates, const CrossValidated& judged,
                           const CascadeAim& aim) {
  NestedChoice out;
  out.choice = choose(candidates, judged.all, aim);
  for (std::size_t f = 0; f < kCascadeFolds; ++f) {
    const CascadeChoice without = choose(candidates, judged.without[f], aim);
    const auto routed = [&](const PickedCandidate& picked) { return WorthByRow(judged.by_fold[f][picked.candidate]); };
    out.kept.push_back(routed(without.chosen()));
    out.cascade.push_back(routed(without.of(without.cascade)));
    out.single.push_back(routed(*without.single));
  }
  return out;
}

}  // namespace pandora
