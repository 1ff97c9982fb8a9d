// Changes of a cascade: models, prices.
#include <algorithm>

#include "host/cascades/live/cascade_state.hpp"
#include "host/ground/base/option.hpp"

namespace pandora {

// The mean of all models' maps, at the knots of all.
IsotonicMap Cascade::State::mean_calibration() const {
  std::set<double> knots;
  for (const IsotonicMap& map : calibration) knots.insert(map.scores.begin(), map.scores.end());
  IsotonicMap out;
  for (const double knot : knots) {
    double sum = 0.0;
    for (const IsotonicMap& map : calibration) sum += map(knot);
    out.scores.push_back(knot);
    out.qualities.push_back(sum / static_cast<double>(calibration.size()));
  }
  return out;
}

std::size_t Cascade::State::add_model(const std::string& name) {
  for (std::size_t a = 0; a < names.size(); ++a)
    if (names[a].name == name) {
      if (!names[a].removed) throw refusal("model {} is there already", name);
      names[a].removed = false;
      names[a].failures = 0;
      names[a].rests_until = 0;
      return a;
    }
  if (!learns())
    throw refusal("{} say when to call {}; fit again on a table that has it",
                  options.plans.empty() ? "thresholds do not" : "the router does not", name);
  if (name.empty()) throw refusal("a model needs a name");
  if (boxes() == kMaxBoxes) throw refusal("{} models are the most; {} is one more", kMaxBoxes, name);
  const int more = rules->learns_reward() && !reads_phi() ? 2 : 0;
  Attempt attempt(*this, true);
  names.push_back({name});
  names.back().trial = options.trial_calls;
  options.models.push_back(name);
  if (!calibration.empty()) {
    const IsotonicMap map = rules->learns_reward() ? IsotonicMap() : mean_calibration();
    calibration.push_back(map);
    options.calibration.push_back({map.scores, map.qualities});
  }
  try {
    require_memory();
    settle();
    estimator->add_box(more);
    bound_memory();
  } catch (const LaneFailure& failure) {
    throw refusal("{} cannot be taken in ({})", name, failure.what());
  }
  const auto calls = [&](const auto& body) {
    for (auto& [id, request] : requests)
      for (CascadeRequest::Call& call : request.calls)
        if (more > 0) body(call.phi);
  };
  calls([](std::vector<float>& phi) { phi.reserve(phi.size() + 2); });
  calls([](std::vector<float>& phi) { phi.resize(phi.size() + 2, 0.0f); });
  attempt.keep();
  return names.size() - 1;
}

void Cascade::State::remove_model(const std::string& name) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const CascadeModel& m) { return m.name == name; });
  if (found == names.end() || found->removed) throw refusal("there is no model {}", name);
  const std::size_t box = static_cast<std::size_t>(found - names.begin());
  Attempt attempt(*this, true);
  if (learns()) {
    if (std::count_if(names.begin(), names.end(), [](const CascadeModel& m) { return !m.removed; }) == 1)
      throw refusal("{} is the only model that is left; add another one first", name);
  } else if (options.plans.empty()) {
    CascadePlan plan{options.order, options.thresholds};
    leave_out(plan, box);
    if (plan.order.empty()) throw refusal("it calls {} alone; fit again on other models", name);
    rules = std::make_shared<const LaneSpec>(thresholds_as_rules(plan));
    options.order = std::move(plan.order);
    options.thresholds = std::move(plan.thresholds);
  } else {
    for (CascadePlan& plan : options.plans) leave_out(plan, box);
    if (std::ranges::all_of(options.plans, [](const CascadePlan& plan) { return plan.order.empty(); }))
      throw refusal("it calls {} alone; fit again on other models", name);
  }
  found->removed = true;
  std::vector<std::pair<CascadeRequest*, CascadeRequest>> without;
  for (auto& [id, request] : requests) {
    if (request.deployed) continue;
    CascadeRequest own = request;
    const bool planned = !own.walk.done && go_on_without(own, static_cast<int>(box));
    if (!planned && own.next != box) continue;
    if (own.walk.outcome.ranked == 0)
      rank(id, own);  // it goes by the models that have come since it began
    else
      choose_next(own);
    without.emplace_back(&request, std::move(own));
  }
  for (auto& [request, own] : without) *request = std::move(own);
  attempt.keep();
}

// Whether an open request was about to call that model.
bool Cascade::State::go_on_without(CascadeRequest& request, int box) const {
  PeriodOutcome& walk = request.walk.outcome;
  int* const end = walk.order + walk.ranked;
  int* const at = std::find(walk.order + walk.queried, end, box);
  if (at == end) return false;
  LaneSpec own = *request.rules;
  if (own.order == Order::listed && walk.ranked > 1) {  // a single model has no threshold
    const std::ptrdiff_t place = at - walk.order, last = walk.ranked - 2;
    std::copy(own.threshold + place + 1, own.threshold + walk.ranked, own.threshold + std::min(place, last));
  }
  std::copy(at + 1, end, at);
  --walk.ranked;
  request.rules = std::make_shared<const LaneSpec>(own);
  if (walk.queried == 0) return true;
  const int k = walk.queried - 1;
  request.walk.done =
      walk.queried == walk.ranked || stops(own, request.stop, walk.ranked, request.score.data(), walk.order, k,
                                           request.calls.back().quality, request.walk.best);
  return true;
}

void Cascade::State::set_price(double price) {
  if (!learns())
    throw refusal("{} for the price that {} fitted for; fit again with {}",
                  options.plans.empty() ? "thresholds hold" : "a router holds",
                  options.plans.empty() ? "they were" : "it was", option("price"));
  if (rules->learns_payoff()) throw refusal("what was learned of payoffs holds for one price; learn anew");
  if (!(price > 0.0 && price <= kMostPrice) || !(options.price > 0.0))
    throw refusal("price {:g} in place of {:g}: both must be positive, and at most 1e9", price, options.price);
  if (price == options.price) return;  // a call made again changes nothing, not the last digit of a solve made anew
  Attempt attempt(*this);
  try {
    settle();
    estimator->scale_costs(price / options.price);
  } catch (const LaneFailure& failure) {
    throw refusal("price {:g}: what was learned cannot be made over to it ({})", price, failure.what());
  }
  options.price = price;
  attempt.keep();
}

}  // namespace pandora
