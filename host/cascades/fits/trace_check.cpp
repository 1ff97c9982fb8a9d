#include "host/cascades/fits/trace_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/ground/tables/table.hpp"
#include "host/outcomes/logs/labels.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"

namespace pandora {
namespace {

using nlohmann::json;

std::string dollars(double x) {
  return x != 0.0 && std::abs(x) < 0.1 ? fmt::format("{:.2g}", x) : number_text(x, 2);
}

// An order with what is asked between its models.
std::string order_text(const TraceTable& table, const std::vector<std::size_t>& order,
                       const std::vector<double>& stops) {
  std::string out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    out += table.models[order[i]];
    if (i + 1 < order.size()) out += fmt::format(" (stop from {:.4g}), ", stops[i]);
  }
  return out;
}

Table models_table(const TraceCheck& check, const TraceTable& table) {
  Table out;
  out.title =
      fmt::format("{} prompts, {} models: quality, and dollars per 1,000 prompts", table.rows(), table.models.size());
  out.columns = {"model", "quality", "least", "greatest", "$ per 1,000", "least", "greatest"};
  if (!check.means.empty()) out.columns.insert(out.columns.end(), {"estimated quality", "times as wide"});
  for (std::size_t m = 0; m < table.models.size(); ++m) {
    const ModelFacts& facts = check.facts.models[m];
    out.rows.push_back({{table.models[m], number_text(facts.quality.mean, 4), number_text(facts.quality.least, 4),
                         number_text(facts.quality.greatest, 4), dollars(facts.usd_per_1000.mean),
                         dollars(facts.usd_per_1000.least), dollars(facts.usd_per_1000.greatest)}});
    if (!check.means.empty()) {
      out.rows.back().cells.push_back(interval_text(check.means[m].quality, 4));
      out.rows.back().cells.push_back(number_text(check.means[m].widening, 2));
    }
  }
  if (check.facts.prompts < table.rows())
    out.notes.push_back(fmt::format("{} rows have the prompt of another row; intervals count {} different prompts",
                                    table.rows() - check.facts.prompts, check.facts.prompts));
  if (table.log || table.unlabelled() > 0) {
    out.notes.push_back(fmt::format("estimators for it: {}", fmt::join(estimator_names(check.can), ", ")));
    out.notes.insert(out.notes.end(), check.can.reasons.begin(), check.can.reasons.end());
  }
  if (table.log)
    out.notes.push_back(
        "quality and dollars are plain means over the calls that were made and what is known of them, which depends on what "
        "was decided: they do not compare models; prices are not used, as `pandora cascade fit` says what pays");
  if (!check.means.empty())
    out.notes.push_back(
        "estimated quality: of the model alone, with its 95% interval, by what is known and with what probability; it is so "
        "many times as wide as were all answers of as many prompts known");
  out.notes.insert(out.notes.end(), table.notes.begin(), table.notes.end());
  return out;
}

Table correlation_table(const TraceCheck& check, const TraceTable& table) {
  const std::size_t models = table.models.size();
  Table out;
  out.title = "Correlation of the models' qualities (indices are optimal for independent models)";
  out.columns = {"model"};
  for (std::size_t b = 0; b < models; ++b) out.columns.push_back(fmt::format("{}", b + 1));
  for (std::size_t a = 0; a < models; ++a) {
    Row row{{fmt::format("{} {}", a + 1, table.models[a])}};
    for (std::size_t b = 0; b < models; ++b)
      row.cells.push_back(number_text(check.facts.correlation[a * models + b], 2));
    out.rows.push_back(row);
  }
  return out;
}

Table judges_table(const TraceCheck& check, const TraceTable& table) {
  Table out;
  out.title =
      "Judges: correlation of score and quality, and the share of the quality's variance within a model that "
      "the calibrated score explains";
  out.columns = {"score", "model", "correlation", "explained"};
  out.row_headers = 2;
  for (const EvaluatorFacts& judge : check.facts.evaluators) {
    out.rows.push_back({{judge.name, "all", number_text(judge.all.correlation, 2), number_text(judge.all.explained, 2)},
                        {},
                        !out.rows.empty()});
    for (std::size_t m = 0; m < table.models.size(); ++m)
      out.rows.push_back({{"", table.models[m], number_text(judge.models[m].correlation, 2),
                           number_text(judge.models[m].explained, 2)}});
  }
  return out;
}

Table calibration_table(const EvaluatorFacts& judge) {
  Table out;
  out.title = fmt::format("What {} says: mean quality of the answers by their score", judge.name);
  out.columns = {"score", "answers", "mean score", "mean quality"};
  for (std::size_t k = 0; k < judge.tenths.size(); ++k) {
    const ScoreTenth& tenth = judge.tenths[k];
    out.rows.push_back(
        {{fmt::format("{:.1f} to {:.1f}", static_cast<double>(k) / 10.0, static_cast<double>(k + 1) / 10.0),
          std::to_string(tenth.answers), number_text(tenth.score, 3), number_text(tenth.quality, 3)}});
  }
  return out;
}

Row worth_row(const std::string& name, const CascadeWorth& worth, bool with_gain) {
  return {{name, interval_text(worth.utility, 4), with_gain ? interval_text(worth.gain, 4) : "---",
           number_text(worth.quality.value, 4), dollars(worth.usd_per_1000.value), number_text(worth.calls.value, 2)}};
}

Table headroom_table(const TraceCheck& check, const TraceTable& table, std::size_t p) {
  const Headroom& h = check.headrooms[p];
  Table out;
  out.title = fmt::format("Price {:g}: utility = quality - {:g} x dollars, evaluator {}; 95% intervals over {} prompts",
                          h.price, h.price, check.evaluator, check.facts.prompts);
  out.columns = {"policy", "utility", "gain over best single", "quality", "$ per 1,000", "calls"};
  out.rows = {worth_row("best single", h.best_single, false), worth_row("fixed cascade", h.fixed_cascade, true),
              worth_row("index policy", h.index_policy, true), worth_row("bound", h.bound, true)};
  const std::string scale = check.evaluator == "quality" ? "" : "; stops are on the calibrated score";
  out.notes = {
      fmt::format("fitted and judged on different prompts, in {} folds; fitted on all prompts{}:", h.fold_fits.size(),
                  scale),
      fmt::format("  best single: {}, {} in hindsight", table.models[h.fitted.single],
                  interval_text(h.single_in_hindsight, 4)),
      fmt::format("  fixed cascade: {}", order_text(table, h.fitted.cascade.order, h.fitted.cascade.thresholds)),
      fmt::format("  index policy: {}", order_text(table, h.fitted.index.order,
                                                   {h.fitted.index.indices.begin() + 1, h.fitted.index.indices.end()})),
      fmt::format("verdict: {}", check.verdicts[p])};
  return out;
}

json worth_json(const CascadeWorth& worth) {
  json out = json_of(worth.utility);
  for (const char* const member : {"gain", "quality", "usd_per_1000"}) out[member] = json_of(worth)[member];
  out["calls"] = worth.calls.value;
  return out;
}

std::vector<std::string> names_of(const TraceTable& table, const std::vector<std::size_t>& order) {
  std::vector<std::string> out;
  for (const std::size_t m : order) out.push_back(table.models[m]);
  return out;
}

json price_json(const TraceCheck& check, const TraceTable& table, std::size_t p) {
  const Headroom& h = check.headrooms[p];
  const FittedPolicies& fitted = h.fitted;
  json out{{"price", h.price},
           {"best_single", worth_json(h.best_single)},
           {"fixed_cascade", worth_json(h.fixed_cascade)},
           {"index_policy", worth_json(h.index_policy)},
           {"bound", worth_json(h.bound)},
           {"routing",
            {{"policy", h.by_cascade ? "fixed_cascade" : "index_policy"},
             {"gain", json_of(h.routing_gain)},
             {"pays", h.pays()}}},
           {"verdict", check.verdicts[p]}};
  out["best_single"].update({{"model", table.models[fitted.single]}, {"in_hindsight", json_of(h.single_in_hindsight)}});
  out["fixed_cascade"].update(
      {{"order", names_of(table, fitted.cascade.order)}, {"thresholds", fitted.cascade.thresholds}});
  out["index_policy"].update({{"order", names_of(table, fitted.index.order)}, {"indices", fitted.index.indices}});
  return out;
}

json score_json(const ScoreFacts& score) {
  return {{"correlation", score.correlation}, {"explained", score.explained}};
}

json facts_json(const TableFacts& facts, const TraceTable& table) {
  const auto range = [](const ColumnRange& x) {
    return json{{"mean", x.mean}, {"least", x.least}, {"greatest", x.greatest}};
  };
  const std::size_t models = table.models.size();
  json out{{"models", json::array()}, {"correlation", json::array()}, {"judges", json::array()}};
  for (std::size_t m = 0; m < models; ++m) {
    out["models"].push_back({{"model", table.models[m]},
                             {"quality", range(facts.models[m].quality)},
                             {"usd_per_1000", range(facts.models[m].usd_per_1000)}});
    const auto row = facts.correlation.begin() + static_cast<std::ptrdiff_t>(m * models);
    out["correlation"].push_back(std::vector<double>(row, row + static_cast<std::ptrdiff_t>(models)));
  }
  for (const EvaluatorFacts& judge : facts.evaluators) {
    json one = score_json(judge.all);
    one["score"] = judge.name;
    for (std::size_t m = 0; m < models; ++m) {
      one["models"].push_back(score_json(judge.models[m]));
      one["models"].back()["model"] = table.models[m];
    }
    for (const ScoreTenth& tenth : judge.tenths)
      one["tenths"].push_back({{"answers", tenth.answers}, {"score", tenth.score}, {"quality", tenth.quality}});
    out["judges"].push_back(one);
  }
  return out;
}

}  // namespace

