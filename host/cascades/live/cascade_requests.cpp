// Requests on their way through a cascade.
#include <algorithm>
#include <cmath>
#include <limits>

#include "host/cascades/live/cascade_state.hpp"

namespace pandora {

std::uint64_t Cascade::State::id_of(std::uint64_t number) const {
  const bool plain = number < kFirstEpoch * kOfAnEpoch;
  const std::uint64_t first = requests.empty() ? last_id + 1 : requests.begin()->first;
  std::uint64_t id = plain ? number : last_id - (last_id - number) % kOfAnEpoch;  // the last one that it can be
  for (; id >= first && id <= last_id; id -= std::min(id, kOfAnEpoch))
    if (const auto found = requests.find(id); found != requests.end() && found->second.number == number) return id;
  if (plain ? epoch != 0 : epoch != number / kOfAnEpoch || forks != forks_before())
    throw refusal(
        "there is no request {} here: it has had its feedback or was cancelled, or it began in another process, or was lost "
        "with one since the last save",
        number);
  const std::uint64_t last = epoch == 0 ? last_id : last_id % kOfAnEpoch, place = plain ? number : number % kOfAnEpoch;
  if (number == 0 || place > last) throw refusal("there was no request {}", number);
  throw refusal("request {} is forgotten: it has had its feedback, was cancelled, or {} newer ones have come", number,
                options.most_requests);
}

std::uint64_t Cascade::State::present_epoch() {
  const std::uint64_t now = forks_before();
  if (!epoch || (*epoch != 0 && forks != now)) epoch = drawn_epoch();
  forks = now;
  return *epoch;
}

// psi as it is learned from: within what the fit saw or, where there was none, what estimates can be solved of.
std::vector<float> Cascade::State::taken(std::span<const float> psi) const {
  if (psi.size() != index_features())
    throw refusal("psi has {} numbers; this cascade takes {}", psi.size(), index_features());
  std::vector<float> out(psi.begin(), psi.end());
  const auto& range = options.psi_range;
  for (std::size_t j = 0; j < out.size(); ++j) {
    if (!std::isfinite(out[j])) throw refusal("psi has a number that is not finite");
    if (!range.empty()) {
      out[j] = std::clamp(out[j], range[j].first, range[j].second);
    } else if (learns() && std::abs(out[j]) > kMostPsi) {
      const std::string name = j > 0 && j <= features.size() ? ", " + features.names()[j - 1] + "," : "";
      throw refusal(
          "number {} of psi{} is {:g}; give numbers between -{:g} and {:g}, which estimates can "
          "be solved of: divided by what is usual for them, or their logarithms",
          j + 1, name, out[j], kMostPsi, kMostPsi);
    }
  }
  return out;
}

void Cascade::State::require_dollars(double dollars) const {
  if (!(dollars >= 0.0 && dollars <= kMostCallUsd && options.price * dollars <= kMostCallUsd))
    throw refusal("{:g} dollars: give a number from 0 to a million, also as utility at price {:g}", dollars,
                  options.price);
}

void Cascade::State::require_observation(const Observation& observation, bool scored) const {
  require_dollars(observation.dollars);
  if (!(std::isnan(observation.latency) || (observation.latency >= 0.0 && observation.latency <= 1e9)))
    throw refusal("latency {:g}: give seconds, from 0 on", observation.latency);
  if (!scored && observation.scores.empty()) return;
  const std::size_t wanted = reads_phi() ? reward_features() : 1;
  if (observation.scores.size() != wanted)
    throw refusal("{} scores; the evaluator {} shows {}", observation.scores.size(), options.evaluator, wanted);
  for (const double score : observation.scores)
    if (!std::isfinite(score) || (!reads_phi() && !(score >= 0.0 && score <= 1.0)))
      throw refusal("score {:g}: give {}", score, reads_phi() ? "a finite number" : "one in [0, 1]");
}

// What was learned since the last period's end is brought to its end before another period is looked at.
void Cascade::State::settle() {
  if (learns() && estimator->unsettled()) estimator->end_period();
}

void Cascade::State::make_current(std::uint64_t id, const CascadeRequest& request) {
  if (beside != nullptr) return beside->serving->begin({request.period, request.psi, {}});
  if (current == id) return;
  settle();
  current = 0;
  estimator->begin({request.period, request.psi, {}});
  current = id;
}

CascadeRequest::Call Cascade::State::seen(std::size_t model, const Observation& observation) const {
  CascadeRequest::Call call;
  call.model = model;
  call.dollars = observation.dollars;
  call.scores = observation.scores;
  call.latency = observation.latency;
  if (observation.scores.empty()) {
    call.shown = std::numeric_limits<double>::quiet_NaN();
  } else if (!reads_phi()) {
    const double score = observation.scores[0];
    call.shown = calibration.empty() ? score : calibration[model](score);
  }
  if (rules->learns_reward()) {
    call.phi.assign(reward_features(), 0.0f);
    if (reads_phi()) {
      std::copy(observation.scores.begin(), observation.scores.end(), call.phi.begin());
    } else {
      call.phi[2 * model] = 1.0f;
      call.phi[2 * model + 1] = static_cast<float>(logit_of_score(observation.scores[0]));
    }
  } else if (reads_phi()) {
    throw refusal("rules that know the quality cannot take it from the evaluator {}", options.evaluator);
  }
  return call;
}

Output Cascade::State::output(const CascadeRequest::Call& call) const {
  return {static_cast<int>(call.model), call.phi, options.price * call.dollars, call.shown};
}

void Cascade::State::calibrate(int period, std::span<const float> psi, std::size_t model,
                               const Observation& observation, std::optional<double> quality) {
  if (!learns()) throw refusal("{} are fitted, they do not learn", options.plans.empty() ? "thresholds" : "routers");
  if (last_id > 0) throw refusal("samples from before come before the first request");
  const std::vector<float> context = taken(psi);
  require_observation(observation, true);
  if (model >= names.size()) throw refusal("there is no model {}", model);
  if (quality && !(*quality >= 0.0 && *quality <= 1.0)) throw refusal("quality {:g}: give one in [0, 1]", *quality);
  if (estimator->samples(static_cast<int>(model)) >= most_held)
    throw refusal("{} has {} samples, and a file has room for no more", names[model].name, most_held);
  Attempt attempt(*this);
  const CascadeRequest::Call call = seen(model, observation);
  estimator->calibrate({period, context, {}}, output(call), quality);
  attempt.keep();
}

std::uint64_t Cascade::State::begin(std::span<const float> psi, const Prompt* prompt) {
  CascadeRequest request;
  request.psi = taken(psi);
  if (prompt != nullptr && decisions != nullptr && decisions->has_prompts()) request.prompt = prompt_json(*prompt);
  const std::uint64_t id = last_id + 1, of = epoch_of(id, present_epoch()), number = number_of(id, of);
  request.number = number;
  request.period = static_cast<int>(std::min<std::uint64_t>(id, std::numeric_limits<int>::max()));
  Attempt attempt(*this);
  request.resting = resting_at(id);
  rank(id, request);
  requests.emplace(id, std::move(request));
  attempt.keep();
  last_id = id;
  epoch = of;
  begin_trials(id);
  ++counts.requests;
  while (requests.size() > options.most_requests) {
    ++(requests.begin()->second.deployed ? counts.dropped_waiting : counts.dropped_open);
    requests.erase(requests.begin());
  }
  return number;
}

// The plan of the greatest predicted utility, the first of equal ones, among those that call a model.
void Cascade::State::choose_plan(CascadeRequest& request) const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const PlanWorths worths = router.predict(request.psi);
  for (std::vector<double>* const numbers : {&request.prediction, &request.width, &request.bonus})
    numbers->assign(names.size(), kNone);
  const CascadePlan* best = nullptr;
  double most = 0.0;
  for (std::size_t p = 0; p < options.plans.size(); ++p) {
    const CascadePlan& plan = options.plans[p];
    if (std::ranges::all_of(plan.order, [&](std::size_t model) { return is_absent(request, model); })) continue;
    const double utility = worths.utility(p, options.price);
    double& of_model = request.prediction[plan.order[0]];
    if (!(of_model >= utility)) of_model = utility;
    if (best != nullptr && !(utility > most)) continue;
    best = &plan;
    most = utility;
  }
  if (best == nullptr)
    best = &*std::ranges::find_if(options.plans, [](const auto& plan) { return !plan.order.empty(); });
  request.rules = std::make_shared<const LaneSpec>(thresholds_as_rules(*best));
}

