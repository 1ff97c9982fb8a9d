// A cascade's file in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/fit_tables.hpp"
#include "host/cascades/fits/judge_cascade.hpp"
#include "host/cascades/live/cascade_record.hpp"
#include "host/outcomes/tables/evaluator_spec.hpp"

namespace pandora {
namespace {

using nlohmann::json;

// Texts and numbers of a record that anybody may have written.
std::string text_at(const json& record, const json::json_pointer& place) {
  const json none;
  const json& found = record.contains(place) ? record.at(place) : none;
  return found.is_string()   ? found.get<std::string>()
         : found.is_number() ? fmt::format("{:g}", found.get<double>())
                             : "";
}

Interval interval_at(const json& record, const json::json_pointer& place) {
  try {
    return interval_of(record.at(place));
  } catch (const json::exception&) {
    return {std::nan(""), std::nan(""), std::nan("")};
  }
}

std::string share_at(const json& record, const std::string& model, const char* what) {
  const auto shares = record.find("shares");
  if (shares == record.end() || !shares->is_array()) return "---";
  for (const json& share : *shares)
    if (share.is_object() && share.value("model", json()) == json(model) && share.value(what, json()).is_number())
      return fmt::format("{:.1f}%", 100.0 * share[what].get<double>());
  return "---";
}

// "0.5 is worth 0.71" at the knots' ends.
std::string calibration_text(const CascadeOptions& cascade, std::size_t model) {
  if (cascade.rules && cascade.rules->learns_reward()) return "learned";
  if (cascade.calibration.empty()) return "none";
  const ScoreCalibration& map = cascade.calibration[model];
  if (map.scores.empty()) return "none";
  return fmt::format("{:.3g} is worth {:.3g}, {:.3g} is worth {:.3g}", map.scores.front(), map.qualities.front(),
                     map.scores.back(), map.qualities.back());
}

Table models_of_cascade(const CascadeOptions& cascade, const json& record, const std::string& file) {
  Table out;
  out.title = fmt::format("{}: {}, price {:g}, {}", file,
                          cascade.rules               ? "indices that depend on the prompt"
                          : cascade.order.size() == 1 ? "one model"
                                                      : "models in order, with thresholds",
                          cascade.price,
                          record.contains("promise") ? evaluator_text(cascade.evaluator, counted_judge_usd(record))
                                                     : "evaluator " + cascade.evaluator);
  out.columns = {"model", "accepted from", "called", "deployed", "calibration"};
  for (std::size_t i = 0; i < (cascade.rules ? cascade.models.size() : cascade.order.size()); ++i) {
    const std::size_t m = cascade.rules ? i : cascade.order[i];
    const std::string& name = cascade.models[m];
    const std::string from = cascade.rules                   ? "---"
                             : i < cascade.thresholds.size() ? fmt::format("{:.4g}", cascade.thresholds[i])
                                                             : "always";
    out.rows.push_back({{name, from, share_at(record, name, "called"), share_at(record, name, "deployed"),
                         calibration_text(cascade, m)}});
  }
  const bool several = cascade.rules || cascade.order.size() > 1;
  if (several && cascade.calibration.empty() && !(cascade.rules && cascade.rules->learns_reward()))
    out.notes.push_back("No calibration: what is seen of an answer is taken for its quality.");
  if (cascade.rules) {
    out.notes.push_back(
        "For each prompt the models get indices from its features; they are called in the order of their indices, "
        "until the best answer so far is worth as much as the next index. The best answer is deployed.");
    if (cascade.features.empty() && cascade.index_features > 1)
      out.notes.push_back(fmt::format("Of a prompt {} numbers are given.", cascade.index_features));
  } else if (cascade.order.size() > 1) {
    out.notes.push_back(
        "Models are called from the first row on. Where the estimated quality of an answer reaches the number, nothing "
        "more is called. The best answer so far is deployed, an earlier one too.");
  }
  return out;
}

Table promise_of_cascade(const json& record) {
  using namespace nlohmann::literals;
  Table out;
  out.title = fmt::format("Promised by the fit on {} ({} prompts), {}, for other prompts; 95% intervals",
                          text_at(record, "/table"_json_pointer), text_at(record, "/prompts"_json_pointer),
                          evaluator_text(text_at(record, "/evaluator"_json_pointer), counted_judge_usd(record)));
  out.columns = {"", "utility", "gain over best single", "quality", "$ per 1,000", "saving"};
  const auto add = [&](const std::string& name, const std::string& place) {
    const auto at = [&](const char* what) { return interval_at(record, json::json_pointer(place + "/" + what)); };
    out.rows.push_back({{name, interval_text(at("utility"), 4), interval_text(at("gain"), 4),
                         interval_text(at("quality"), 4), usd_text(at("usd_per_1000")), share_text(at("saving"))}});
  };
  add("cascade", "/promise");
  add("best single model", "/single");
  out.notes.push_back("best single model: " + text_at(record, "/single/model"_json_pointer));
  out.notes.push_back(fmt::format("choice: {}; runner-up: {}", text_at(record, "/choice"_json_pointer),
                                  text_at(record, "/runner_up"_json_pointer)));
  const auto notes = record.find("notes");
  if (notes != record.end() && notes->is_array())
    for (const json& note : *notes)
      if (note.is_string()) out.notes.push_back(note.get<std::string>());
  out.notes.push_back("verdict: " + text_at(record, "/verdict"_json_pointer));
  return out;
}

}  // namespace

std::vector<Table> show_tables(const CascadeOptions& cascade, const CascadeCounts& counts, const std::string& file) {
  const json record = record_of(cascade);
  std::vector<Table> out = {models_of_cascade(cascade, record, file)};
  if (counts.requests > 0)
    out[0].notes.push_back(fmt::format("It has had {} requests with {} calls for ${:.4g}, and {} feedbacks.",
                                       counts.requests, counts.calls, counts.dollars, counts.feedbacks));
  if (record.contains("promise"))
    out.push_back(promise_of_cascade(record));
  else
    out[0].notes.push_back("It was not fitted by `pandora cascade fit`: nothing is promised.");
  return out;
}

}  // namespace pandora
