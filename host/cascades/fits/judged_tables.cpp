// What `pandora cascade test` prints.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/cascades/fits/judge_cascade.hpp"
#include "host/cascades/fits/trained_table.hpp"

namespace pandora {

using nlohmann::json;

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
  if (judged.running) add("rules of the log", *judged.running);
  add(judged.against + " alone", judged.alone);
  out.rows.push_back({{"gain", interval_text(judged.worth.gain, 4), "", "", ""}, {}, true});
  out.rows.push_back({{"saving", share_text(judged.worth.saving), "", "", ""}});
  out.notes = judged.notes;
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
  out.update({{"cascade", judged.cascade},
              {"table", judged.table},
              {"rows", judged.rows},
              {"prompts", judged.prompts},
              {"price", judged.price},
              {"evaluator", judged.evaluator},
              {"judge_usd", judged.judge_usd ? json(*judged.judge_usd) : json()},
              {"against", judged.against},
              {"alone", json_of(judged.alone)},
              {"same_table", judged.same_table},
              {"estimator", kEstimatorNames[static_cast<int>(judged.estimator)]},
              {"effective_prompts", judged.effective_prompts},
              {"verdict", judged.verdict}});
  if (const std::optional<SerialLatency>& l = judged.latency)
    out["latency"] = {{"p50", l->p50}, {"p95", l->p95}, {"alone", {{"p50", l->alone_p50}, {"p95", l->alone_p95}}}};
  if (judged.promise) out["promise"] = json_of(*judged.promise);
  if (judged.running) out["running"] = json_of(*judged.running);
  return out;
}

}  // namespace pandora
