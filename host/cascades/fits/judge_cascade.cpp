#include "host/cascades/fits/judge_cascade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/aim.hpp"
#include "host/cascades/fits/run_prompts.hpp"
#include "host/cascades/live/cascade_record.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/outcomes/tables/evaluator_spec.hpp"
#include "host/outcomes/tables/prompt_groups.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

using nlohmann::json;

// A member of a record that somebody else may have written: `none` where it is absent or of another type.
template <class T>
T member(const json& record, const char* name, T none) {
  const auto found = record.find(name);
  if (found == record.end()) return none;
  try {
    return found->get<T>();
  } catch (const json::exception&) {
    return none;
  }
}

std::size_t model_against(const TraceTable& table, const std::string& name, bool asked) {
  const auto found = std::find(table.models.begin(), table.models.end(), name);
  if (found == table.models.end())
    throw Error(ExitCode::bad_data, fmt::format("{}: has no model {}{}; {}name one of the table's with --against",
                                                table.source, name, nearest_text(nearest(name, table.models)),
                                                asked ? "" : "it was the best single model of the fit; "));
  return static_cast<std::size_t>(found - table.models.begin());
}

bool calls_one_model(const CascadeOptions& cascade) {
  return !cascade.rules && cascade.order.size() == 1;
}

std::string bound_sentence(const json& record, const CascadeWorth& worth) {
  const json aim = member(record, "aim", json::object());
  const std::string kind = aim.is_object() ? member(aim, "kind", std::string()) : "";
  const double value = aim.is_object() ? member(aim, "value", 0.0) : 0.0;
  if (kind == "max_usd") {
    const double usd = worth.usd_per_1000.value / 1000.0;
    return fmt::format("; at most {:g} dollars per prompt {} here: {:.3g}", value,
                       usd <= value ? "holds" : "does not hold", usd);
  }
  if (kind == "min_quality")
    return fmt::format("; quality of at least {:g} {} here: {:.4f}", value,
                       worth.quality.value >= value ? "holds" : "does not hold", worth.quality.value);
  return "";
}

std::string judged_verdict(const JudgedCascade& judged, const CascadeOptions& cascade, const json& record) {
  const std::string bound = bound_sentence(record, judged.worth);
  if (calls_one_model(cascade) && cascade.models[cascade.order[0]] == judged.against)
    return fmt::format("the cascade is {} alone: quality {} at ${} per 1,000 prompts{}", judged.against,
                       interval_text(judged.worth.quality, 4), usd_text(judged.worth.usd_per_1000), bound);
  const Interval& gain = judged.worth.gain;
  const char* const how = gain.low > 0.0 ? "better than" : gain.high < 0.0 ? "worse than" : "not told apart from";
  return fmt::format("the cascade is {} {} alone: it gains {} in utility per prompt at price {:g} and {}{}", how,
                     judged.against, interval_text(gain, 4), judged.price, saving_text(judged.worth.saving), bound);
}

}  // namespace

