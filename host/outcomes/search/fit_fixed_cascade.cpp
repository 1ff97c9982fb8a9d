#include "host/outcomes/search/fit_fixed_cascade.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace pandora {
namespace {

constexpr std::size_t kBeam = 8;  // how many cascades of each length the beam search keeps
constexpr int kMostRounds = 20;   // rounds over all thresholds of a cascade

struct RatedCascade {
  FixedCascade cascade;
  double utility = -std::numeric_limits<double>::infinity();  // mean over the prompts
};

// The values of a model by which answers are accepted, as ranks among the distinct values.
struct RankedModel {
  std::vector<double> sorted;        // ascending
  std::vector<double> values;        // the same, without repetition
  std::vector<std::uint32_t> ranks;  // one for each prompt
};

// The last positions of a cascade: the result for each prompt that arrives at them, as if they were one answer. Where a
// walk ends does not depend on the values that were seen before.
struct Suffix {
  FixedCascade of;
  std::vector<OpenedAnswer> answers;
};

// The first positions of a cascade: the results of the prompts that end there, and the state of those that go on.
struct Prefix {
  FixedCascade of;     // with a threshold at each position
  double ended = 0.0;  // sum of utilities
  std::vector<std::pair<std::size_t, Walk>> arrived;
};

FixedCascade part_of(std::span<const std::size_t> order, std::span<const double> thresholds) {
  return {{order.begin(), order.end()}, {thresholds.begin(), thresholds.end()}};
}

class CascadeFit {
 public:
  CascadeFit(const Outcomes& outcomes, double price, const CascadeEffort& effort, std::optional<std::size_t> first)
      : effort_(effort),
        prompts_(std::min(outcomes.rows(), effort.most_prompts)),
        models_(outcomes.models),
        first_(outcomes.models > 1 ? first : std::nullopt),
        prefixes_(outcomes.models + 1),
        suffixes_(outcomes.models + 1) {
    for (std::size_t m = 0; m < outcomes.models; ++m) {
      std::vector<OpenedAnswer>& answers = models_[m].answers;
      RankedModel& ranked = ranked_.emplace_back();
      for (std::size_t i = 0; i < prompts_; ++i) {
        const std::size_t at = i * outcomes.rows() / prompts_ * outcomes.models + m;
        answers.push_back({outcomes.seen[at], outcomes.quality[at], price * outcomes.dollars[at]});
        ranked.sorted.push_back(outcomes.seen[at]);
      }
      std::sort(ranked.sorted.begin(), ranked.sorted.end());
      std::ranges::unique_copy(ranked.sorted, std::back_inserter(ranked.values));
      for (const OpenedAnswer& answer : answers)
        ranked.ranks.push_back(static_cast<std::uint32_t>(
            std::lower_bound(ranked.values.begin(), ranked.values.end(), answer.seen) - ranked.values.begin()));
    }
  }

  FixedCascade run() {
    if (effort_.both) return best_of_both();
    for (std::size_t longest = models_.size(); longest >= std::min<std::size_t>(4, models_.size()); --longest)
      for (const std::size_t quantiles : {16, 8})
        if (steps(longest, quantiles) <= static_cast<double>(effort_.most_steps)) return of_all(longest, quantiles);
    return refined(beam());
  }

 private:
  // On made-up tables of 7 to 11 models, searching all cascades of at most 4 models lost 0.01 to 0.02 of utility
  // against the beam search.
  FixedCascade best_of_both() {
    FixedCascade by_beam = refined(beam());
    for (const std::size_t quantiles : {16, 8}) {
      if (additions(quantiles) > static_cast<double>(effort_.most_steps)) continue;
      const FixedCascade found = of_all(models_.size(), quantiles);
      return utility_of(by_beam) > utility_of(found) + kUtilityTie ? by_beam : found;
    }
    return by_beam;
  }

  FixedCascade of_all(std::size_t longest, std::size_t quantiles) {
    for (std::size_t m = 0; m < models_.size(); ++m) models_[m].thresholds = quantiles_of(m, quantiles);
    return refined(search_cascades(models_, longest, first_, effort_.interrupted));
  }

  // How many candidates there are for each prompt. The last threshold is not a factor of its own.
  double steps(std::size_t longest, std::size_t quantiles) const {
    double orders = 1.0, total = 0.0;
    for (std::size_t length = 1; length <= longest; ++length) {
      orders *= orders_of(length);
      if (length > 2) orders *= static_cast<double>(quantiles);
      total += orders * static_cast<double>(prompts_);
    }
    return total;
  }