void require_few_models(const TraceTable& table, double price, const char* done) {
  if (table.models.size() <= kMostCheckedModels) return;
  std::vector<std::string> names = names_of(table, models_by_usefulness(table, price));
  names.resize(kMostCheckedModels);
  table.refuse("has {} models; at most {} are {} together; name those (models): {}", table.models.size(),
               kMostCheckedModels, done, fmt::join(names, ","));
}

TraceCheck check_trace(const TraceTable& table, const std::string& asked, const std::vector<double>& prices) {
  // Where some qualities are not known, nobody can look at them: the first judge's score is looked at then.
  const bool unseen = asked == "quality" && table.unlabelled() > 0 && !table.scores.empty();
  const std::string evaluator = !unseen                           ? asked
                                : table.scores[0].name == "score" ? "score"
                                                                  : "score:" + table.scores[0].name;
  require_few_models(table, prices.empty() ? 0.0 : prices[0], "checked");
  TraceCheck out{evaluator, {}, {}, {}, {}, identified(table)};
  if (table.log || table.unlabelled() > 0) out.means = estimated_means(table, evaluator);
  const std::optional<TraceTable> estimated = table.log ? std::nullopt : with_estimated_quality(table, evaluator);
  if (!table.log) out.headrooms = measure_headroom(estimated ? *estimated : table, evaluator, prices);
  out.facts = table_facts(table);
  for (const Headroom& headroom : out.headrooms) out.verdicts.push_back(verdict(headroom, table, evaluator));
  return out;
}

