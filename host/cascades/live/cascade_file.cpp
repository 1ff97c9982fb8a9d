// A cascade as a file: JSON that people read, and the learner's numbers as one sealed member.
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "host/cascades/live/cascade_state.hpp"
#include "host/cascades/live/new_cascade.hpp"
#include "host/cascades/live/request_json.hpp"
#include "host/cascades/live/rules_json.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/sealed_file.hpp"

namespace pandora {

namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1, kVersionOfPlans = 2;             // files without plans are still what older programs read
constexpr std::uint64_t kMostFile = std::uint64_t{1} << 30;  // bytes
constexpr const char* kStateKind = "cascade";

std::string base64(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string from_base64(const std::string& text) {
  std::string out(3 * (text.size() / 4), '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  require(size >= 0 && text.size() % 4 == 0, "has a state that is not base64");
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  out.resize(static_cast<std::size_t>(size) - std::min(padding, static_cast<std::size_t>(size)));
  return out;
}

std::vector<std::size_t> positions(const Json& json, const char* name, const std::vector<std::string>& models) {
  std::vector<std::size_t> out;
  for (const std::string& model : value_of<std::vector<std::string>>(json, name)) {
    const auto found = std::find(models.begin(), models.end(), model);
    require(found != models.end(), fmt::format("has \"{}\" with a model that is not among its models", name));
    out.push_back(static_cast<std::size_t>(found - models.begin()));
  }
  return out;
}

Json plan_json(const CascadePlan& plan, const std::vector<std::string>& models) {
  Json order = Json::array();
  for (const std::size_t model : plan.order) order.push_back(models[model]);
  return {{"order", order}, {"thresholds", plan.thresholds}};
}

std::string digest_of(const Json& without_digest) {
  return sha256(without_digest.dump(-1, ' ', true));
}

CascadeOptions options_of(const Json& json) {
  CascadeOptions out;
  const auto kind = value_of<std::string>(json, "kind");
  const bool plans = kind == "router" || kind == "routed";
  require(plans || kind == "thresholds" || kind == "indices", fmt::format("is of an unknown kind, \"{}\"", kind));
  out.models = value_of<std::vector<std::string>>(json, "models");
  out.price = value_of<double>(json, "price");
  out.evaluator = value_of<std::string>(json, "evaluator");
  if (const Json& maps = member(json, "calibration"); !maps.is_null()) {
    require(maps.is_array(), "has a \"calibration\" of another type");
    for (const Json& map : maps)
      out.calibration.push_back(
          {value_of<std::vector<double>>(map, "scores"), value_of<std::vector<double>>(map, "qualities")});
  }
  if (const Json& features = member(json, "features"); !features.is_null()) out.features = features.dump();
  out.index_features = value_of<int>(json, "index_features");
  out.reward_features = value_of<int>(json, "reward_features");
  if (json.contains("psi_range")) out.psi_range = value_of<std::vector<std::pair<float, float>>>(json, "psi_range");
  if (plans) {
    const Json& list = member(json, "plans");
    require(list.is_array() && !list.empty(), "has a \"plans\" of another type");
    for (const Json& plan : list)
      out.plans.push_back({positions(plan, "order", out.models), value_of<std::vector<double>>(plan, "thresholds")});
    out.router = member(json, "router").dump();
  } else if (kind == "thresholds") {
    out.order = positions(json, "order", out.models);
    out.thresholds = value_of<std::vector<double>>(json, "thresholds");
  } else {
    out.rules = rules_of(member(json, "rules"));
  }
  out.estimation = estimation_of(member(json, "estimation"));
  out.exploration = stream_of(member(json, "exploration"), Purpose::exploration);
  out.random_order = stream_of(member(json, "random_order"), Purpose::random_order);
  out.most_requests = value_of<std::size_t>(json, "most_requests");
  if (json.contains("explore")) out.explore = value_of<double>(json, "explore");
  if (json.contains("trial_calls")) out.trial_calls = value_of<int>(json, "trial_calls");
  if (json.contains("failures_until_rest")) {
    out.failures_until_rest = value_of<int>(json, "failures_until_rest");
    out.requests_of_rest = value_of<std::uint64_t>(json, "requests_of_rest");
  }
  if (const Json& about = member(json, "about"); !about.is_null()) out.about = about.dump();
  return out;
}

}  // namespace

CascadeOptions cascade_options(const std::string& json) {
  const CascadeOptions usual;
  Json all = {{"calibration", Json()},
              {"features", Json()},
              {"index_features", usual.index_features},
              {"reward_features", usual.reward_features},
              {"estimation", estimation_json(usual.estimation)},
              {"exploration", stream_json(usual.exploration)},
              {"random_order", stream_json(usual.random_order)},
              {"most_requests", usual.most_requests},
              {"about", Json()}};
  const std::set<std::string> others = {
      "kind",  "models",    "price",   "evaluator",           "order",       "thresholds",      "plans", "router",
      "rules", "psi_range", "explore", "failures_until_rest", "trial_calls", "requests_of_rest"};
  try {
    const Json given = Json::parse(json);
    require(given.is_object(), "is no object");
    for (const auto& [name, value] : given.items())
      require(all.contains(name) || others.contains(name), fmt::format("has an unknown \"{}\"", name));
    all.update(given);
    return options_of(all);
  } catch (const Json::exception&) {
    throw refusal("what it is made of is not JSON");
  } catch (const Damaged& damage) {
    throw refusal("what it is made of {}", damage.what());
  }
}

Json Cascade::State::written() const {
  Json out = {{"version", options.plans.empty() ? kVersion : kVersionOfPlans},
              {"kind", kind_of(options)},
              {"models", options.models},
              {"removed", Json::array()},
              {"order", Json()},
              {"thresholds", Json()},
              {"price", options.price},
              {"evaluator", options.evaluator},
              {"calibration", Json()},
              {"features", options.features.empty() ? Json() : features.to_json()},
              {"index_features", options.index_features},
              {"reward_features", options.reward_features},
              {"rules", options.rules ? rules_json(*options.rules) : Json()},
              {"estimation", estimation_json(options.estimation)},
              {"exploration", stream_json(options.exploration)},
              {"random_order", stream_json(options.random_order)},
              {"most_requests", options.most_requests},
              {"about", options.about.empty() ? Json() : Json::parse(options.about)},
              {"state", Json()}};
  if (!options.psi_range.empty()) out["psi_range"] = options.psi_range;
  if (options.explore > 0.0) out["explore"] = options.explore;
  const CascadeOptions usual;
  if (options.trial_calls != usual.trial_calls) out["trial_calls"] = options.trial_calls;
  if (std::pair(options.failures_until_rest, options.requests_of_rest) !=
      std::pair(usual.failures_until_rest, usual.requests_of_rest))
    out.update({{"failures_until_rest", options.failures_until_rest}, {"requests_of_rest", options.requests_of_rest}});
  for (const CascadeModel& model : names)
    if (model.removed) out["removed"].push_back(model.name);
  for (const CascadePlan& plan : options.plans) out["plans"].push_back(plan_json(plan, options.models));
  if (!options.plans.empty())
    out["router"] = router.to_json();
  else if (!learns())
    out.update(plan_json({options.order, options.thresholds}, options.models));
  if (!calibration.empty()) {
    out["calibration"] = Json::array();
    for (const IsotonicMap& map : calibration)
      out["calibration"].push_back({{"scores", map.scores}, {"qualities", map.qualities}});
  }
  if (learns() || last_id > 0) out["state"] = written_state();
  return out;
}

std::string Cascade::State::written_state() const {
  const CascadeCounts& n = counts;
  Json state = {
      {"last_id", last_id},
      {"current", current},
      {"learning", learning},
      {"counts",
       {n.requests, n.calls, n.deployed, n.feedbacks, n.dropped_open, n.dropped_waiting, n.failures, n.cancelled}},
      {"sums", pack(std::vector<double>{n.dollars, n.quality})},
      {"requests", Json::array()}};
  if (std::ranges::any_of(names, [](const CascadeModel& model) { return model.failures > 0 || model.trial > 0; }))
    for (const CascadeModel& model : names)
      state["failures"].push_back({model.failures, model.rests_until, model.tried_by, model.trial});
  for (const auto& [id, request] : requests) state["requests"].push_back(request_json(id, request));
  if (learns()) {
    const std::string bytes = estimator->saved();
    state["estimator"] = Json::binary({bytes.begin(), bytes.end()});
  }
  const std::string sealed = seal(kStateKind, state);
  if (sealed.size() > kMostState)  // which bound_memory() has seen to
    throw Error(ExitCode::internal,
                fmt::format("cascade: what it has learned takes {} MiB, more than a file of this kind may have",
                            sealed.size() >> 20));
  return base64(sealed);
}

void Cascade::State::read_state(const Json& packed) {
  if (packed.is_null()) return;
  require(packed.is_string(), "has a \"state\" of another type");
  const Json state = unseal(kStateKind, from_base64(packed.get<std::string>()));
  last_id = value_of<std::uint64_t>(state, "last_id");
  current = value_of<std::uint64_t>(state, "current");
  learning = value_of<bool>(state, "learning");
  const auto n = value_of<std::vector<std::uint64_t>>(state, "counts");
  require((n.size() == 6 || n.size() == 8) && current <= last_id, "has counts that cannot be");
  const std::vector<double> sums = unpack(member(state, "sums"), 2);
  CascadeCounts& c = counts;
  c.requests = n[0], c.calls = n[1], c.deployed = n[2], c.feedbacks = n[3], c.dropped_open = n[4],
  c.dropped_waiting = n[5];
  if (n.size() == 8) c.failures = n[6], c.cancelled = n[7];
  c.dollars = sums[0], c.quality = sums[1];
  if (state.contains("failures")) {
    const auto failures = value_of<std::vector<std::array<std::uint64_t, 4>>>(state, "failures");
    require(failures.size() == names.size(), "has failures of other models");
    for (std::size_t model = 0; model < names.size(); ++model) {
      require(std::max(failures[model][0], failures[model][3]) <= 1'000'000'000, "has too many failures");
      names[model].failures = static_cast<int>(failures[model][0]);
      names[model].rests_until = failures[model][1];
      names[model].tried_by = failures[model][2];
      names[model].trial = static_cast<int>(failures[model][3]);
    }
  }
  const Json& open = member(state, "requests");
  require(open.is_array(), "has requests of another type");
  for (const Json& one : open) {
    const auto id = value_of<std::uint64_t>(one, "id");
    require(id > 0 && id <= last_id, "has a request that never began");
    CascadeRequest request = request_of(one, index_features(), names.size(), *rules);
    if (learns()) request.rules = rules;
    for (const CascadeRequest::Call& call : request.calls)
      require(call.phi.size() == (rules->learns_reward() ? reward_features() : 0), "has a call with other features");
    requests.emplace(id, std::move(request));
  }
  if (!learns()) return;
  const Json& bytes = member(state, "estimator");
  require(bytes.is_binary(), "has no estimator");
  estimator->restore(std::string(bytes.get_binary().begin(), bytes.get_binary().end()));
}

std::string Cascade::text() const {
  const State::Alone state(*state_);
  Json out = state->written();
  out["digest"] = digest_of(out);
  return out.dump(2, ' ', true) + "\n";
}

Cascade Cascade::parse(const std::string& text, const std::string& name) {
  try {
    Json json = Json::parse(text);
    require(json.is_object() && json.contains("version") && json.contains("digest"), "is no cascade");
    require(json["version"] == kVersion || json["version"] == kVersionOfPlans,
            "is a cascade of another version of the format");
    const Json digest = json["digest"];
    json.erase("digest");
    require(digest == digest_of(json), "was changed or is damaged (its digest differs); fit again, or save it again");
    Cascade out(options_of(json));
    for (const std::size_t model : positions(json, "removed", out.state_->options.models))
      out.state_->names[model].removed = true;
    out.state_->read_state(member(json, "state"));
    return out;
  } catch (const Json::exception&) {
    throw Error(ExitCode::bad_data, name + ": is not JSON; give a file that `pandora cascade fit` or a service wrote");
  } catch (const Damaged& damage) {
    throw Error(ExitCode::bad_data, fmt::format("{}: {}", name, damage.what()));
  } catch (const Error& error) {
    throw Error(ExitCode::bad_data, fmt::format("{}: {}", name, error.marked()));
  }
}

Cascade Cascade::load(const std::filesystem::path& path) {
  try {
    return parse(read_file(path, kMostFile), path.string());
  } catch (const Unreadable& problem) {
    throw Error(ExitCode::bad_data, fmt::format("{}: {}", path.string(), problem.what()));
  }
}

}  // namespace pandora