void Cascade::State::rank(std::uint64_t id, CascadeRequest& request) {
  request.rules = rules;
  request.score.assign(names.size(), 0.0);
  for (std::vector<double>* const numbers : {&request.prediction, &request.width, &request.bonus}) numbers->clear();
  if (!options.plans.empty()) choose_plan(request);
  if (learns()) {
    make_current(id, request);
    for (int a = 0; a < boxes(); ++a) {
      request.score[a] = names[static_cast<std::size_t>(a)].trial > 0 ? kForcedScore : asked().index(a);
      request.prediction.push_back(asked().linear(a));
      request.width.push_back(asked().width(a));
      request.bonus.push_back(asked().bonus(a) * (rules->has_width_bonus() ? request.width.back() : 1.0));
    }
  }
  const std::uint32_t draw = static_cast<std::uint32_t>(request.period - 1);
  const PeriodRules drawn(*request.rules, options.exploration, draw);
  request.order = drawn.order;
  request.stop = drawn.stop;
  int permutation[kMaxBoxes];
  if (drawn.order == Order::random) random_permutation(options.random_order, draw, boxes(), permutation);
  PeriodOutcome& walk = request.walk.outcome;
  start_walk(*request.rules, drawn, boxes(), request.score.data(), permutation, walk);
  int* const end = std::remove_if(walk.order, walk.order + walk.ranked,
                                  [&](int a) { return names[static_cast<std::size_t>(a)].removed; });
  walk.ranked = static_cast<int>(end - walk.order);
  leave_out_absent(request);
  if (walk.ranked == 0 && std::exchange(request.resting, 0) != 0) return rank(id, request);  // better one that rests
  request.walk.done = walk.ranked == 0;
  choose_next(request);
}

