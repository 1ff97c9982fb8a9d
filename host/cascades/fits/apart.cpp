#include "host/cascades/fits/apart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "host/cascades/fits/log_search.hpp"
#include "host/ground/base/lists.hpp"
#include "host/outcomes/logs/labels.hpp"
#include "host/outcomes/routing/fit_fixed_cascade.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

double total_weight(const std::vector<LawCall>& law) {
  return std::accumulate(law.begin(), law.end(), 0.0,
                         [](double sum, const LawCall& call) { return sum + call.weight; });
}

// The law of the best answer so far, of those prompts that go on.
struct Best {
  double seen, mass, worth;  // mass x quality
};

// The laws by the calls of some groups. The evaluator none shows nothing, which does not matter of a model alone.
template <class Takes>
ModelLaws laws_of(const TraceTable& log, const LogReader& reader, const std::vector<double>& seen, Takes&& takes) {
  const std::size_t models = log.models.size();
  ModelLaws out(models);
  for (std::size_t at = 0; at < seen.size(); ++at) {
    const std::size_t group = reader.groups().of_row[at / models] % kLawGroups;
    if (!std::isnan(log.log->place[at]) && takes(group))
      out[at % models].push_back({group, std::isnan(seen[at]) ? 0.0 : seen[at], reader.estimated_quality(at),
                                  log.cost[at], 1.0 / log.log->propensity[at]});
  }
  for (std::vector<LawCall>& law : out) std::ranges::stable_sort(law, {}, &LawCall::seen);
  return out;
}

std::vector<double> seen_by(const std::vector<IsotonicMap>& maps, std::span<const double> shown, std::size_t models,
                            std::size_t cells) {
  std::vector<double> out(shown.begin(), shown.end());
  out.resize(cells, NAN);
  for (std::size_t at = 0; at < out.size() && !maps.empty(); ++at)
    if (!std::isnan(out[at])) out[at] = maps[at % models](out[at]);
  return out;
}

std::vector<IsotonicMap> maps_of(const TraceTable& log, const LogReader& reader, const CalibratedEvaluator& evaluator,
                                 std::size_t without) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < log.rows(); ++row)
    if (reader.groups().of_row[row] % kLabelFolds != without) rows.push_back(row);
  std::vector<IsotonicMap> out;
  for (std::size_t m = 0; m < log.models.size() && !evaluator.is_truth(); ++m)
    out.push_back(calibrated(log, reader, evaluator.shown(), m, rows));
  return out;
}

// Models alone by their mean utility less kLogCaution standard errors.
FixedCascade best_alone(const ModelLaws& laws, double price) {
  double most = -HUGE_VAL;
  FixedCascade best{{0}, {}};
  for (std::size_t m = 0; m < laws.size(); ++m) {
    if (laws[m].empty()) continue;
    const ApartMeans mean = means_of({{m}, {}}, laws, 0.0);
    const double utility = mean.quality - price * mean.dollars, total = total_weight(laws[m]);
    double square = 0.0;
    for (const LawCall& call : laws[m])
      square += std::pow(call.weight * (call.quality - price * call.dollars - utility) / total, 2);
    if (const double rated = utility - kLogCaution * std::sqrt(square); rated > most) most = rated, best = {{m}, {}};
  }
  return best;
}

// What means_of() says, jackknifed over the groups `first`, first + step, ...: those of a fold, or all.
class Jackknife {
 public:
  Jackknife() {
    for (Moved* const out : parts()) out->by_prompt.assign(kLawGroups, 0.0);
  }

  void add(const FixedCascade& cascade, const ModelLaws& laws, double judge_usd, std::size_t first, std::size_t step) {
    const std::size_t count = (kLawGroups - first + step - 1) / step;
    const double share = static_cast<double>(count) / static_cast<double>(kLawGroups);
    std::array<double, 3> sums{}, whole = numbers(means_of(cascade, laws, judge_usd));
    std::vector<std::array<double, 3>> others;
    for (std::size_t group = first; group < kLawGroups; group += step) {
      ModelLaws rest = laws;
      for (std::vector<LawCall>& law : rest) std::erase_if(law, [&](const LawCall& c) { return c.group == group; });
      others.push_back(numbers(means_of(cascade, rest, judge_usd)));
      for (std::size_t k = 0; k < 3; ++k) sums[k] += others.back()[k];
    }
    for (std::size_t k = 0; k < 3; ++k) {
      parts()[k]->value += share * whole[k];
      for (std::size_t j = 0; j < count; ++j)
        parts()[k]->by_prompt[first + j * step] =
            -(static_cast<double>(count) - 1.0) * (others[j][k] - sums[k] / static_cast<double>(count));
    }
  }

