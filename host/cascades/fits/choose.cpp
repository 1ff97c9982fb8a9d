#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/fitted_indices.hpp"
#include "host/ground/base/in_parallel.hpp"

namespace pandora {

namespace {

// Indices that are learned from all rows, by candidate, and what they do there: from these the folds' fits set out.
struct WholeIndices {
  const CascadeFitSettings settings;
  const TrainedTable trained;
  std::vector<std::unique_ptr<FittedIndices>> fits;
  std::vector<Routed> routed;

  WholeIndices(const TraceTable& table, const CascadeFitSettings& all, const PreparedFolds& prepared,
               const std::vector<CascadeCandidate>& candidates)
      : settings(all.only(CascadeKind::indices)),
        trained(table, settings, prepared.without(kCascadeFolds, kCascadeFolds)),
        fits(candidates.size()),
        routed(candidates.size()) {
    in_parallel(settings.threads, candidates.size(), [&](std::size_t c) {
      if (candidates[c].kind != CascadeKind::indices) return;
      fits[c] = std::make_unique<FittedIndices>(trained.fit_indices(candidates[c].price));
      routed[c] = trained.route(*fits[c], all_rows(table.rows()));
    });
  }
};

// A fit without two folds, judged in these; without one (the same twice) or none (kCascadeFolds), judged on every row.
struct FoldTask {
  std::size_t folds[2] = {0, 0};
  std::vector<std::size_t> rows;     // that are judged, ascending
  std::vector<Routed> routed;        // of these, by candidate
  std::vector<FixedCascade> orders;  // by candidate

  void run(const TraceTable& table, const CascadeFitSettings& settings, const PreparedFolds& prepared,
           const std::vector<CascadeCandidate>& candidates, const std::optional<WholeIndices>& whole) {
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::size_t fold = prepared.groups().of_row[row] % kCascadeFolds;
      if (folds[0] == folds[1] || fold == folds[0] || fold == folds[1]) rows.push_back(row);
    }
    const TrainedTable trained(table, settings, prepared.without(folds[0], folds[1]));
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const CascadeCandidate& candidate = candidates[c];
      FixedCascade& order = orders.emplace_back();
      if (routes(candidate.kind)) {
        routed.push_back(trained.route(trained.fit_router(candidate), candidate.price, rows));
      } else if (candidate.kind == CascadeKind::indices) {
        if (folds[0] == kCascadeFolds) {
          routed.push_back(whole->routed[c]);
          continue;
        }
        FittedIndices indices = trained.fit_indices(candidate.price, whole->fits[c].get());
        routed.push_back(trained.route(indices, rows));
      } else {
        order = trained.fit_order(candidate);
        routed.push_back(trained.route(order, rows));
      }
    }
  }
};

PickedCandidate judged_by(const CascadeAim& aim, const JudgedCandidates& judged, std::size_t c, CascadeKind kind) {
  const bool in_time = !aim.most_latency || judged.latency[c] <= *aim.most_latency;
  if (!aim.is_bound()) return {c, true, in_time};
  const bool dollars = aim.is_on_dollars();
  const std::vector<double>& by_row = dollars ? judged.routed[c].dollars : judged.routed[c].quality;
  Interval interval = mean_over_prompts(by_row, judged.groups);
  if (kind != CascadeKind::single) interval = judged.fitted(interval);  // nothing is fitted where a model is named
  const double reached = confident_bound(interval, by_row, judged.groups, dollars);
  return {c, dollars ? reached <= aim.value : reached >= aim.value, in_time, reached};
}

}  // namespace

Interval JudgedCandidates::fitted(const Interval& over_prompts) const {
  const auto [value, low, high] = cross_fitted(over_prompts, kCascadeFolds);
  return {value, value + narrower * (low - value), value + narrower * (high - value)};
}

