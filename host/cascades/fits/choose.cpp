#include "host/cascades/fits/choose.hpp"

#include <algorithm>
#include <numeric>

namespace pandora {
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
  double bound(std::size_t c) const {
    if (!aim_.is_bound()) return 0.0;
    const bool dollars = aim_.is_on_dollars();
    const std::vector<double>& by_row = dollars ? judged_.routed[c].dollars : judged_.routed[c].quality;
    const Interval over_prompts = mean_over_prompts(by_row, judged_.groups);
    // Nothing is fitted where a model is named.
    const bool fitted = candidates_[c].kind != CascadeKind::single;
    const Interval interval = fitted ? judged_.fitted(over_prompts) : over_prompts;
    return (dollars ? upper_bound : lower_bound)(interval, by_row, judged_.groups);
  }

  PickedCandidate judged(std::size_t c) const {
    const double reached = bound(c);
    return {c, aim_.keeps(reached), reached};
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