  MovedPolicy policy;

 private:
  std::array<Moved*, 3> parts() { return {&policy.quality, &policy.dollars, &policy.calls}; }
  static std::array<double, 3> numbers(const ApartMeans& means) { return {means.quality, means.dollars, means.calls}; }
};

// Whether every model of the cascade has calls whatever group is left out.
bool enough(const std::vector<LawCall>& law) {
  return std::ranges::any_of(law, [&](const LawCall& call) { return call.group != law.front().group; });
}

MovedPolicy worth_of_laws(const FixedCascade& cascade, const ModelLaws& laws, const CascadeInput& input) {
  const std::vector<std::string> faults = faults_of_first_calls(*input.table);
  for (const std::size_t m : cascade.order)
    if (!faults[m].empty()) input.table->refuse("{}", faults[m]);
  for (const std::size_t m : cascade.order)
    if (laws[m].size() < 10 || !enough(laws[m]))
      input.table->refuse("has too few calls of model {}: {}; log more", in_quotes(input.table->models[m]),
                          laws[m].size());
  Jackknife out;
  out.add(cascade, laws, input.judge_usd, 0, 1);
  out.policy.support.effective_prompts = HUGE_VAL;
  for (const std::size_t m : cascade.order) {
    double squares = 0.0;
    for (const LawCall& call : laws[m]) squares += call.weight * call.weight;
    out.policy.support.effective_prompts =
        std::min(out.policy.support.effective_prompts, std::pow(total_weight(laws[m]), 2) / squares);
  }
  out.policy.support.mean = 1.0;
  return out.policy;
}

}  // namespace

ApartMeans means_of(const FixedCascade& cascade, const ModelLaws& laws, double judge_usd) {
  ApartMeans out;
  std::vector<Best> best = {{-HUGE_VAL, 1.0, 0.0}}, next;
  for (std::size_t k = 0; k < cascade.order.size(); ++k, best.swap(next)) {
    const std::vector<LawCall>& law = laws[cascade.order[k]];
    const double total = total_weight(law),
                 threshold = k < cascade.thresholds.size() ? cascade.thresholds[k] : -HUGE_VAL;
    const double calls =
        std::accumulate(best.begin(), best.end(), 0.0, [](double sum, const Best& b) { return sum + b.mass; });
    out.calls += calls;
    next.clear();
    double below = 0.0, passed = 0.0, accepted = 0.0;  // mass of answers so far that are less; shares of the law so far
    auto at = best.begin();
    const auto keep = [&](const Best& b) {  // the answers so far stay the best
      out.quality += b.worth * accepted;
      if (passed > 0.0) next.push_back({b.seen, b.mass * passed, b.worth * passed});
    };
    for (const LawCall& call : law) {
      const double share = call.weight / total;
      for (; at != best.end() && at->seen < call.seen; ++at) {
        keep(*at);
        below += at->mass;
      }
      out.dollars += share * calls * (call.dollars + (cascade.order.size() > 1 ? judge_usd : 0.0));
      (call.seen >= threshold ? accepted : passed) += share;
      if (call.seen >= threshold)
        out.quality += share * below * call.quality;
      else if (below > 0.0)
        next.push_back({call.seen, share * below, share * below * call.quality});
    }
    for (; at != best.end(); ++at) keep(*at);
  }
  return out;
}

FixedCascade fit_apart(const ModelLaws& laws, double price, double judge_usd, std::size_t rows) {
  std::vector<std::size_t> models;
  for (std::size_t m = 0; m < laws.size(); ++m)
    if (!laws[m].empty()) models.push_back(m);
  std::vector<double> seen(rows * models.size()), quality = seen, dollars = seen;
  std::mt19937_64 draw(1);
  for (std::size_t k = 0; k < models.size(); ++k) {
    const std::vector<LawCall>& law = laws[models[k]];
    std::vector<std::uint64_t> keys(rows);
    for (std::uint64_t& key : keys) key = draw();
    std::vector<std::size_t> places = all_rows(rows);
    std::ranges::sort(places, {}, [&](std::size_t row) { return keys[row]; });
    double reached = law[0].weight;
    const double step = total_weight(law) / static_cast<double>(rows);
    for (std::size_t row = 0, from = 0; row < rows; ++row) {
      while ((static_cast<double>(row) + 0.5) * step > reached && from + 1 < law.size()) reached += law[++from].weight;
      const std::size_t cell = places[row] * models.size() + k;
      seen[cell] = law[from].seen;
      quality[cell] = law[from].quality;
      dollars[cell] = law[from].dollars + judge_usd;
    }
  }
  FixedCascade out = fit_fixed_cascade({models.size(), seen, quality, dollars}, price, all_rows(rows));
  for (std::size_t& m : out.order) m = models[m];
  return out;
}

