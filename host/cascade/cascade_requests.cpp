// Requests on their way through a cascade.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/cascade/cascade_state.hpp"
#include "pandora/error.hpp"

namespace pandora {

namespace {

Error out_of_turn(const std::string& message) {
  return Error(ExitCode::usage, "cascade: " + message);
}

}  // namespace

CascadeRequest& Cascade::State::request(std::uint64_t id) {
  const auto found = requests.find(id);
  if (found != requests.end()) return found->second;
  throw out_of_turn(id == 0 || id > last_id
                        ? fmt::format("there was no request {}", id)
                        : fmt::format("request {} is forgotten: it has had its feedback, or {} newer ones have come",
                                      id, options.most_requests));
}

void Cascade::State::require_context(std::span<const float> psi) const {
  if (psi.size() != index_features())
    throw out_of_turn(fmt::format("psi has {} numbers; this cascade takes {}", psi.size(), index_features()));
  for (const float x : psi)
    if (!std::isfinite(x)) throw out_of_turn("psi has a number that is not finite");
}

void Cascade::State::require_observation(const Observation& observation) const {
  if (!(observation.dollars >= 0.0 && observation.dollars <= kMostCallUsd &&
        options.price * observation.dollars <= kMostCallUsd))
    throw out_of_turn(fmt::format("{:g} dollars: give a number from 0 to a million, also as utility at price {:g}",
                                  observation.dollars, options.price));
  const std::size_t wanted = reads_phi() ? reward_features() : 1;
  if (observation.scores.size() != wanted)
    throw out_of_turn(
        fmt::format("{} scores; the evaluator {} shows {}", observation.scores.size(), options.evaluator, wanted));
  for (const double score : observation.scores)
    if (!std::isfinite(score) || (!reads_phi() && !(score >= 0.0 && score <= 1.0)))
      throw out_of_turn(fmt::format("score {:g}: give {}", score, reads_phi() ? "a finite number" : "one in [0, 1]"));
}

void Cascade::State::require_open(std::uint64_t id, const CascadeRequest& request) const {
  if (request.deployed) throw out_of_turn(fmt::format("request {} is deployed already", id));
}

// What was learned since the last period's end is brought to its end before another period is looked at.
void Cascade::State::settle() {
  if (learns() && estimator->unsettled()) estimator->end_period();
}

void Cascade::State::make_current(std::uint64_t id, const CascadeRequest& request) {
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
  if (!reads_phi()) {
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
    throw out_of_turn("rules that know the quality cannot take it from the evaluator " + options.evaluator);
  }
  return call;
}

Output Cascade::State::output(const CascadeRequest::Call& call) const {
  return {static_cast<int>(call.model), call.phi, options.price * call.dollars, call.shown};
}

void Cascade::State::calibrate(int period, std::span<const float> psi, std::size_t model,
                               const Observation& observation, std::optional<double> quality) {
  if (!learns()) throw out_of_turn("thresholds are fitted, they do not learn");
  if (last_id > 0) throw out_of_turn("samples from before come before the first request");
  require_context(psi);
  require_observation(observation);
  if (model >= names.size()) throw out_of_turn(fmt::format("there is no model {}", model));
  if (quality && !(*quality >= 0.0 && *quality <= 1.0))
    throw out_of_turn(fmt::format("quality {:g}: give one in [0, 1]", *quality));
  estimator->calibrate({period, psi, {}}, output(seen(model, observation)), quality);
}

std::uint64_t Cascade::State::begin(std::span<const float> psi) {
  require_context(psi);
  while (requests.size() >= options.most_requests) {
    ++(requests.begin()->second.deployed ? counts.dropped_waiting : counts.dropped_open);
    requests.erase(requests.begin());
  }
  CascadeRequest request;
  request.period = static_cast<int>(std::min<std::uint64_t>(last_id + 1, std::numeric_limits<int>::max()));
  request.psi.assign(psi.begin(), psi.end());
  request.rules = rules;
  request.score.assign(names.size(), 0.0);
  const std::uint64_t id = last_id + 1;
  if (learns()) {
    make_current(id, request);
    for (int a = 0; a < boxes(); ++a) {
      request.score[a] = estimator->index(a);
      request.prediction.push_back(estimator->linear(a));
      request.width.push_back(estimator->width(a));
      request.bonus.push_back(estimator->bonus(a) * (rules->has_width_bonus() ? request.width.back() : 1.0));
    }
  }
  start_walk(request);
  last_id = id;
  ++counts.requests;
  requests.emplace(id, std::move(request));
  return id;
}

void Cascade::State::start_walk(CascadeRequest& request) {
  const std::uint32_t draw = static_cast<std::uint32_t>(request.period - 1);
  const PeriodRules drawn(*rules, options.exploration, draw);
  request.order = drawn.order;
  request.stop = drawn.stop;
  int permutation[kMaxBoxes];
  if (drawn.order == Order::random) random_permutation(options.random_order, draw, boxes(), permutation);
  PeriodOutcome& walk = request.walk.outcome;
  pandora::start_walk(*rules, drawn, boxes(), request.score.data(), permutation, walk);
  int* const end = std::remove_if(walk.order, walk.order + walk.ranked,
                                  [&](int a) { return names[static_cast<std::size_t>(a)].removed; });
  walk.ranked = static_cast<int>(end - walk.order);
}

void Cascade::State::observe(std::uint64_t id, std::size_t model, const Observation& observation) {
  CascadeRequest& open = request(id);
  require_open(id, open);
  if (open.walk.done) throw out_of_turn(fmt::format("request {} calls no further model; deploy it", id));
  if (model != static_cast<std::size_t>(open.walk.next()))
    throw out_of_turn(fmt::format("request {}: model {} is not the one to call next, {}", id,
                                  model < names.size() ? names[model].name : std::to_string(model),
                                  names[static_cast<std::size_t>(open.walk.next())].name));
  require_observation(observation);
  CascadeRequest::Call call = seen(model, observation);
  call.quality = call.shown;
  if (learns()) {
    make_current(id, open);
    call.quality = estimator->reward(output(call));
  }
  open.walk.opened(*open.rules, open.stop, open.score.data(), call.quality);
  open.calls.push_back(std::move(call));
  ++counts.calls;
  counts.dollars += observation.dollars;
}

std::size_t Cascade::State::deploy(std::uint64_t id) {
  CascadeRequest& open = request(id);
  require_open(id, open);
  if (open.calls.empty()) throw out_of_turn(fmt::format("request {} has called no model yet", id));
  open.deployed = true;
  ++counts.deployed;
  if (learns() && learning) {
    make_current(id, open);
    std::vector<Output> outputs;
    for (const CascadeRequest::Call& call : open.calls) outputs.push_back(output(call));
    estimator->learn_outputs(outputs);
    if (!needs_feedback()) settle();
  }
  return static_cast<std::size_t>(open.walk.outcome.deployed);
}

void Cascade::State::feedback(std::uint64_t id, double quality) {
  CascadeRequest& waiting = request(id);
  if (!waiting.deployed) throw out_of_turn(fmt::format("request {} is not deployed yet", id));
  if (!(quality >= 0.0 && quality <= 1.0))
    throw out_of_turn(fmt::format("request {}: quality {:g}: give one in [0, 1]", id, quality));
  ++counts.feedbacks;
  counts.quality += quality;
  if (needs_feedback() && learning) {
    make_current(id, waiting);
    const std::size_t model = static_cast<std::size_t>(waiting.walk.outcome.deployed);
    const auto call = std::find_if(waiting.calls.begin(), waiting.calls.end(),
                                   [&](const CascadeRequest::Call& c) { return c.model == model; });
    estimator->learn_reward(output(*call), static_cast<float>(quality));
    estimator->end_period();
  }
  requests.erase(id);
}

}  // namespace pandora
