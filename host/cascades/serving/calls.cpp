#include "host/cascades/serving/calls.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <set>

#include "pandora/error.hpp"

namespace pandora {
std::size_t position_of(const Cascade& cascade, const std::string& name) {
  const std::vector<CascadeModel> models = cascade.models();
  const auto found = std::ranges::find(models, name, &CascadeModel::name);
  if (found == models.end()) throw Error(ExitCode::usage, "there is no model " + name);
  return static_cast<std::size_t>(found - models.begin());
}

std::string difference(const Cascade& later, const Cascade& earlier) {
  const CascadeOptions own = later.options(), other = earlier.options();
  const std::vector<CascadeModel> models = later.models();
  for (const std::string& name : other.models)
    if (std::ranges::find(models, name, &CascadeModel::name) == models.end()) return "model, " + name;
  return own.about != other.about ? "fit" : own.evaluator != other.evaluator ? "evaluator" : "";
}

namespace {

using Json = nlohmann::json;

Prompt prompt_of(const Json& call) {
  Prompt prompt;
  prompt.text = call.value("text", "");
  const Json columns = call.value("columns", Json::object());
  if (!columns.is_object()) throw Error(ExitCode::usage, "\"columns\" must be an object");
  for (const auto& item : columns.items()) {
    const Json& value = item.value();
    if (value.is_string())
      prompt.columns[item.key()] = value.get<std::string>();
    else if (value.is_array())
      prompt.columns[item.key()] = value.get<std::vector<double>>();
    else if (value.is_null())
      prompt.columns[item.key()] = std::monostate();
    else
      prompt.columns[item.key()] = value.get<double>();
  }
  return prompt;
}

Json next(Cascade& cascade, std::uint64_t request) {
  const auto model = cascade.next(request);
  return model ? Json(cascade.model_name(*model)) : Json();
}

Json next_of(Cascade& cascade, std::uint64_t request) {
  return {{"next", next(cascade, request)}};
}

Observation observation_of(const Json& call) {
  Observation out;
  out.dollars = call.at("dollars");
  if (call.contains("scores"))
    out.scores = call["scores"].get<std::vector<double>>();
  else if (call.contains("score"))
    out.scores = {call["score"].get<double>()};
  if (call.contains("latency")) out.latency = call["latency"];
  return out;
}

Json counts(Cascade& cascade) {
  const CascadeCounts n = cascade.counts();
  return {{"epoch", cascade.epoch()},  // the upper bits of the numbers of requests
          {"requests", n.requests},         {"calls", n.calls},
          {"deployed", n.deployed},         {"feedbacks", n.feedbacks},
          {"failures", n.failures},         {"cancelled", n.cancelled},
          {"dropped_open", n.dropped_open}, {"dropped_waiting", n.dropped_waiting},
          {"unlogged", n.unlogged},         {"unsolved_refits", n.unsolved_refits},
          {"dollars", n.dollars},           {"quality", n.quality}};
}

// What a call does and answers, and whether it changes anything.
using Request = std::uint64_t;
struct OfCascade {
  bool changes;
  Json (*make)(Cascade&, const Json& call);
};
struct OfRequest {  // the answer is without the request's number
  bool changes;
  Json (*make)(Cascade&, Request, const Json& call);
};

const std::map<std::string, OfCascade> kOfCascade = {
    {"begin",
     {true,
      [](Cascade& c, const Json& call) -> Json {
        const Request request =
            call.contains("psi") ? c.begin(call["psi"].get<std::vector<float>>()) : c.begin(prompt_of(call));
        return {{"request", request}, {"next", next(c, request)}};
      }}},
    {"add_model",
     {true,
      [](Cascade& c, const Json& call) -> Json {
        return {{"model", c.model_name(c.add_model(call.at("model")))}};
      }}},
    {"remove_model",
     {true, [](Cascade& c, const Json& call) { return c.remove_model(call.at("model")), Json::object(); }}},
    {"set_price", {true, [](Cascade& c, const Json& call) { return c.set_price(call.at("price")), Json::object(); }}},
    {"set_explore",
     {true, [](Cascade& c, const Json& call) { return c.set_explore(call.at("explore")), Json::object(); }}},
    {"models",
     {false,
      [](Cascade& c, const Json&) -> Json {
        Json out = Json::array();
        for (const CascadeModel& m : c.models())
          out.push_back(
              {{"model", m.name}, {"removed", m.removed}, {"failures", m.failures}, {"rests", m.rests_until > 0}});
        return {{"models", out}};
      }}},
    {"adopt",  // a store's own: Cascade::adopt
     {true, [](Cascade& c, const Json& call) { return c.adopt(call.at("more")), Json::object(); }}},
    {"counts", {false, [](Cascade& c, const Json&) { return counts(c); }}}};

const std::map<std::string, OfRequest> kOfRequest = {
    {"next", {false, [](Cascade& c, Request request, const Json&) { return next_of(c, request); }}},
    {"needs_score",
     {false,
      [](Cascade& c, Request request, const Json&) -> Json {
        return {{"needs_score", c.needs_score(request)}};
      }}},
    {"explain", {false, [](Cascade& c, Request request, const Json&) { return Json::parse(c.explain_json(request)); }}},
    {"observe",
     {true,
      [](Cascade& c, Request request, const Json& call) {
        c.observe(request, position_of(c, call.at("model")), observation_of(call));
        return next_of(c, request);
      }}},
    {"fail",
     {true,
      [](Cascade& c, Request request, const Json& call) {
        c.fail(request, position_of(c, call.at("model")), call.value("dollars", 0.0), call.value("reason", ""));
        return next_of(c, request);
      }}},
    {"skip",
     {true,
      [](Cascade& c, Request request, const Json& call) {
        c.skip(request, position_of(c, call.at("model")), call.value("dollars", 0.0));
        return next_of(c, request);
      }}},
    {"only",
     {true,
      [](Cascade& c, Request request, const Json& call) {
        c.only(request, position_of(c, call.at("model")));
        return next_of(c, request);
      }}},
    {"cancel", {true, [](Cascade& c, Request request, const Json&) { return c.cancel(request), Json::object(); }}},
    {"deploy",
     {true,
      [](Cascade& c, Request request, const Json&) -> Json {
        return {{"deployed", c.model_name(c.deploy(request))}};
      }}},
    {"feedback", {true, [](Cascade& c, Request request, const Json& call) {
                    return c.feedback(request, call.at("quality")), Json::object();
                  }}}};

// What calls read, but for a prompt's text and columns.
const std::set<std::string, std::less<>> kKept = {"op",      "request", "model", "psi",    "dollars",
                                                  "score",   "scores",  "price", "reason", "latency",
                                                  "explore", "quality", "more"};

// As nlohmann-json's own parser would have read it.
Json as_json(const simdjson::dom::element& element) {
  using Type = simdjson::dom::element_type;
  switch (element.type()) {
    case Type::OBJECT: {
      Json out = Json::object();
      for (const auto& [key, value] : simdjson::dom::object(element)) out[std::string(key)] = as_json(value);
      return out;
    }
    case Type::ARRAY: {
      Json out = Json::array();
      for (const simdjson::dom::element value : simdjson::dom::array(element)) out.push_back(as_json(value));
      return out;
    }
    case Type::INT64: {
      const auto number = std::int64_t(element);
      return number < 0 ? Json(number) : Json(static_cast<std::uint64_t>(number));
    }
    case Type::UINT64:
      return std::uint64_t(element);
    case Type::DOUBLE:
      return double(element);
    case Type::STRING:
      return std::string(std::string_view(element));
    case Type::BOOL:
      return bool(element);
    case Type::NULL_VALUE:
      break;
  }
  return nullptr;
}

// What nlohmann-json throws, such as "[json.exception.type_error.302] type must be number".
template <class Body>
auto in_words(const Body& body) try {
  return body();
} catch (const Json::exception& error) {
  const std::string what = error.what();
  throw Error(ExitCode::usage,
              "not a call: " + what.substr(what.find("] ") == std::string::npos ? 0 : what.find("] ") + 2));
}

}  // namespace

Json parse_call(const std::string& line) {
  static thread_local simdjson::dom::parser parser;  // ten times as fast, of which a psi of many numbers has need
  return in_words([&] {
    simdjson::dom::element root;
    Json call =
        parser.parse(line).get(root) == simdjson::SUCCESS ? as_json(root) : Json::parse(line);  // throws in words
    (void)call.at("op").get<std::string>();
    return call;
  });
}

bool changes(const Json& call) {
  return in_words([&] {
    const auto op = call.at("op").get<std::string>();
    if (const auto found = kOfCascade.find(op); found != kOfCascade.end()) return found->second.changes;
    if (const auto found = kOfRequest.find(op); found != kOfRequest.end()) return found->second.changes;
    throw Error(ExitCode::usage, "op \"" + op + "\" is unknown");
  });
}

std::optional<Json> kept_form(const Cascade& cascade, const Json& call) {
  return in_words([&]() -> std::optional<Json> {
    const bool of_prompt = call.at("op") == "begin" && !call.contains("psi");
    const auto is_kept = [](const auto& member) { return kKept.contains(member.key()); };
    const auto members = call.items();
    if (!of_prompt && std::all_of(members.begin(), members.end(), is_kept)) return {};
    Json out = Json::object();
    for (const auto& member : members)
      if (is_kept(member)) out[member.key()] = member.value();
    if (of_prompt) out["psi"] = cascade.context_of(prompt_of(call));
    return out;
  });
}

Json make_call(Cascade& cascade, const Json& call) {
  (void)changes(call);  // whether it is known
  return in_words([&] {
    const auto op = call.at("op").get<std::string>();
    if (const auto found = kOfCascade.find(op); found != kOfCascade.end()) return found->second.make(cascade, call);
    const Json number = call.value("request", Json());
    if (!number.is_number_unsigned())
      throw Error(ExitCode::usage, "\"request\" must be the number that begin has answered");
    const auto request = number.get<std::uint64_t>();
    Json out = kOfRequest.at(op).make(cascade, request, call);
    out["request"] = request;
    return out;
  });
}

}  // namespace pandora
