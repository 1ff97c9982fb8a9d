// The decisions of a cascade as rows of a log.

#include <fmt/format.h>

#include <algorithm>

#include "host/outcomes/tables/json_rows.hpp"

namespace pandora {

namespace dom = simdjson::dom;

namespace {

// The value of a member that must be there, with a value of this type.
template <class Value>
Value value_of(const FilePlace& place, const dom::object& row, const char* member) {
  Value out{};
  if (row.at_key(member).get(out) == simdjson::SUCCESS) return out;
  place.refuse_row("has no {} \"{}\"",
                   std::is_same_v<Value, double>             ? "number"
                   : std::is_same_v<Value, std::string_view> ? "text"
                                                             : "whole number",
                   member);
}

}  // namespace

bool DecisionRows::is_one(const dom::object& row) {
  return has(row, "request") && (has(row, "calls") || (has(row, "quality") && !has(row, "model")));
}

void DecisionRows::cell(std::size_t model, std::string_view quantity, double value) {
  if (const std::size_t number = builder_.quantity(quantity); model != TraceTable::kNone && number != TraceTable::kNone)
    builder_.cell(model, number, {CellValue::Kind::number, value, {}, {}}, {"calls", quantity});
}

void DecisionRows::take(const dom::object& row, JsonRows& reader) {
  const std::string request = std::to_string(value_of<std::uint64_t>(place_, row, "request"));
  dom::array calls;
  if (row.at_key("calls").get(calls) == simdjson::SUCCESS) return take_decision(request, row, calls, reader);
  feedbacks_.emplace_back(request, value_of<double>(place_, row, "quality"));
}

void DecisionRows::take_decision(const std::string& request, const dom::object& row, const dom::array& calls,
                                 JsonRows& reader) {
  if (decisions_.empty()) builder_.is_log();
  const auto [found, is_new] = decisions_.try_emplace(request);
  if (!is_new) place_.refuse_row("request {} stands twice", request);
  const auto evaluator = value_of<std::string_view>(place_, row, "evaluator");
  const auto deployed = value_of<std::string_view>(place_, row, "deployed");
  is_truth_ = evaluator == "quality";
  builder_.find_row(request, request, TraceTable::kNone);
  reader.take_values(row, {"request", "columns", "evaluator", "features", "candidates", "calls", "deployed", "rules",
                           "failed", "only"});
  if (dom::object columns; row.at_key("columns").get(columns) == simdjson::SUCCESS) reader.take_values(columns, {});
  take_candidates(row, found->second);
  for (const dom::element element : calls) {
    dom::object call;
    if (element.get(call) != simdjson::SUCCESS) place_.refuse_row("has a call that is no object");
    take_call(call, evaluator, deployed, found->second);
  }
  if (found->second.chances.empty()) place_.refuse_row("has no call");
  if (double rules = 0.0; row.at_key("rules").get(rules) == simdjson::SUCCESS)
    cell(found->second.deployed, kByRules, rules);
}

void DecisionRows::take_candidates(const dom::object& row, Decision& decision) {
  decision.is_whole = !has(row, "failed") && !has(row, "only");
  dom::array names;
  if (row.at_key("candidates").get(names) != simdjson::SUCCESS) return;
  std::set<std::string> found;
  for (const dom::element element : names)
    if (std::string_view name; element.get(name) == simdjson::SUCCESS) found.emplace(name);
  decision.candidates = &*candidates_.insert(std::move(found)).first;
}

// Leaves out decisions that could not call every model, or were asked to call one: their probabilities belong to
// another choice.
void DecisionRows::leave_out_partial() {
  std::set<std::size_t> all;
  for (const auto& [request, decision] : decisions_)
    for (const auto& [model, chance] : decision.chances) all.insert(model);
  all.erase(TraceTable::kNone);
  std::map<const std::set<std::string>*, bool> has_all = {{nullptr, true}};
  for (const std::set<std::string>& candidates : candidates_) {
    std::set<std::size_t> models;
    for (const std::string& name : candidates) models.insert(builder_.known_model(name));
    has_all[&candidates] = std::ranges::includes(models, all);
  }
  std::size_t left_out = 0;
  for (const auto& [request, decision] : decisions_) {
    if (decision.is_whole && has_all[decision.candidates]) continue;
    builder_.find_row(request, request, TraceTable::kNone);
    builder_.leave_out();
    ++left_out;
  }
  if (left_out == decisions_.size())
    place_.refuse("has no decision in which every model could be called and none failed; name fewer models ({})",
                  option("models"));
  if (left_out > 0)
    builder_.note(fmt::format(
        "not used: {} of {} decisions in which a model failed, rested or was absent, or one model was asked for by "
        "name; with fewer models (--models) more decisions can be used",
        left_out, decisions_.size()));
}

void DecisionRows::take_call(const dom::object& call, std::string_view score, std::string_view deployed,
                             Decision& decision) {
  const auto name = value_of<std::string_view>(place_, call, "model");
  const auto number = [&](const char* member) { return value_of<double>(place_, call, member); };
  const std::size_t model = builder_.model(name);
  builder_.call(model);
  cell(model, "propensity", number("propensity"));
  cell(model, "cost", number("dollars"));
  if (double seconds = 0.0; call.at_key("latency").get(seconds) == simdjson::SUCCESS) cell(model, kLatency, seconds);
  if (has(call, "score")) cell(model, score, number("score"));
  if (name == deployed) decision.deployed = model;
  decision.chances.emplace_back(model, number("deploy_propensity"));
}

void DecisionRows::finish() {
  if (!any()) return;
  std::size_t lost = 0, known = 0;
  for (const auto& [request, quality] : feedbacks_) {
    const auto found = decisions_.find(request);
    if (found == decisions_.end() || found->second.has_feedback) {
      ++lost;
      continue;
    }
    found->second.has_feedback = true;
    ++known;
    if (is_truth_) continue;
    builder_.find_row(request, request, TraceTable::kNone);
    cell(found->second.deployed, "quality", quality);
  }
  if (lost > 0)
    builder_.note(fmt::format(
        "not used: {} feedbacks for requests that are not in the log, or that had a feedback already", lost));
  if (cut_ > 0) builder_.note(fmt::format("not used: {} incomplete last lines", cut_));
  if (decisions_.empty()) place_.refuse("has no decision that could become a row of the table");
  leave_out_partial();
  bool chosen = !is_truth_ && known > 0;  // whether every call could have been deployed
  for (const auto& [request, decision] : decisions_)
    for (const auto& [model, chance] : decision.chances) chosen &= chance > 0.0;
  const double share = static_cast<double>(known) / static_cast<double>(decisions_.size());
  for (const auto& [request, decision] : decisions_) {
    if (!chosen) break;
    builder_.find_row(request, request, TraceTable::kNone);
    for (const auto& [model, chance] : decision.chances) cell(model, "label_propensity", chance * share);
  }
  if (is_truth_) return;
  builder_.note(fmt::format("{} of {} decisions have a feedback; this assumes that only chance decided which ones",
                            known, decisions_.size()));
  if (!chosen && known > 0)
    builder_.note("some answers could not be deployed (explore was 0): only the judge tells their quality");
}

}  // namespace pandora