CrossValidated cross_validate(const TraceTable& table, const CascadeFitSettings& settings, const PreparedFolds& folds,
                              const std::vector<CascadeCandidate>& candidates, bool nested) {
  const PromptGroups& groups = folds.groups();
  if (groups.count < kLeastPrompts)
    table.refuse(
        "has {} different prompt{}: too few to judge a cascade on what it was not fitted on; give a table of at least "
        "{}, better hundreds",
        groups.count, groups.count == 1 ? "" : "s", kLeastPrompts);
  std::vector<FoldTask> tasks;
  for (std::size_t f = 0; f < kCascadeFolds; ++f)
    for (std::size_t g = f; g < (nested ? kCascadeFolds : f + 1); ++g) tasks.push_back({{f, g}, {}, {}, {}});
  tasks.push_back({{kCascadeFolds, kCascadeFolds}, {}, {}, {}});
  std::optional<WholeIndices> whole;
  if (std::ranges::any_of(candidates, [](const auto& candidate) { return candidate.kind == CascadeKind::indices; }))
    whole.emplace(table, settings, folds, candidates);
  in_parallel(settings.threads, tasks.size(), [&](std::size_t i) {
    tasks[i].run(table, settings, folds, candidates, whole);
    if (settings.progress) settings.progress->step();
  });
  CrossValidated out;
  for (std::size_t f = 0; nested && f < kCascadeFolds; ++f) {
    std::vector<Routed> by_candidate(candidates.size(), empty_rows(table.rows()));  // rows of f stay empty
    for (const FoldTask& task : tasks) {
      if (task.folds[0] == task.folds[1] || (task.folds[0] != f && task.folds[1] != f)) continue;
      for (std::size_t c = 0; c < candidates.size(); ++c) put_rows(by_candidate[c], task.routed[c], task.rows);
    }
    const std::vector<std::size_t> rows = fold_of(groups, f, kCascadeFolds).training;
    JudgedCandidates& without = out.without.emplace_back();
    without.groups = groups_of(groups, rows);
    without.narrower = std::sqrt(static_cast<double>(without.groups.count) / static_cast<double>(groups.count));
    for (const Routed& routed : by_candidate) {
      without.routed.push_back(routed_of(routed, rows));
      if (settings.aim.most_latency) without.latency.push_back(latency_p95(without.routed.back().latency));
    }
  }
  out.whole = std::move(tasks.back().routed);
  out.whole_orders = std::move(tasks.back().orders);
  tasks.pop_back();
  for (FoldTask& task : tasks) {
    if (task.folds[0] != task.folds[1]) continue;
    out.orders.push_back(std::move(task.orders));
    out.by_fold.push_back(std::move(task.routed));
  }
  out.all.groups = groups;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    std::vector<Routed> fits;
    for (const std::vector<Routed>& fold : out.by_fold) fits.emplace_back(fold[c]);
    if (settings.aim.most_latency) {
      std::vector<double> seconds;
      for (std::size_t row = 0; row < table.rows(); ++row)
        seconds.push_back(fits[groups.of_row[row] % kCascadeFolds].latency[row]);
      // What is handed out is another fit, which may call more models than those without a fold.
      out.all.latency.push_back(std::max(latency_p95(std::move(seconds)), latency_p95(out.whole[c].latency)));
    }
    out.all.routed.push_back(on_other_prompts(out.whole[c], fits, groups, settings.out_of_fold(candidates[c].kind)));
  }
  return out;
}

Routed on_other_prompts(const Routed& whole, const std::vector<Routed>& by_fold, const PromptGroups& groups,
                        bool out_of_fold) {
  if (!out_of_fold) return corrected(whole, by_fold, groups);
  Routed out = whole;
  for (const auto what : Routed::kNumbers)
    for (std::size_t row = 0; row < groups.of_row.size(); ++row)
      (out.*what)[row] = (by_fold[groups.of_row[row] % by_fold.size()].*what)[row];
  return out;
}

