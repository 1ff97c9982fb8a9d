// Requests under way as members of a cascade's file.
#include "host/cascades/live/request_json.hpp"

#include <algorithm>

namespace pandora {

using Json = nlohmann::json;

Json request_json(std::uint64_t id, const CascadeRequest& request) {
  const PeriodOutcome& walk = request.walk.outcome;
  Json out = {{"id", id},
              {"number", request.number},
              {"period", request.period},
              {"psi", pack<float>(request.psi)},
              {"order", static_cast<int>(request.order)},
              {"stop", static_cast<int>(request.stop)},
              {"deployed", request.deployed},
              {"explored", request.explored},
              {"propensity", pack(std::span(&request.propensity, 1))},
              {"walk", std::vector<int>(walk.order, walk.order + walk.ranked)},
              {"chosen", walk.deployed},
              {"best", pack(std::span(&request.walk.best, 1))},
              {"done", request.walk.done},
              {"calls", Json::array()}};
  for (const auto& [name, numbers] : {std::pair{"score", &request.score},
                                      {"prediction", &request.prediction},
                                      {"width", &request.width},
                                      {"bonus", &request.bonus}})
    out[name] = pack(*numbers);
  if (request.next != CascadeRequest::kNothing) out["next"] = request.next;
  if (request.only) out["only"] = true;
  if (request.resting != 0) out["resting"] = request.resting;
  for (const CascadeRequest::PassedOver& over : request.passed_over)
    out["passed_over"].push_back({{"model", over.model}, {"dollars", over.dollars}, {"reason", over.reason}});
  if (request.rules->order == Order::listed) out["threshold"] = pack(std::span(request.rules->threshold, kMaxBoxes));
  for (const CascadeRequest::Call& call : request.calls)
    out["calls"].push_back(
        {{"model", call.model},
         {"numbers", pack(std::vector<double>{call.dollars, call.quality, call.shown})},
         {"scores", pack(call.scores)},
         {"logged", pack(std::vector<double>{call.latency, call.propensity, call.deploy_propensity})},
         {"phi", pack<float>(call.phi)},
         {"size", call.phi.size()}});
  return out;
}

namespace {

CascadeRequest::Call call_of(const Json& json, std::size_t models) {
  CascadeRequest::Call call;
  call.model = value_of<std::size_t>(json, "model");
  require(call.model < models, "has a call of a model that is not there");
  const std::vector<double> numbers = unpack(member(json, "numbers"), 3);
  call.dollars = numbers[0], call.quality = numbers[1], call.shown = numbers[2];
  call.phi = unpack<float>(member(json, "phi"), value_of<std::size_t>(json, "size"));
  if (!json.contains("logged")) return call;  // files of before
  const std::vector<double> logged = unpack(member(json, "logged"), 3);
  call.scores = unpack(member(json, "scores"));
  call.latency = logged[0], call.propensity = logged[1], call.deploy_propensity = logged[2];
  return call;
}

// What comes next, and what was passed over.
void read_steps(const Json& json, std::size_t models, CascadeRequest& out) {
  out.only = json.contains("only");
  if (json.contains("resting")) out.resting = value_of<std::uint32_t>(json, "resting");
  if (json.contains("passed_over"))
    for (const Json& over : json["passed_over"]) {
      out.passed_over.push_back({value_of<std::size_t>(over, "model"), value_of<double>(over, "dollars"),
                                 value_of<std::string>(over, "reason")});
      require(out.passed_over.back().model < models, "has a failure of a model that is not there");
    }
  if (json.contains("propensity")) {
    out.explored = value_of<bool>(json, "explored");
    out.propensity = unpack(member(json, "propensity"), 1)[0];
    if (json.contains("next")) out.next = value_of<std::size_t>(json, "next");
    const bool again = std::ranges::any_of(out.calls, [&](const auto& call) { return call.model == out.next; });
    require(out.next == CascadeRequest::kNothing || (out.next < out.score.size() && !again),
            "has a request for a model that is not there");
  } else if (!out.deployed && !out.walk.done) {
    out.next = static_cast<std::size_t>(out.walk.next());
  }
}

}  // namespace

CascadeRequest request_of(const Json& json, std::size_t m, std::size_t models, const LaneSpec& rules) {
  CascadeRequest out;
  // Files of before have none: a request was known by its id.
  out.number = value_of<std::uint64_t>(json, json.contains("number") ? "number" : "id");
  out.period = value_of<int>(json, "period");
  out.psi = unpack<float>(member(json, "psi"), m);
  const int order = value_of<int>(json, "order"), stop = value_of<int>(json, "stop");
  require(order >= 0 && order <= static_cast<int>(Order::random) && stop >= 0 && stop <= static_cast<int>(Stop::never),
          "has a request by rules that are not known");
  out.order = static_cast<Order>(order);
  out.stop = static_cast<Stop>(stop);
  out.deployed = value_of<bool>(json, "deployed");
  out.score = unpack(member(json, "score"));
  for (auto& [name, numbers] :
       {std::pair{"prediction", &out.prediction}, {"width", &out.width}, {"bonus", &out.bonus}}) {
    *numbers = unpack(member(json, name));
    require(numbers->empty() || numbers->size() == out.score.size(), "has a request with scores of another length");
  }
  require(!out.score.empty() && out.score.size() <= models, "has a request with scores of another length");
  const auto boxes = value_of<std::vector<int>>(json, "walk");
  const Json& calls = member(json, "calls");
  require(calls.is_array() && calls.size() <= boxes.size() && boxes.size() <= models,
          "has a request with too many calls");
  PeriodOutcome& walk = out.walk.outcome;
  for (const int box : boxes) {
    require(box >= 0 && static_cast<std::size_t>(box) < out.score.size(),
            "has a request for a model that is not there");
    require(std::find(walk.order, walk.order + walk.ranked, box) == walk.order + walk.ranked,
            "has a request that calls a model twice");
    walk.order[walk.ranked++] = box;
  }
  walk.queried = static_cast<int>(calls.size());
  walk.deployed = value_of<int>(json, "chosen");
  require(walk.deployed >= 0 && static_cast<std::size_t>(walk.deployed) < models, "has a request for no model");
  out.walk.best = unpack(member(json, "best"), 1)[0];
  out.walk.done = value_of<bool>(json, "done");
  require(out.walk.done || walk.queried < walk.ranked, "has a request that never ends");
  for (const Json& called : calls) out.calls.push_back(call_of(called, models));
  const auto is_chosen = [&](const auto& call) { return call.model == static_cast<std::size_t>(walk.deployed); };
  require((calls.empty() && !out.deployed) || std::ranges::any_of(out.calls, is_chosen),
          "has a request that deploys what it did not call");
  read_steps(json, models, out);
  LaneSpec own = rules;
  if (own.order == Order::listed) {
    const std::vector<double> threshold = unpack(member(json, "threshold"), kMaxBoxes);
    std::copy(threshold.begin(), threshold.end(), own.threshold);
  }
  out.rules = std::make_shared<const LaneSpec>(own);
  return out;
}

}  // namespace pandora
