#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "host/cascades/fits/apart.hpp"
#include "host/outcomes/logs/labels.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// A table whose qualities are known in part: scores and dollars tell what is called and deployed in every row.
class HoleReader {
 public:
  HoleReader(const TraceTable& table, const std::string& evaluator, Estimator how)
      : table_(table), how_(how), estimated_(*with_estimated_quality(table, evaluator)), groups_(group_prompts(table)) {
    const std::vector<double> probability = label_probabilities(table);
    for (std::size_t at = 0; at < probability.size(); ++at)
      weight_.push_back(std::isnan(table.quality[at]) ? 0.0 : 1.0 / probability[at]);
  }

  // `run`: what a policy does on a table that differs from this one in its qualities alone.
  template <class Run>
  MovedPolicy estimate(Run&& run) const {
    TraceTable changed = table_;
    changed.quality = weight_;
    const std::vector<double> weights = run(changed).quality;
    const Routed routed = run(estimated_);
    MovedPolicy out{mean_moved(routed.quality, groups_), mean_moved(routed.dollars, groups_),
                    mean_moved(routed.calls, groups_), support_of(weights, groups_)};
    if (how_ == Estimator::dr) return out;
    for (std::size_t at = 0; at < weight_.size(); ++at)
      changed.quality[at] = weight_[at] > 0.0 ? weight_[at] * table_.quality[at] : 0.0;
    const std::vector<double> weighted = run(changed).quality;
    out.quality =
        how_ == Estimator::ips ? mean_moved(weighted, groups_) : ratio_over_prompts(weighted, weights, groups_);
    return out;
  }

 private:
  const TraceTable& table_;
  const Estimator how_;
  const TraceTable estimated_;
  const PromptGroups groups_;
  std::vector<double> weight_;  // of cells: 1 / probability, 0 where the quality is not known
};

}  // namespace

std::optional<Estimator> parse_estimator(const std::string& text) {
  if (text.empty()) return {};
  for (const Estimator how : {Estimator::plugin, Estimator::ips, Estimator::snips, Estimator::dr})
    if (text == kEstimatorNames[static_cast<int>(how)]) return how;
  throw Error(ExitCode::usage, fmt::format("--estimator {}: unknown; use plugin, ips, snips or dr", text));
}

Openings parse_openings(const std::string& text) {
  if (text != "in_order" && text != "independent" && text != "apart")
    throw Error(ExitCode::usage, fmt::format("--openings {}: unknown; use in_order, independent or apart", text));
  return text == "apart" ? Openings::apart : text == "independent" ? Openings::independent : Openings::in_order;
}

void require_log_for(Openings openings, const TraceTable& table, bool estimator_given) {
  if (openings != Openings::in_order && !table.log)
    throw Error(ExitCode::usage, "--openings: is of logs of decisions, and this table is none; leave it out");
  if (openings == Openings::apart && estimator_given)
    throw Error(ExitCode::usage,
                "--openings apart: has an estimate of its own, the models' laws; leave out --estimator");
}

bool Identified::has(Estimator how) const {
  return std::find(estimators.begin(), estimators.end(), how) != estimators.end();
}

std::vector<std::string> estimator_names(const Identified& can) {
  std::vector<std::string> out;
  for (const Estimator how : can.estimators) out.emplace_back(kEstimatorNames[static_cast<int>(how)]);
  return out;
}

Identified identified(const TraceTable& table) {
  const std::vector<Estimator> weighted = {Estimator::ips, Estimator::snips, Estimator::dr};
  if (!table.log && table.unlabelled() == 0)
    return {{Estimator::plugin}, {"every answer's quality and cost is known: means say all, and nothing is weighted"}};
  if (!table.log) return {weighted, {"plugin needs every answer's quality; " + label_note(table)}};
  Identified out{weighted, {"plugin needs every model's answer to every prompt, and a log has those that were called"}};
  for (const std::string& fault : faults_of_first_calls(table))
    if (!fault.empty()) out.reasons.push_back(fault);
  if (!has_second_calls(table))
    out.reasons.push_back(
        "every decision made one call: policies that make one can be estimated, but what a second call would bring only "
        "where models' answers are taken to be independent (--openings apart)");
  if (table.unlabelled() > 0 && table.label_propensity.empty())
    out.reasons.push_back(
        "whether a call's quality is known is taken to depend on its model alone; label_propensity says it better");
  return out;
}

Estimator chosen_estimator(const TraceTable& table, std::optional<Estimator> asked) {
  const Identified can = identified(table);
  const Estimator how = asked.value_or(can.best());
  if (can.has(how)) return how;
  throw Error(ExitCode::usage, fmt::format("--estimator {}: not from {}, which identifies {}: {}",
                                           kEstimatorNames[static_cast<int>(how)], table.source,
                                           fmt::join(estimator_names(can), ", "), fmt::join(can.reasons, "; ")));
}

