// Where a cascade does something else than its rules say, with probabilities that are known.
#include <algorithm>
#include <limits>

#include "host/cascades/live/cascade_state.hpp"
#include "host/cascades/live/decision_log.hpp"

namespace pandora {
namespace {

constexpr std::uint32_t kExploringBox = 2;  // of the stream; 0 and 1 are the policies' (Purpose::exploration)
constexpr std::uint32_t kDeploying = 1u << 16;

struct Draws {
  double coin, which;
};

Draws drawn(const Stream& stream, int period, std::uint32_t step) {
  std::uint32_t words[4][1];
  const std::uint32_t block[1] = {step}, periods[1] = {static_cast<std::uint32_t>(period)}, box[1] = {kExploringBox};
  philox<1>(stream, block, periods, box, words);
  return {open_uniform(words[0][0]), open_uniform(words[1][0])};
}

std::size_t one_of(std::size_t count, double uniform) {
  return std::min(static_cast<std::size_t>(uniform * static_cast<double>(count)), count - 1);
}

}  // namespace

// What comes next: the rules' step or, with probability `explore`, a model of those that are left.
void Cascade::State::choose_next(CascadeRequest& request) const {
  request.next = request.walk.done ? CascadeRequest::kNothing : static_cast<std::size_t>(request.walk.next());
  request.propensity = 1.0;
  if (options.explore == 0.0 || request.only || (!sees() && !request.calls.empty())) return;
  std::vector<std::size_t> left;
  for (std::size_t model = 0; model < request.score.size(); ++model)  // those that were there when it began
    if (!is_absent(request, model) &&
        std::ranges::none_of(request.calls, [&](const auto& call) { return call.model == model; }))
      left.push_back(model);
  if (left.empty()) return;
  const std::size_t by_rules = request.next;
  const Draws draws = drawn(options.exploration, request.period,
                            static_cast<std::uint32_t>(request.calls.size() + request.passed_over.size()));
  if (draws.coin < options.explore) request.next = left[one_of(left.size(), draws.which)];
  request.propensity = options.explore / static_cast<double>(left.size());
  if (request.next == by_rules) request.propensity += 1.0 - options.explore;
}

// Puts a model that is out of turn in front of those that are left. A threshold goes with its model; one that has none is
// not what querying stops at.
void Cascade::State::bring_forward(CascadeRequest& request, int box) {
  PeriodOutcome& walk = request.walk.outcome;
  int* const at = walk.order + walk.queried;
  if (!request.walk.done && *at == box) return;
  request.explored = true;
  int* place = std::find(at, walk.order + walk.ranked, box);
  if (place == walk.order + walk.ranked) *(place = walk.order + walk.ranked++) = box;
  if (request.rules->order == Order::listed) {
    LaneSpec own = *request.rules;
    own.threshold[walk.ranked - 1] = std::numeric_limits<double>::infinity();
    double* const threshold = own.threshold + walk.queried;
    std::rotate(threshold, own.threshold + (place - walk.order), own.threshold + (place - walk.order) + 1);
    request.rules = std::make_shared<const LaneSpec>(own);
  }
  std::rotate(at, place, place + 1);
}

// The answer that is deployed in place of the best one; with what probability each of the calls is.
std::size_t Cascade::State::choose_deployed(CascadeRequest& request) const {
  const std::size_t best = static_cast<std::size_t>(request.walk.outcome.deployed), count = request.calls.size();
  const double explore = sees() && count > 1 && !request.only ? options.explore : 0.0;
  for (CascadeRequest::Call& call : request.calls)
    call.deploy_propensity = explore / static_cast<double>(count) + (call.model == best ? 1.0 - explore : 0.0);
  const Draws draws = drawn(options.exploration, request.period, kDeploying);
  return draws.coin < explore ? request.calls[one_of(count, draws.which)].model : best;
}

void Cascade::State::set_explore(double explore) {
  if (!(explore >= 0.0 && explore <= 1.0)) throw refusal("explore {:g}: give a probability, from 0 to 1", explore);
  options.explore = explore;
  for (auto& [id, request] : requests)
    if (!request.deployed) choose_next(request);
}

// The probability with which a request went as the rules say in all of its steps; 0 where it did not.
double Cascade::State::went_by_rules(const CascadeRequest& request) const {
  if (request.explored || request.only) return 0.0;
  double probability = 1.0, best = 0.0, deployed = 0.0;
  for (const CascadeRequest::Call& call : request.calls) {
    probability *= call.propensity;
    best = std::max(best, call.deploy_propensity);
    if (call.model == static_cast<std::size_t>(request.walk.outcome.deployed)) deployed = call.deploy_propensity;
  }
  if (deployed < best) return 0.0;
  std::size_t left = 0;
  for (std::size_t model = 0; model < request.score.size(); ++model) left += !is_absent(request, model);
  return probability * deployed * (sees() && left > request.calls.size() ? 1.0 - options.explore : 1.0);
}

nlohmann::json Cascade::State::decision_line(const CascadeRequest& request) const {
  const auto known = [](double x) { return std::isnan(x) ? nlohmann::json() : nlohmann::json(x); };
  nlohmann::json line = {{"request", request.number},
                         {"time", time_of_day()},
                         {"evaluator", options.evaluator},
                         {"features", features_digest},
                         {"psi", request.psi},
                         {"candidates", nlohmann::json::array()},
                         {"calls", nlohmann::json::array()},
                         {"deployed", names[static_cast<std::size_t>(request.walk.outcome.deployed)].name},
                         {"rules", went_by_rules(request)}};
  if (request.only) line["only"] = true;
  for (std::size_t model = 0; model < request.score.size(); ++model)
    if (!names[model].removed && (request.resting >> model & 1) == 0) line["candidates"].push_back(names[model].name);
  for (const CascadeRequest::Call& call : request.calls) {
    line["calls"].push_back({{"model", names[call.model].name},
                             {"propensity", call.propensity},
                             {"dollars", call.dollars},
                             {"latency", known(call.latency)},
                             {"deploy_propensity", call.deploy_propensity}});
    if (call.scores.size() == 1) line["calls"].back()["score"] = call.scores[0];
    if (call.scores.size() > 1) line["calls"].back()["scores"] = call.scores;
  }
  for (const CascadeRequest::PassedOver& failed : request.passed_over)
    line["failed"].push_back(
        {{"model", names[failed.model].name}, {"dollars", failed.dollars}, {"reason", failed.reason}});
  line.update(request.prompt);
  return line;
}

template <class Line>
void Cascade::State::log(const Line& line) noexcept try {
  if (decisions != nullptr && !decisions->write(line())) ++counts.unlogged;
} catch (...) {
  ++counts.unlogged;
}

void Cascade::State::log_decision(const CascadeRequest& request) noexcept {
  log([&] { return decision_line(request); });
}

void Cascade::State::log_feedback(std::uint64_t number, double quality) noexcept {
  log([&] { return nlohmann::json{{"request", number}, {"time", time_of_day()}, {"quality", quality}}; });
}

}  // namespace pandora