  // Counts only the last position of each order, because the others are shared.
  double additions(std::size_t quantiles) const {
    double orders = 1.0, combinations = 1.0, total = 0.0;
    for (std::size_t length = 1; length <= models_.size(); ++length) {
      orders *= orders_of(length);
      if (length > 1) combinations *= static_cast<double>(quantiles);
      total += orders * (static_cast<double>(prompts_) + static_cast<double>(length) * combinations);
    }
    return total;
  }

  // The factor by which one more position multiplies the number of orders.
  double orders_of(std::size_t length) const {
    return length == 1 && first_ ? 1.0 : static_cast<double>(models_.size() - length + 1);
  }

  double utility_of(const FixedCascade& cascade) const {
    double sum = 0.0;
    for (const OpenedAnswer& all : suffix_of(cascade, 0)) sum += all.worth - all.cost;
    return sum / static_cast<double>(prompts_);
  }

  // Thresholds that accept some answers but not all, with about equally many between two of them. All different values
  // if there are few.
  std::vector<double> quantiles_of(std::size_t m, std::size_t quantiles) const {
    const std::vector<double>& distinct = ranked_[m].values;
    if (distinct.size() <= quantiles + 1) return {distinct.begin() + 1, distinct.end()};
    const std::vector<double>& sorted = ranked_[m].sorted;
    std::vector<double> out;
    for (std::size_t k = 1; k <= quantiles; ++k) {
      const double value = sorted[(k * sorted.size() + quantiles - 1) / quantiles - 1];
      if (value > distinct.front() && (out.empty() || value > out.back())) out.push_back(value);
    }
    return out;
  }

  // Many cascades begin alike, so the latest prefix of each length is kept.
  const Prefix& prefix_of(const FixedCascade& cascade, std::size_t length) const {
    Prefix& kept = prefixes_[length];
    FixedCascade of = part_of(std::span(cascade.order).first(length), std::span(cascade.thresholds).first(length));
    if (!kept.arrived.empty() && kept.of == of) return kept;
    kept = {std::move(of), 0.0, {}};
    if (length == 0) {
      for (std::size_t prompt = 0; prompt < prompts_; ++prompt) kept.arrived.emplace_back(prompt, Walk());
      return kept;
    }
    const Prefix& before = prefix_of(cascade, length - 1);
    kept.ended = before.ended;
    for (auto [prompt, walk] : before.arrived) {
      const OpenedAnswer& answer = models_[kept.of.order.back()].answers[prompt];
      walk.open(answer);
      if (answer.seen >= kept.of.thresholds.back())
        kept.ended += walk.utility();
      else
        kept.arrived.emplace_back(prompt, walk);
    }
    return kept;
  }

  // The same for the end of a cascade: the latest suffix of each length is kept.
  const std::vector<OpenedAnswer>& suffix_of(const FixedCascade& cascade, std::size_t from) const {
    const std::vector<OpenedAnswer>& here = models_[cascade.order[from]].answers;
    if (from + 1 == cascade.order.size()) return here;
    FixedCascade of = part_of(std::span(cascade.order).subspan(from), std::span(cascade.thresholds).subspan(from));
    Suffix& kept = suffixes_[of.order.size()];
    if (kept.of == of) return kept.answers;
    kept = {std::move(of), {}};
    const std::vector<OpenedAnswer>& after = suffix_of(cascade, from + 1);
    for (std::size_t prompt = 0; prompt < prompts_; ++prompt) {
      Walk walk;
      walk.open(here[prompt]);
      if (!(here[prompt].seen >= cascade.thresholds[from])) walk.open(after[prompt]);
      kept.answers.push_back({walk.best, walk.worth, walk.spent});
    }
    return kept.answers;
  }