std::optional<FitApart> fit_log_apart(const TraceTable& log, const CascadeFitSettings& settings,
                                      const LogReader& reader) {
  const CalibratedEvaluator evaluator(log, settings.evaluator);
  const std::size_t models = log.models.size();
  std::vector<bool> left_out(models, false);
  const std::vector<std::string> faults = faults_of_first_calls(log);
  for (const std::string& fault : faults)
    if (!fault.empty()) log.refuse("{}", fault);
  const auto laws = [&](const std::vector<IsotonicMap>& maps, auto&& takes) {
    ModelLaws out = laws_of(log, reader, seen_by(maps, evaluator.shown(), models, log.cost.size()), takes);
    for (std::size_t m = 0; m < models; ++m)
      if (left_out[m]) out[m].clear();
    return out;
  };
  for (std::size_t fold = 0; fold < kLabelFolds; ++fold) {
    const ModelLaws held = laws({}, [&](std::size_t group) { return group % kLabelFolds == fold; });
    for (std::size_t m = 0; m < models; ++m) left_out[m] = left_out[m] || held[m].empty() || !enough(held[m]);
  }
  if (std::ranges::all_of(left_out, [](bool out) { return out; })) return {};
  FitApart out;
  const double price = settings.aim.value, judge = settings.judge();
  out.calibration = maps_of(log, reader, evaluator, kLabelFolds);
  const ModelLaws whole = laws(out.calibration, [](std::size_t) { return true; });
  out.best = fit_apart(whole, price, judge, log.rows());
  out.alone = best_alone(whole, price);
  Jackknife cascade, single, named;
  for (std::size_t fold = 0; fold < kLabelFolds; ++fold) {
    const std::vector<IsotonicMap> maps = maps_of(log, reader, evaluator, fold);
    const ModelLaws training = laws(maps, [&](std::size_t group) { return group % kLabelFolds != fold; }),
                    held = laws(maps, [&](std::size_t group) { return group % kLabelFolds == fold; });
    cascade.add(fit_apart(training, price, judge, log.rows()), held, judge, fold, kLabelFolds);
    single.add(best_alone(training, price), held, 0.0, fold, kLabelFolds);
    named.add(out.alone, held, 0.0, fold, kLabelFolds);
  }
  out.cascade = cascade.policy;
  out.single = single.policy;
  out.named = named.policy;
  for (std::size_t m = 0; m < models; ++m)
    if (left_out[m]) out.left_out.push_back(log.models[m]);
  return out;
}

MovedPolicy worth_apart(const CascadeOptions& cascade, const CascadeInput& input, const LogReader& reader) {
  if (cascade.rules || !cascade.plans.empty())
    throw Error(ExitCode::usage, "--openings apart: is of cascades of thresholds alone; leave it out for this kind");
  const std::size_t models = input.table->models.size();
  std::vector<IsotonicMap> maps(cascade.calibration.empty() ? 0 : models);
  FixedCascade fixed{{}, cascade.thresholds};
  for (std::size_t k = 0; k < cascade.order.size(); ++k) {
    const std::size_t model = cascade.order[k];
    fixed.order.push_back(input.columns[model]);
    if (!maps.empty())
      maps[input.columns[model]] = {cascade.calibration[model].scores, cascade.calibration[model].qualities};
  }
  return worth_of_laws(fixed,
                       laws_of(*input.table, reader, seen_by(maps, input.shown, models, input.table->cost.size()),
                               [](std::size_t) { return true; }),
                       input);
}

MovedPolicy worth_apart(std::size_t single, const CascadeInput& input, const LogReader& reader) {
  return worth_of_laws(
      {{single}, {}},
      laws_of(*input.table, reader, seen_by({}, input.shown, input.table->models.size(), input.table->cost.size()),
              [](std::size_t) { return true; }),
      input);
}

}  // namespace pandora