Routed corrected(const Routed& whole, const std::vector<Routed>& by_fold, const PromptGroups& groups) {
  const std::size_t rows = groups.of_row.size(), folds = by_fold.size();
  Routed out = whole;
  for (const auto what : Routed::kNumbers) {
    std::vector<double> less(rows), mean(folds, 0.0), count(folds, 0.0);
    double all = 0.0;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t fold = groups.of_row[row] % folds;
      for (const Routed& fit : by_fold) less[row] -= (fit.*what)[row] / static_cast<double>(folds);
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

std::vector<double> worth_by_row(const Routed& routed, const CascadeAim& aim, double price) {
  if (aim.kind == CascadeAim::Kind::price) return routed.utility(price);
  if (aim.is_on_dollars()) return routed.quality;
  std::vector<double> out = routed.dollars;
  for (double& x : out) x *= -1000.0;
  return out;
}

CascadeChoice choose(const std::vector<CascadeCandidate>& candidates, const JudgedCandidates& judged,
                     const CascadeAim& aim) {
  const auto worth = [&](const PickedCandidate& picked, double price) {
    return worth_by_row(judged.routed[picked.candidate], aim, price);
  };
  const auto mean = [&](const PickedCandidate& picked) {
    const std::vector<double> by_row = worth(picked, candidates[picked.candidate].price);
    return std::accumulate(by_row.begin(), by_row.end(), 0.0) / static_cast<double>(by_row.size());
  };
  const auto difference = [&](const PickedCandidate& a, const PickedCandidate& b) {
    const double price = candidates[a.candidate].price;  // under a price, at the same price
    return judged.fitted(difference_over_prompts(worth(a, price), worth(b, price), judged.groups));
  };
  // The most valuable one that keeps the bound; else the one that comes nearest to it. Means of the same models differ
  // by much more than their errors, so that no sequence is needed.
  const auto is_better = [&](const PickedCandidate& a, const PickedCandidate& b) {
    if (a.keeps() != b.keeps()) return a.keeps() > b.keeps();
    if (a.met) return mean(a) > mean(b);
    return aim.is_on_dollars() ? a.bound < b.bound : a.bound > b.bound;
  };
  const auto pick = [&](CascadeKind kind) {
    std::optional<PickedCandidate> out;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (candidates[c].kind != kind) continue;
      const PickedCandidate now = judged_by(aim, judged, c, kind);
      if (!out || (kind == CascadeKind::single || !aim.is_bound() ? is_better(now, *out)
                                                                  : now.in_time && (now.met || !out->in_time)))
        out = now;
      if (kind != CascadeKind::single && !now.met) break;
    }
    return out;
  };
  CascadeChoice out;
  std::vector<CascadeKind> tried;
  for (const CascadeKind kind : kCascadeKinds) {
    out.picked[static_cast<std::size_t>(kind)] = pick(kind);
    if (kind != CascadeKind::single && out.picked[static_cast<std::size_t>(kind)]) tried.push_back(kind);
  }
  const auto rank = [&](CascadeKind kind) { return std::pair(out.best_of(kind).keeps(), mean(out.best_of(kind))); };
  const auto is_less = [&](CascadeKind a, CascadeKind b) { return rank(a) < rank(b); };
  const auto hold = [&](CascadeKind a, CascadeKind b) {  // against each other; whether the simpler one is as good
    out.difference = difference(out.best_of(std::max(a, b)), out.best_of(std::min(a, b)));
    out.difference_error = standard_error(out.difference, judged.groups);
    return out.best_of(a).keeps() == out.best_of(b).keeps() && out.difference.value <= out.difference_error;
  };
  const CascadeKind best = *std::ranges::max_element(tried, is_less);
  std::vector<CascadeKind> as_good;
  for (const CascadeKind kind : tried)
    if (is_simpler(kind, best) && hold(best, kind)) as_good.push_back(kind);
  out.cascade = as_good.empty() ? best : *std::ranges::max_element(as_good, is_less);
  std::erase(tried, out.cascade);
  if (!tried.empty()) {
    out.rival = out.cascade != best ? best : *std::ranges::max_element(tried, is_less);
    hold(out.cascade, *out.rival);
  }
  out.gain = difference(out.best_of(out.cascade), out.single());
  decide(out, aim);
  return out;
}

void decide(CascadeChoice& choice, const CascadeAim& aim) {
  const PickedCandidate &cascade = choice.best_of(choice.cascade), &single = choice.single();
  bool alone = single.met;
  if (single.met && cascade.met)
    alone = !(choice.gain.low > 0.0);
  else if (!single.met && !cascade.met)
    alone = aim.is_on_dollars() ? single.bound <= cascade.bound : single.bound >= cascade.bound;
  if (single.in_time != cascade.in_time) alone = single.in_time;
  choice.pays = !alone;
  choice.kind = alone ? CascadeKind::single : choice.cascade;
}

std::vector<CascadeKind> kinds_tried(const CascadeFitSettings& settings) {
  std::vector<CascadeKind> out;
  for (const CascadeKind kind : kCascadeKinds)
    if (kind != CascadeKind::single && settings.tries(kind)) out.push_back(kind);
  return out;
}

std::vector<CascadeCandidate> best_candidates(const TraceTable& table, const CascadeFitSettings& settings,
                                              const PreparedFolds& folds, const std::vector<double>& prices) {
  const std::vector<CascadeKind> kinds = kinds_tried(settings);
  std::vector<CascadeCandidate> all, out;
  for (const double price : prices) {
    if (kinds.size() > 1)
      for (std::size_t m = 0; m < table.models.size(); ++m) all.push_back({CascadeKind::single, price, m});
    for (const CascadeKind kind : kinds) all.push_back({kind, price});
  }
  if (kinds.size() < 2) return all;
  const std::vector<Routed> routed = cross_validate(table, settings, folds, all, false).all.routed;
  std::vector<double> worth;
  for (std::size_t c = 0; c < all.size(); ++c) {
    const std::vector<double> utility = routed[c].utility(all[c].price);
    worth.push_back(std::accumulate(utility.begin(), utility.end(), 0.0));
  }
  const auto each = static_cast<std::ptrdiff_t>(all.size() / prices.size());
  for (auto from = worth.begin(); from != worth.end(); from += each)
    out.push_back(all[static_cast<std::size_t>(std::max_element(from, from + each) - worth.begin())]);
  return out;
}

NestedChoice choose_nested(const std::vector<CascadeCandidate>& candidates, const CrossValidated& judged,
                           const CascadeFitSettings& settings) {
  NestedChoice out;
  out.choice = choose(candidates, judged.all, settings.aim);
  const CascadeKind kind = out.choice.cascade;
  for (std::size_t f = 0; f < kCascadeFolds; ++f) {
    const CascadeChoice without = choose(candidates, judged.without[f], settings.aim);
    const std::vector<Routed>& routed = judged.by_fold[f];
    const bool alone = without.kind == CascadeKind::single && !settings.as_asked && !settings.out_of_fold(kind);
    out.cascade.push_back(routed[without.best_of(kind).candidate]);
    out.single.push_back(routed[without.single().candidate]);
    out.kept.push_back(alone ? out.single.back() : out.cascade.back());
  }
  return out;
}

}  // namespace pandora