  // The cascade with the best threshold at that position, among all thresholds that accept some answers but not all.
  // Nothing if all seen values are equal.
  std::optional<RatedCascade> with_best_threshold(FixedCascade cascade, std::size_t position) const {
    const RankedModel& ranked = ranked_[cascade.order[position]];
    if (ranked.values.size() < 2) return {};
    end_fit_if(effort_.interrupted);
    // By rank at the position: by how much going on is better than accepting.
    std::vector<double> gain(ranked.values.size(), 0.0);
    const Prefix& before = prefix_of(cascade, position);
    const std::vector<OpenedAnswer>&here = models_[cascade.order[position]].answers,
          &after = suffix_of(cascade, position + 1);
    double sum = before.ended;  // sum of utilities if all prompts at the position are accepted
    for (const auto& [prompt, walked] : before.arrived) {
      Walk walk = walked;
      walk.open(here[prompt]);
      const double accepted = walk.utility();
      walk.open(after[prompt]);
      sum += accepted;
      gain[ranked.ranks[prompt]] += walk.utility() - accepted;
    }
    RatedCascade out;
    for (std::size_t rank = 1; rank < gain.size(); ++rank) {  // with the threshold at this rank, prompts below it go on
      sum += gain[rank - 1];
      if (const double utility = sum / static_cast<double>(prompts_); utility > out.utility + kUtilityTie) {
        out.utility = utility;
        cascade.thresholds[position] = ranked.values[rank];
      }
    }
    out.cascade = std::move(cascade);
    return out;
  }

  // Keeps the best kBeam cascades, best first, each order once.
  static void keep_best(std::vector<RatedCascade>& rated) {
    std::sort(rated.begin(), rated.end(), [](const RatedCascade& a, const RatedCascade& b) {
      return a.utility != b.utility ? a.utility > b.utility : a.cascade.order < b.cascade.order;
    });
    std::vector<RatedCascade> kept;
    for (RatedCascade& r : rated) {
      const auto same = [&](const RatedCascade& other) { return other.cascade.order == r.cascade.order; };
      if (kept.size() < kBeam && std::none_of(kept.begin(), kept.end(), same)) kept.push_back(std::move(r));
    }
    rated = std::move(kept);
  }

  FixedCascade beam() const {
    std::vector<RatedCascade> kept;
    for (std::size_t m = 0; m < models_.size(); ++m)
      if (first_.value_or(m) == m) kept.push_back({{{m}, {}}, utility_of({{m}, {}})});
    keep_best(kept);
    RatedCascade best = kept[0];
    for (std::size_t length = 2; length <= models_.size(); ++length) {
      std::vector<RatedCascade> longer;
      for (const RatedCascade& r : kept) add_longer(r.cascade, longer);
      keep_best(longer);
      kept = std::move(longer);
      if (kept.empty()) break;
      if (!(first_ && length == 2) && kept[0].utility <= best.utility + kUtilityTie) break;
      best = kept[0];
    }
    return best.cascade;
  }

  // Adds one model, at any place of the order.
  void add_longer(const FixedCascade& cascade, std::vector<RatedCascade>& longer) const {
    for (std::size_t m = 0; m < models_.size(); ++m) {
      if (std::find(cascade.order.begin(), cascade.order.end(), m) != cascade.order.end()) continue;
      for (std::size_t place = first_ ? 1 : 0; place <= cascade.order.size(); ++place) {
        FixedCascade with = cascade;
        with.order.insert(with.order.begin() + static_cast<std::ptrdiff_t>(place), m);
        // The position of the new threshold: the model's own, or that of the model that was the last.
        const std::size_t position = std::min(place, cascade.order.size() - 1);
        with.thresholds.insert(with.thresholds.begin() + static_cast<std::ptrdiff_t>(position), 0.0);
        if (std::optional<RatedCascade> rated = with_best_threshold(std::move(with), position))
          longer.push_back(std::move(*rated));
      }
    }
  }

  FixedCascade refined(FixedCascade cascade) const {
    double utility = -std::numeric_limits<double>::infinity();
    for (int round = 0; round < kMostRounds; ++round) {
      const double before = utility;
      for (std::size_t position = 0; position < cascade.thresholds.size(); ++position)
        if (const std::optional<RatedCascade> better = with_best_threshold(cascade, position);
            better && better->utility > utility + kUtilityTie) {
          utility = better->utility;
          cascade = better->cascade;
        }
      if (!(utility > before + kUtilityTie)) break;
    }
    return cascade;
  }

  const CascadeEffort effort_;
  const std::size_t prompts_;
  std::vector<SearchedModel> models_;
  std::vector<RankedModel> ranked_;
  const std::optional<std::size_t> first_;
  mutable std::vector<Prefix> prefixes_;  // by length
  mutable std::vector<Suffix> suffixes_;
};

}  // namespace

FixedCascade fit_fixed_cascade(const Outcomes& outcomes, double price, const CascadeEffort& effort,
                               std::optional<std::size_t> first) {
  return CascadeFit(outcomes, price, effort, first).run();
}

}  // namespace pandora