std::vector<Table> trace_check_tables(const TraceCheck& check, const TraceTable& table) {
  std::vector<Table> out = {models_table(check, table), correlation_table(check, table)};
  if (!check.facts.evaluators.empty()) out.push_back(judges_table(check, table));
  for (const EvaluatorFacts& judge : check.facts.evaluators) out.push_back(calibration_table(judge));
  for (std::size_t p = 0; p < check.headrooms.size(); ++p) out.push_back(headroom_table(check, table, p));
  return out;
}

json trace_check_json(const TraceCheck& check, const TraceTable& table) {
  json out{{"table", table.source},
           {"rows", table.rows()},
           {"prompts", check.facts.prompts},
           {"dropped", table.dropped},
           {"notes", table.notes},
           {"models", table.models},
           {"evaluator", check.evaluator},
           {"facts", facts_json(check.facts, table)},
           {"estimators", estimator_names(check.can)},
           {"reasons", check.can.reasons},
           {"prices", json::array()}};
  for (std::size_t m = 0; m < check.means.size(); ++m) {
    json& model = out["facts"]["models"][m];
    model["estimated_quality"] = json_of(check.means[m].quality);
    model["times_as_wide"] = check.means[m].widening;
  }
  for (std::size_t p = 0; p < check.headrooms.size(); ++p) out["prices"].push_back(price_json(check, table, p));
  out["verdict"] = fmt::format("{}", fmt::join(check.verdicts, "; "));
  return out;
}

}  // namespace pandora