void Cascade::State::observe(std::uint64_t number, std::size_t model, const Observation& observation) {
  const std::uint64_t id = id_of(number);
  CascadeRequest& open = to_call(number, model);
  require_observation(observation, needs_score(open));
  CascadeRequest::Call call = seen(model, observation);
  call.quality = call.shown;
  call.propensity = open.propensity;
  CascadeRequest after = open;
  bring_forward(after, static_cast<int>(model));
  Attempt attempt(*this);
  if (learns()) {
    make_current(id, open);
    call.quality = asked().reward(output(call));
  }
  const bool had_stopped = after.walk.done;
  after.walk.opened(*after.rules, after.stop, after.score.data(), call.quality);
  after.walk.done |= had_stopped;
  after.calls.push_back(std::move(call));
  choose_next(after);
  attempt.keep();
  open = std::move(after);
  ++counts.calls;
  counts.dollars += observation.dollars;
  names[model].failures = 0;
  names[model].rests_until = 0;
  names[model].trial = std::max(0, names[model].trial - 1);
}

std::size_t Cascade::State::deploy(std::uint64_t number) {
  const std::uint64_t id = id_of(number);
  CascadeRequest& open = requests.at(id);
  if (open.deployed) throw refusal("request {} is deployed already", number);
  if (open.calls.empty() && open.next == CascadeRequest::kNothing)
    throw refusal("request {}: every model that it could call has failed or was skipped; cancel it", number);
  if (open.calls.empty()) throw refusal("request {} has called no model yet", number);
  Attempt attempt(*this);
  if (learns() && learning && is_beside()) {
    beside->waiting.push_back({id, open.period, open.psi, open.calls, {}});
    ++beside->told;
  } else if (learns() && learning) {
    make_current(id, open);
    std::vector<Output> outputs;
    for (const CascadeRequest::Call& call : open.calls) outputs.push_back(output(call));
    estimator->learn_outputs(outputs);
    if (!needs_feedback()) settle();
  }
  attempt.keep();
  open.walk.outcome.deployed = static_cast<int>(choose_deployed(open));
  open.next = CascadeRequest::kNothing;
  open.deployed = true;
  ++counts.deployed;
  log_decision(open);
  open.prompt.clear();
  return static_cast<std::size_t>(open.walk.outcome.deployed);
}

void Cascade::State::feedback(std::uint64_t number, double quality) {
  const std::uint64_t id = id_of(number);
  const CascadeRequest& waiting = requests.at(id);
  if (!waiting.deployed) throw refusal("request {} is not deployed yet", number);
  if (!(quality >= 0.0 && quality <= 1.0))
    throw refusal("request {}: quality {:g}: give one in [0, 1]", number, quality);
  Attempt attempt(*this);
  if (needs_feedback() && learning) {
    const std::size_t model = static_cast<std::size_t>(waiting.walk.outcome.deployed);
    const auto call = std::find_if(waiting.calls.begin(), waiting.calls.end(),
                                   [&](const CascadeRequest::Call& c) { return c.model == model; });
    if (is_beside()) {
      beside->waiting.push_back({id, waiting.period, waiting.psi, {*call}, quality});
      ++beside->told;
    } else {
      make_current(id, waiting);
      estimator->learn_reward(output(*call), static_cast<float>(quality));
      estimator->end_period();
    }
  }
  attempt.keep();
  ++counts.feedbacks;
  counts.quality += quality;
  requests.erase(id);
  log_feedback(number, quality);
}

}  // namespace pandora
