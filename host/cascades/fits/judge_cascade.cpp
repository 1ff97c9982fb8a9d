#include "host/cascades/fits/judge_cascade.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/trained_table.hpp"
#include "host/cascades/live/rules_json.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/tables/table.hpp"
#include "kernels/rules/shrinkage.hpp"

namespace pandora {
namespace {

using nlohmann::json;

// Of a record that anybody may have written: what stands there, as a text and as a number.
json value_at(const json& record, const std::string& place) {
  const json::json_pointer pointer(place);
  return record.contains(pointer) ? record.at(pointer) : json();
}

std::string text_at(const json& record, const std::string& place) {
  const json found = value_at(record, place);
  return found.is_string()   ? found.get<std::string>()
         : found.is_number() ? fmt::format("{:g}", found.get<double>())
                             : "";
}

double number_at(const json& record, const std::string& place) {
  const json found = value_at(record, place);
  return found.is_number() ? found.get<double>() : std::nan("");
}

CascadeAim aim_in(const json& record) {
  using Kind = CascadeAim::Kind;
  const std::string kind = text_at(record, "/aim/kind");
  return {kind == "max_usd"       ? Kind::most_usd
          : kind == "min_quality" ? Kind::least_quality
                                  : Kind::price,
          number_at(record, "/aim/value")};
}

std::string bound_sentence(const CascadeAim& aim, const CascadeWorth& worth) {
  if (!aim.is_bound()) return "";
  const double usd = worth.usd_per_1000.value / 1000.0, quality = worth.quality.value;
  const bool holds = aim.is_on_dollars() ? usd <= aim.value : quality >= aim.value;
  return fmt::format("; {} {} here: {}", aim_text(aim), holds ? "holds" : "does not hold",
                     aim.is_on_dollars() ? fmt::format("{:.3g}", usd) : fmt::format("{:.4f}", quality));
}

std::string judged_verdict(const JudgedCascade& judged, const CascadeOptions& cascade, const json& record) {
  const std::string bound = bound_sentence(aim_in(record), judged.worth);
  if (cascade.order.size() == 1 && cascade.models[cascade.order[0]] == judged.against)
    return fmt::format("the cascade is {} alone: quality {} at ${} per 1,000 prompts{}", judged.against,
                       interval_text(judged.worth.quality, 4), usd_text(judged.worth.usd_per_1000), bound);
  const Interval& gain = judged.running ? judged.running->gain : judged.worth.gain;
  const char* const how = gain.low > 0.0 ? "better than" : gain.high < 0.0 ? "worse than" : "not told apart from";
  return fmt::format("the cascade is {} {}: it gains {} in utility per prompt at price {:g}{}{}", how,
                     judged.running ? "the rules that made the log, without exploring" : judged.against + " alone",
                     interval_text(gain, 4), judged.price,
                     judged.running ? "" : " and " + saving_text(judged.worth.saving), bound);
}

// The members of a list that are objects, or texts.
std::vector<json> list_at(const json& record, const char* name, bool (json::*is)() const noexcept) {
  std::vector<json> out;
  const auto found = record.find(name);
  if (found != record.end() && found->is_array())
    std::copy_if(found->begin(), found->end(), std::back_inserter(out), [is](const json& one) { return (one.*is)(); });
  return out;
}

std::string share_at(const json& record, const std::string& model, const char* what) {
  for (const json& share : list_at(record, "shares", &json::is_object))
    if (share.value("model", json()) == json(model) && share.value(what, json()).is_number())
      return fmt::format("{:.1f}%", 100.0 * share[what].get<double>());
  return "---";
}

// "0.5 is worth 0.71" at the knots' ends.
std::string calibration_text(const CascadeOptions& cascade, std::size_t model) {
  if (cascade.rules && cascade.rules->learns_reward()) return "learned";
  if (cascade.calibration.empty() || cascade.calibration[model].scores.empty()) return "none";
  const ScoreCalibration& map = cascade.calibration[model];
  return fmt::format("{:.3g} is worth {:.3g}, {:.3g} is worth {:.3g}", map.scores.front(), map.qualities.front(),
                     map.scores.back(), map.qualities.back());
}

Table models_of_cascade(const CascadeOptions& cascade, const json& record, const std::string& file) {
  Table out;
  out.title = fmt::format("{}: {}, price {:g}, {}", file,
                          cascade.rules && cascade.features.empty() && cascade.index_features == 1 ? "indices"
                          : cascade.rules             ? "indices that depend on the prompt"
                          : !cascade.plans.empty()    ? "plans, one of which is chosen for each prompt"
                          : cascade.order.size() == 1 ? "one model"
                                                      : "models in order, with thresholds",
                          cascade.price,
                          record.contains("promise") ? evaluator_text(cascade.evaluator, counted_judge_usd(record))
                                                     : "evaluator " + cascade.evaluator);
  out.columns = {"model", "accepted from", "called", "deployed", "calibration"};
  const bool by_prompt = cascade.rules || !cascade.plans.empty();
  for (std::size_t i = 0; i < (by_prompt ? cascade.models.size() : cascade.order.size()); ++i) {
    const std::size_t m = by_prompt ? i : cascade.order[i];
    const std::string& name = cascade.models[m];
    const std::string from = by_prompt                       ? "---"
                             : i < cascade.thresholds.size() ? fmt::format("{:.4g}", cascade.thresholds[i])
                                                             : "always";
    out.rows.push_back({{name, from, share_at(record, name, "called"), share_at(record, name, "deployed"),
                         calibration_text(cascade, m)}});
  }
  if (!cascade.plans.empty()) out.notes.push_back(plans_text(cascade));
  const bool several = !calls_one_model(cascade);
  if (several && cascade.calibration.empty() && !(cascade.rules && cascade.rules->learns_reward()))
    out.notes.push_back("No calibration: what is seen of an answer is taken for its quality.");
  if (cascade.rules) {
    out.notes.push_back(
        "For each prompt the models get indices from its features; they are called in the order of their indices, "
        "until the best answer so far is worth as much as the next index. The best answer is deployed.");
    if (cascade.features.empty() && cascade.index_features > 1)
      out.notes.push_back(fmt::format("Of a prompt {} numbers are given.", cascade.index_features));
    if (cascade.estimation.forgetting.half_life > 0.0)
      out.notes.push_back(
          fmt::format("After {:g} requests a sample counts half.", cascade.estimation.forgetting.half_life));
  } else if (cascade.order.size() > 1) {
    out.notes.push_back(
        "Models are called from the first row on. Where the estimated quality of an answer reaches the number, nothing "
        "more is called. The best answer so far is deployed, an earlier one too.");
  }
  return out;
}

const std::vector<std::string> kWorth = {"",      "utility", "gain over best single", "quality", "$ per 1,000",
                                         "calls", "saving"};

Row worth_row(const std::string& name, const json& record) {
  const CascadeWorth worth = worth_in(record);
  return {{name, interval_text(worth.utility, 4), interval_text(worth.gain, 4), interval_text(worth.quality, 4),
           usd_text(worth.usd_per_1000), number_text(worth.calls.value, 2), share_text(worth.saving)}};
}

// "choice: thresholds; runner-up: indices; indices less thresholds is 0.0021 ..."
std::string choice_note(const json& record) {
  std::string out = fmt::format("choice: {}; runner-up: {}", text_at(record, "/choice"), text_at(record, "/runner_up"));
  const double difference = interval_in(record, "difference").value;
  const double error = number_at(record, "/difference/error");
  if (std::isnan(difference)) return out;
  const bool saves = aim_in(record).kind == CascadeAim::Kind::least_quality;
  const bool named = record.contains("compared");  // files of before compare these two
  const std::string more = named ? text_at(record, "/compared/0") : "indices",
                    simpler = named ? text_at(record, "/compared/1") : "thresholds";
  out += fmt::format("; {} less {} is {:.4g}{}, with a standard error of {:.2g}", more, simpler, difference,
                     saves ? " $ saved per 1,000 prompts" : "", error);
  if (difference > 0.0 && difference <= error && text_at(record, "/cascade") == simpler)
    out += fmt::format(": {} {} not lead by more than that, so the simpler kind is taken", more,
                       more == "indices" || more == "thresholds" ? "do" : "does");
  return out;
}

Table fit_of_cascade(const json& record, const CascadeCounts& counts, const std::string& evaluator) {
  Table out;
  const std::string price = text_at(record, "/price"), prompts = text_at(record, "/prompts");
  out.title = fmt::format(
      "Fitted for {} on {} prompts with {} models ({}), {}: utility = quality - {} x dollars; what to expect of other "
      "prompts, with 95% intervals",
      aim_text(aim_in(record)), prompts, list_at(record, "models", &json::is_string).size(), text_at(record, "/table"),
      evaluator, price);
  out.columns = kWorth;
  out.rows.push_back(worth_row(kind_text(CascadeKind::single), record.value("single", json())));
  for (const CascadeKind kind : kCascadeKinds)
    if (const json& kinds = record.value("kinds", json()); kinds.contains(kind_text(kind)))
      out.rows.push_back(worth_row(kind_text(kind), kinds[kind_text(kind)]));
  if (record.contains("running")) out.rows.push_back(worth_row("rules of the log", record["running"]));
  out.rows.push_back({worth_row("promise", record["promise"]).cells, {}, true});
  out.notes.push_back("best single: " + text_at(record, "/single/model"));
  out.notes.push_back(choice_note(record));
  if (record.contains("bound")) out.notes.push_back("price found: " + price);
  if (counts.unsolved_refits > 0)
    out.notes.push_back(fmt::format("{} fit of the indices ended at {} steps, before its tolerance",
                                    counts.unsolved_refits, RefitPlan::kMostSteps));
  out.notes.push_back(
      record.value("out_of_fold", json()) == json(true)
          ? "promise: what is deployed, on other prompts; each fifth of these prompts was judged by a fit "
            "to the other four, calibrated, fitted and chosen in the same way"
          : "promise: what is deployed, on other prompts; its value on these prompts is reduced by what "
            "calibration, fit and choice gain on prompts that they saw");
  const auto tail = [&](const std::string& name) { return number_at(record, "/dollar_tail/" + name); };
  const auto count = [](double x) { return x >= 0.0 && x < 1e15 ? static_cast<std::size_t>(x) : std::size_t{0}; };
  if (value_at(record, "/dollar_tail/heavy") == json(true))
    out.notes.push_back(
        "intervals of dollars and savings may be too narrow: " +
        tail_text({tail("skewness"), count(number_at(record, "/prompts")), count(tail("dearest")), tail("share")}));
  for (const json& note : list_at(record, "notes", &json::is_string)) out.notes.push_back(note);
  out.notes.push_back("verdict: " + text_at(record, "/verdict"));
  return out;
}

Table others_of_cascade(const std::string& title, const std::vector<json>& others, bool changed) {
  Table out;
  out.title = title;
  out.columns = kWorth;
  if (changed) out.columns.insert(out.columns.begin() + 1, "change of utility");
  for (const json& other : others) {
    Row& row = out.rows.emplace_back(worth_row(text_at(other, "/what"), other));
    if (changed) row.cells.insert(row.cells.begin() + 1, interval_text(interval_in(other, "change"), 4));
  }
  return out;
}

}  // namespace

JudgedCascade judge_cascade(const Cascade& cascade, const std::string& file, const TraceTable& table,
                            const std::string& against, const std::string& evaluator, std::optional<double> judge_usd,
                            std::optional<Estimator> estimator, Openings openings) {
  require_content(table);
  require_judge_usd(judge_usd);
  require_log_for(openings, table, estimator.has_value());
  CascadeOptions options = cascade.options();
  const json record = record_of(options);
  JudgedCascade out;
  out.fitted_for = options.evaluator;
  if (!evaluator.empty()) options.evaluator = evaluator;
  out.evaluator = options.evaluator;
  if (out.evaluator == kNoEvaluator && !calls_one_model(options))
    throw Error(ExitCode::usage, "evaluator none: the cascade looks at scores; name a judge, or quality");
  out.judge_usd = judge_usd ? judge_usd : counted_judge_usd(record);
  const CascadeInput input = cascade_input(options, table, out.judge_usd.value_or(0.0));
  out.cascade = file;
  out.table = table.source;
  out.rows = table.rows();
  out.prompts = group_prompts(table).count;
  out.price = options.price;
  out.same_table = text_at(record, "/digest") == content_digest(table);
  if (record.contains("promise")) out.promise = worth_in(record["promise"]);
  const Outcomes outcomes{table.models.size(), table.quality, table.quality, table.cost};
  const std::string fitted = text_at(record, "/single/model");
  out.chosen_here = against.empty() && fitted.empty();
  const std::string& named = against.empty() ? fitted : against;
  const auto found = std::find(table.models.begin(), table.models.end(), named);
  if (!out.chosen_here && found == table.models.end())
    table.refuse("has no model {}{}; {}name one of the table's with --against", named,
                 nearest_text(nearest(named, table.models)),
                 against.empty() ? "it was the best single model of the fit; " : "");
  out.estimator = chosen_estimator(table, estimator);
  const bool plain = out.estimator == Estimator::plugin;
  if (!plain && out.chosen_here)
    table.refuse("cannot say which single model is the best, as not all is known; name one with --against");
  const std::size_t model = out.chosen_here ? best_single_model(outcomes, options.price, all_rows(table.rows()))
                                            : static_cast<std::size_t>(found - table.models.begin());
  out.against = table.models[model];
  Cascade copy = Cascade::parse(cascade.text(), file);
  copy.set_explore(0.0);  // what is promised is what the rules do
  const LoggedWorth worth =
      plain ? plain_worth(copy, input, model) : logged_worth(copy, input, model, out.estimator, openings);
  out.worth = worth.worth;
  out.alone = worth.alone;
  out.tail = worth.tail;
  out.effective_prompts = worth.effective_prompts;
  out.latency = worth.latency;
  out.notes = worth.notes;
  out.running = worth.running;
  const double judged = worth.judged_calls, dearer = out.price * judged;  // utility of a dollar more for each of them
  const bool gains = out.worth.gain.value > 0.0 && dearer > 0.0, unseen = !options.plans.empty() && judged == 0.0;
  out.verdict = judged_verdict(out, options, record) + "; " +
                (unseen ? "no answer is judged"
                        : eyes_text(out.evaluator, out.judge_usd, gains ? out.worth.gain.value / dearer : 0.0)) +
                assumed_text(openings);
  return out;
}

std::vector<Table> show_tables(const CascadeOptions& cascade, const CascadeCounts& counts, const std::string& file) {
  const json record = record_of(cascade);
  std::vector<Table> out = {models_of_cascade(cascade, record, file)};
  std::vector<std::string>& notes = out[0].notes;
  if (counts.requests > 0)
    notes.push_back(fmt::format("It has had {} requests with {} calls for ${:.4g}, and {} feedbacks.", counts.requests,
                                counts.calls, counts.dollars, counts.feedbacks));
  if (cascade.explore > 0.0) notes.push_back(fmt::format("At {:g} of its steps it explores.", cascade.explore));
  if (!record.contains("promise")) {
    notes.push_back("It was not fitted by `pandora cascade fit`: nothing is promised.");
    return out;
  }
  if (const std::vector<json> never = list_at(record, "never", &json::is_string); !never.empty())
    notes.push_back(
        fmt::format("never worth calling: {}", fmt::join(std::vector<std::string>(never.begin(), never.end()), ", ")));
  const std::string evaluator = evaluator_text(text_at(record, "/evaluator"), counted_judge_usd(record));
  out.push_back(fit_of_cascade(record, counts, evaluator));
  if (const auto others = list_at(record, "without", &json::is_object); !others.empty())
    out.push_back(others_of_cascade("Without one model: the same kind fitted anew; " + evaluator, others, true));
  const auto elsewhere = list_at(record, "elsewhere", &json::is_object);
  if (elsewhere.empty()) return out;
  out.push_back(others_of_cascade(
      "Under other circumstances: the same kind fitted anew, beside the best single model there; " + evaluator,
      elsewhere, false));
  if (const double gone = number_at(record, "/break_even_judge_usd"); counted_judge_usd(record) && gone > 0.0)
    out.back().notes.push_back(
        fmt::format("as it is, the gain is gone where judging an answer costs ${:.2g} more", gone));
  return out;
}

}  // namespace pandora