namespace {

std::optional<SerialLatency> latency_of(const CascadeInput& input, std::span<const std::uint32_t> called,
                                        std::size_t single) {
  const TraceTable& table = *input.table;
  std::vector<double> cascade, alone;
  for (std::size_t row = 0; row < called.size() && !table.latency.empty(); ++row) {
    const double* const of_row = table.latency.data() + row * table.models.size();
    double seconds = 0.0;
    for (std::size_t m = 0; m < input.columns.size(); ++m)
      if ((called[row] >> m & 1) != 0) seconds += of_row[input.columns[m]];
    if (std::isnan(seconds + of_row[single])) continue;
    cascade.push_back(seconds);
    alone.push_back(of_row[single]);
  }
  if (cascade.empty()) return {};
  std::sort(cascade.begin(), cascade.end());
  std::sort(alone.begin(), alone.end());
  return SerialLatency{nearest_rank(cascade, 0.5), nearest_rank(cascade, 0.95), nearest_rank(alone, 0.5),
                       nearest_rank(alone, 0.95)};
}

}  // namespace

LoggedWorth plain_worth(Cascade& cascade, const CascadeInput& input, std::size_t single) {
  const TraceTable& table = *input.table;
  const PromptGroups groups = group_prompts(table);
  const std::vector<std::size_t> rows = all_rows(table.rows());
  const Outcomes outcomes{table.models.size(), table.quality, table.quality, table.cost};
  ModelCounts counts;
  const Routed alone = evaluate(outcomes, FixedCascade{{single}, {}}, rows),
               routed = run_prompts(cascade, input, rows, &counts);
  const double price = cascade.options().price;
  const std::optional<SerialLatency> latency = latency_of(input, counts.by_prompt, single);
  std::vector<std::string> notes;
  if (latency)
    notes.push_back(fmt::format(
        "seconds of the calls one after the other: {:.3g} in the median and {:.3g} at the 95th per cent of prompts; {} "
        "alone: {:.3g} and {:.3g}",
        latency->p50, latency->p95, table.models[single], latency->alone_p50, latency->alone_p95));
  return {worth_of(routed, alone, price, groups, 0),
          worth_of(alone, alone, price, groups, 0),
          dollar_tail(routed.dollars, groups),
          static_cast<double>(groups.count),
          static_cast<double>(counts.judged) / static_cast<double>(rows.size()),
          latency,
          notes};
}

namespace {

// Where it can be held against the rules that made the log, it need not be against a model that they seldom call.
void hold_against(LoggedWorth& out, const MovedPolicy& own, const MovedPolicy& alone, double price,
                  const TraceTable& table, const std::string& name) {
  const std::string fault = support_fault(alone.support, table, name);
  if (!fault.empty() && !out.running) table.refuse("{}; --against names another model", fault);
  out.worth = worth_of(own, alone, price);
  require_possible(out.worth.quality, table, "the cascade");
  out.alone = worth_of(alone, alone, price);
  if (fault.empty()) return;
  out.notes.push_back(fault);
  out.alone = CascadeWorth::unknown();
  out.worth.gain = out.worth.saving = out.alone.gain;
}

}  // namespace

LoggedWorth logged_worth(Cascade& cascade, const CascadeInput& input, std::size_t single, Estimator how,
                         Openings openings) {
  const TraceTable& table = *input.table;
  const CascadeOptions& options = cascade.options();
  cascade.set_learning(false);
  MovedPolicy own, alone;
  const Identified can = identified(table);
  LoggedWorth out;
  if (table.log && openings == Openings::apart) {
    const LogReader reader(options, input, how, openings);
    own = worth_apart(options, input, reader);
    alone = worth_apart(single, input, reader);
    out.notes = {kApartNote};
  } else if (table.log) {
    const LogReader reader(options, input, how, openings);
    std::vector<LoggedWalk> walks, alone_walks;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      walks.push_back(reader.walk(cascade, row));
      alone_walks.push_back(reader.walk_alone(row, single));
    }
    own = reader.estimate(walks, false);
    alone = reader.estimate(alone_walks, false);
    out.notes = table.notes;
    out.notes.insert(out.notes.end(), can.reasons.begin(), can.reasons.end());
    if (reader.knows_running()) {
      const MovedPolicy rules = reader.estimate_running();
      out.running = worth_of(rules, rules, options.price);
      out.running->gain = worth_of(own, rules, options.price).gain;
    }
  } else {
    const HoleReader reader(table, input.evaluator, how);
    const std::vector<std::size_t> rows = all_rows(table.rows());
    own = reader.estimate([&](const TraceTable& with) {
      CascadeInput same = input;
      same.table = &with;
      return run_prompts(cascade, same, rows);
    });
    alone = reader.estimate([&](const TraceTable& with) {
      return evaluate(Outcomes{with.models.size(), with.quality, with.quality, with.cost}, FixedCascade{{single}, {}},
                      rows);
    });
    out.notes = {label_note(table)};
  }
  require_support(own.support, table, "the cascade");
  hold_against(out, own, alone, options.price, table, table.models[single] + " alone");
  out.judged_calls = options.order.size() == 1 && !options.rules ? 0.0 : out.worth.calls.value;
  out.effective_prompts = own.support.effective_prompts;
  out.notes.push_back(
      fmt::format("estimated by {} from {:.0f} effective prompts of {}",
                  openings == Openings::apart ? "the models' laws" : kEstimatorNames[static_cast<int>(how)],
                  out.effective_prompts, group_prompts(table).count));
  return out;
}

}  // namespace pandora
