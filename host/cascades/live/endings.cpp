// Calls that bring no answer, requests that are given up, and models that rest for it.
#include <algorithm>
#include <utility>

#include "host/cascades/live/cascade_state.hpp"

namespace pandora {

// The request, if that model is the one to call next.
CascadeRequest& Cascade::State::to_call(std::uint64_t number, std::size_t model) {
  CascadeRequest& open = requests.at(id_of(number));
  if (open.deployed) throw refusal("request {} is deployed already", number);
  if (open.next == CascadeRequest::kNothing) throw refusal("request {} calls no further model; deploy it", number);
  if (model != open.next)
    throw refusal("request {}: model {} is not the one to call next, {}", number,
                  model < names.size() ? names[model].name : std::to_string(model), names[open.next].name);
  return open;
}

bool Cascade::State::is_absent(const CascadeRequest& request, std::size_t model) const {
  return names[model].removed || (request.resting >> model & 1) != 0 ||
         std::ranges::any_of(request.passed_over, [&](const auto& over) { return over.model == model; });
}

void Cascade::State::leave_out_absent(CascadeRequest& request) const {
  for (std::size_t model = 0; model < request.score.size(); ++model)
    if (is_absent(request, model)) go_on_without(request, static_cast<int>(model));
}

// Those that rest while request `id` begins. From rests_until on one request at a time tries a model.
std::uint32_t Cascade::State::resting_at(std::uint64_t id) const {
  std::uint32_t out = 0;
  for (std::size_t model = 0; model < names.size(); ++model) {
    const CascadeModel& of = names[model];
    if (of.rests_until == 0) continue;
    const auto trial = requests.find(of.tried_by);
    const bool is_tried = trial != requests.end() && !trial->second.deployed && !is_absent(trial->second, model);
    if (id < of.rests_until || is_tried) out |= 1u << model;
  }
  return out;
}

// Request `id`, which has begun, tries those that have rested.
void Cascade::State::begin_trials(std::uint64_t id) {
  for (std::size_t model = 0; model < names.size(); ++model)
    if (names[model].rests_until > 0 && !is_absent(requests.at(id), model)) names[model].tried_by = id;
}

void Cascade::State::pass_over(std::uint64_t number, std::size_t model, double dollars, const std::string& reason,
                               bool failed) {
  const std::uint64_t id = id_of(number);
  CascadeRequest& open = to_call(number, model);
  require_dollars(dollars);
  CascadeRequest after = open;
  constexpr std::size_t kLongestReason = 60;  // so that it takes no more than a call (bytes_of_a_request)
  after.passed_over.push_back({model, dollars, reason.substr(0, kLongestReason)});
  Attempt attempt(*this);
  if (!after.walk.done) go_on_without(after, static_cast<int>(model));
  if (after.walk.outcome.ranked == 0) {
    after.only = false;
    rank(id, after);
  } else {
    choose_next(after);
  }
  attempt.keep();
  open = std::move(after);
  counts.dollars += dollars;
  if (!failed) return;
  ++counts.failures;
  CascadeModel& of = names[model];
  if (++of.failures < options.failures_until_rest || options.failures_until_rest == 0) return;
  of.rests_until = last_id + options.requests_of_rest + 1;
  of.tried_by = 0;
}

void Cascade::State::only(std::uint64_t number, std::size_t model) {
  CascadeRequest& open = requests.at(id_of(number));
  if (open.deployed || !open.calls.empty()) throw refusal("request {} has called a model already", number);
  if (model >= open.score.size() || is_absent(open, model))
    throw refusal("request {}: model {} is not there, rests or was passed over", number,
                  model < names.size() ? names[model].name : std::to_string(model));
  open.walk.outcome.order[0] = static_cast<int>(model);
  open.walk.outcome.ranked = 1;
  open.walk.done = false;
  open.next = model;
  open.propensity = 1.0;
  open.only = true;
}

void Cascade::State::cancel(std::uint64_t number) {
  const std::uint64_t id = id_of(number);
  if (requests.at(id).deployed) throw refusal("request {} is deployed already", number);
  requests.erase(id);
  ++counts.cancelled;
}

}  // namespace pandora