JudgedCascade judge_cascade(const Cascade& cascade, const std::string& file, const TraceTable& table,
                            const std::string& against, const std::string& evaluator, std::optional<double> judge_usd) {
  require_content(table);
  require_judge_usd(judge_usd);
  CascadeOptions options = cascade.options();
  const json record = record_of(options);
  JudgedCascade out;
  out.fitted_for = options.evaluator;
  if (!evaluator.empty()) options.evaluator = evaluator;
  out.evaluator = options.evaluator;
  out.judge_usd = judge_usd ? judge_usd : counted_judge_usd(record);
  const double judge = calls_one_model(options) ? 0.0 : out.judge_usd.value_or(0.0);
  const CascadeInput input = cascade_input(options, table, judge);
  const PromptGroups groups = group_prompts(table);
  const std::vector<std::size_t> rows = all_rows(table.rows());
  out.cascade = file;
  out.table = table.source;
  out.rows = table.rows();
  out.prompts = groups.count;
  out.price = options.price;
  out.same_table = member(record, "digest", std::string()) == content_digest(table);
  if (record.contains("promise")) out.promise = worth_in(record["promise"]);
  const Outcomes outcomes{table.models.size(), table.quality, table.quality, table.cost};
  const std::string fitted =
      record.contains("single") ? member(record["single"], "model", std::string()) : std::string();
  out.chosen_here = against.empty() && fitted.empty();
  const std::size_t model = out.chosen_here
                                ? best_single_model(outcomes, options.price, rows)
                                : model_against(table, against.empty() ? fitted : against, !against.empty());
  out.against = table.models[model];
  const Routed alone = evaluate(outcomes, FixedCascade{{model}, {}}, rows);
  Cascade copy = Cascade::parse(cascade.text(), file);
  const Routed routed = run_prompts(copy, input, rows);
  out.worth = worth_of(routed, alone, options.price, groups, 0);
  out.tail = dollar_tail(routed.dollars, groups);
  out.alone = worth_of(alone, alone, options.price, groups, 0);
  const double dearer = out.price * out.worth.calls.value;  // utility of a dollar more for each call
  const bool gains = !calls_one_model(options) && out.worth.gain.value > 0.0 && dearer > 0.0;
  out.verdict = judged_verdict(out, options, record) + "; " +
                eyes_text(out.evaluator, out.judge_usd, gains ? out.worth.gain.value / dearer : 0.0);
  return out;
}

Table judged_table(const JudgedCascade& judged) {
  Table out;
  out.title =
      fmt::format("{} on {}: {} prompts, price {:g}, {}; 95% intervals over prompts", judged.cascade, judged.table,
                  judged.prompts, judged.price, evaluator_text(judged.evaluator, judged.judge_usd));
  out.columns = {"", "utility", "quality", "$ per 1,000", "calls"};
  const auto add = [&](const std::string& name, const CascadeWorth& worth) {
    out.rows.push_back({{name, interval_text(worth.utility, 4), interval_text(worth.quality, 4),
                         usd_text(worth.usd_per_1000), interval_text(worth.calls, 2)}});
  };
  add("cascade", judged.worth);
  if (judged.promise) add("promised", *judged.promise);
  add(judged.against + " alone", judged.alone);
  out.rows.push_back({{"gain", interval_text(judged.worth.gain, 4), "", "", ""}, {}, true});
  out.rows.push_back({{"saving", share_text(judged.worth.saving), "", "", ""}});
  if (judged.same_table)
    out.notes.push_back("this is the table that the cascade was fitted on: it looks better here than elsewhere");
  if (judged.evaluator != judged.fitted_for)
    out.notes.push_back(fmt::format("the cascade was made to see {}, for which the promise was; here it sees {}",
                                    judged.fitted_for, judged.evaluator));
  if (judged.chosen_here)
    out.notes.push_back(judged.against + " is the best single model of this very table; the cascade names none");
  if (judged.tail.heavy())
    out.notes.push_back("intervals of dollars and savings may be too narrow: " + tail_text(judged.tail));
  out.notes.push_back("verdict: " + judged.verdict);
  return out;
}

json judged_json(const JudgedCascade& judged) {
  json out = json_of(judged.worth);
  out["cascade"] = judged.cascade;
  out["table"] = judged.table;
  out["rows"] = judged.rows;
  out["prompts"] = judged.prompts;
  out["price"] = judged.price;
  out["evaluator"] = judged.evaluator;
  out["judge_usd"] = judged.judge_usd ? json(*judged.judge_usd) : json();
  out["against"] = judged.against;
  out["alone"] = json_of(judged.alone);
  out["same_table"] = judged.same_table;
  if (judged.promise) out["promise"] = json_of(*judged.promise);
  out["verdict"] = judged.verdict;
  return out;
}

}  // namespace pandora
