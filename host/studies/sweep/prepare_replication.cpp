// Drawing a replication on the CPU, and running its lanes there.
#include "host/studies/sweep/prepare_replication.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "host/ground/base/fail.hpp"
#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "host/lanes/model/box_changes.hpp"
#include "host/lanes/model/constrained.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/lanes/model/drift.hpp"
#include "host/lanes/model/feedback.hpp"
#include "host/lanes/model/finite_world.hpp"
#include "host/lanes/model/kernel_errors.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "host/lanes/model/wider_actions.hpp"
#include "host/studies/sweep/oracle_cache.hpp"
#include "host/studies/sweep/sound.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

// Runs some lanes of one replication with the study's engine and returns their tallies.
std::vector<LaneTally> run_lanes(const Study& study, const Replication& replication, const std::vector<LaneSpec>& lanes,
                                 std::span<LaneRecord> records) {
  if (study.engine.kind == EngineSettings::Kind::reference) {
    std::vector<LaneTally> tallies;
    for (std::size_t k = 0; k < lanes.size(); ++k)
      tallies.push_back(
          run_reference_lane(replication, lanes[k], study.estimation, records.empty() ? nullptr : &records[k]));
    return tallies;
  }
  const BlockOptions options{study.estimation, study.engine.block};
  return study.engine.precision == EngineSettings::Precision::fp32
             ? run_on_cpu<float>(replication, lanes, options, nullptr, records)
             : run_on_cpu<double>(replication, lanes, options, nullptr, records);
}

// Checks a spec from a user's policy before engines see it. Returns the problem, or nothing.
std::string defect_of(const LaneSpec& spec, const Replication& replication) {
  const int boxes = replication.tape.boxes(), A = spec.actions.wide() ? spec.actions.arms(boxes) : boxes;
  const bool learns = spec.learns_index() || spec.learns_payoff() || spec.learns_reward();
  if (learns && spec.learning == Learning::none)
    return "learned scores or rewards need Learning::calibration or online";
  if (spec.T0 < 0 || spec.T0 > replication.tape.calibration_rows)
    return fmt::format("T0 = {} is not between 0 and the {} calibration periods", spec.T0,
                       replication.tape.calibration_rows);
  if (spec.order != Order::listed) return "";
  if (spec.length < 1 || spec.length > A) return fmt::format("a list of {} boxes out of {}", spec.length, A);
  for (int k = 0; k < spec.length; ++k)
    if (spec.list[k] < 0 || spec.list[k] >= A || std::find(spec.list, spec.list + k, spec.list[k]) != spec.list + k)
      return fmt::format("list[{}] = {} is none of the indices of boxes, 0 to {}, or stands there twice", k,
                         spec.list[k], A - 1);
  return "";
}

// What a policy needs of its study is asked for at once, not by each lane.
void refuse_what_the_study_lacks(const std::string& policy, const LaneSpec& spec, const Replication& replication) {
  if ((spec.unopened || spec.follow != Follow::nothing) && !spec.actions.uninspected)
    throw Error(ExitCode::usage, fmt::format("policy {}: it deploys boxes unopened; set actions.uninspected = true, or "
                                             "leave the policy out",
                                             policy));
  if (spec.fits_tied() && replication.instance.environment.ties.empty())
    throw Error(ExitCode::usage, fmt::format("policy {}: it ties slopes of boxes; say which by model.ties, such as "
                                             "[[1, 2], [3]], or leave the policy out",
                                             policy));
}

bool keeps_outcomes(const Study& study) {
  return study.decisions || (of_table(study) && periods_are_prompts(study.environments[0]));
}

LaneDecisions decisions_of(const Study& study, const std::vector<PeriodOutcome>& outcomes,
                           const Replication& replication) {
  LaneDecisions out;
  const Actions& actions = replication.actions;
  const Tape& tape = replication.tape;
  const std::size_t entries = entries_of_period(study);
  const int outside = actions.outside_arm(tape.boxes());
  const auto box_of = [&](int arm) { return arm == outside ? tape.boxes() : actions.box_of(arm); };
  const auto place_of = [&](int row, int arm) {
    return tape.at(row + actions.opening_of(arm) * tape.online_rows, actions.box_of(arm));
  };
  out.order.assign(outcomes.size() * entries, LaneDecisions::kNone);
  for (std::size_t period = 0; period < outcomes.size(); ++period) {
    const PeriodOutcome& outcome = outcomes[period];
    const int row = tape.online_row(static_cast<int>(period));
    std::uint8_t* to = &out.order[period * entries];
    double spent = 0.0;
    bool opened = false;
    for (int k = 0; k < outcome.queried; ++k) {
      const int arm = outcome.order[k];
      if (arm == outside) continue;
      const bool deployed = arm == outcome.deployed;
      opened = opened || deployed;
      *to++ = static_cast<std::uint8_t>(box_of(arm) + (deployed ? LaneDecisions::kDeployed : 0));
      spent += tape.cost[place_of(row, arm)];
    }
    if (!opened)
      *to = static_cast<std::uint8_t>(box_of(outcome.deployed) + LaneDecisions::kDeployed + LaneDecisions::kUnopened);
    out.reward.push_back(outcome.deployed == outside ? static_cast<float>(actions.outside)
                                                     : tape.reward[place_of(row, outcome.deployed)]);
    out.cost.push_back(static_cast<float>(spent));
  }
  return out;
}

// What the study keeps of a lane's periods: in a table of outcomes the summary needs them without their order.
void keep_outcomes(const Study& study, const Replication& replication, const std::vector<PeriodOutcome>& outcomes,
                   const LaneTally& tally, const UnitResult& result, LaneNotes& notes) {
  if (tally.failure != Failure::none) return;
  notes.outcomes.clear();
  for (std::size_t k = 0; k < outcomes.size() && result.table != nullptr; ++k)
    notes.outcomes.push_back(packed(outcomes[k]));
  if (study.decisions) notes.decisions = decisions_of(study, outcomes, replication);
}

Replication draw_on_cpu(const Preparation& from, OrderFrequencies* order, OracleCache* cache) {
  const ReplicationRequest& request = from.request;
  const Environment& environment = request.environment;
  const Unit unit{environment, request.regime, request.replication};
  if (laws_of(environment) != nullptr) return draw_from_laws(request);
  if (const TraceKeys* keys = trace_keys(environment)) return TraceWorld::of(*keys, environment.name)->draw(request);
  if (const ReplicationDrawer& drawer = find_drawer(environment.name)) {
    try {
      Replication drawn = for_the_user([&] { return drawer(request); });
      require_sound(drawn, request);
      return drawn;
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      fail(ExitCode::internal, "{}: the environment's drawer failed: {}; mend the program", unit_name(unit),
           error.what());
    } catch (...) {
      fail(ExitCode::internal, "{}: the environment's drawer failed; mend the program", unit_name(unit));
    }
  }
  Replication replication;
  replication.instance =
      draw_instance(request.dimensions, environment, request.regime, request.replication, request.seed);
  const Instance& instance = replication.instance;
  std::optional<ShockSample> drawn;  // not needed with a cached table or with drawn indices
  if (instance.linear_indices()) drawn.emplace();
  const auto sample = [&]() -> const ShockSample& {
    if (!drawn) drawn = draw_shock_sample(instance, request.oracle.samples);
    return *drawn;
  };
  if (order != nullptr)
    *order = named(unit, [&] { return order_frequencies(instance, sample(), from.order_contexts, request.oracle); });
  if (from.tape) {
    const std::unique_ptr<Course> course = course_of(instance);
    replication.tape =
        draw_tape(instance, request.calibration_periods, request.periods, course.get(), request.actions.openings);
    const Contexts& contexts = replication.tape.contexts;
    const int first = replication.tape.online_row(0);
    const auto build = [&] { return oracle_table(instance, sample(), contexts, request.oracle, first); };
    if (course != nullptr)
      replication.sigma = moving_indices(instance, sample(), replication.tape, request.oracle);
    else if (instance.linear_indices())
      replication.sigma = OracleTable::drawn_indices(contexts, first);
    else
      replication.sigma = (cache == nullptr || environment.law == Law::custom  // code, which no key identifies
                               ? build()
                               : cache->get(instance, contexts, request.oracle, first, build))
                              .indices(instance, contexts, first);
  }
  return replication;
}

}  // namespace

void keep_prompts(const Study& study, const Plan& plan, const Unit& unit, UnitResult& result) {
  if (!periods_are_prompts(unit.environment) || !study.regret) return;
  const auto world = TraceWorld::of(*trace_keys(unit.environment), unit.environment.name);
  result.table = world->outcomes();
  const std::vector<std::size_t> rows = world->online_rows(preparation_of(study, plan, unit).request).rows;
  result.prompts.assign(rows.begin(), rows.end());
}

Replication prepare_on_cpu(const Preparation& from, OrderFrequencies* order, OracleCache* cache) {
  const ReplicationRequest& request = from.request;
  Replication replication = draw_on_cpu(from, order, cache);
  const Stream stream{request.seed, Purpose::feedback, request.environment.id,
                      static_cast<std::uint8_t>(request.regime), request.replication};
  if (!from.tape) return replication;
  const TraceKeys* const table = trace_keys(request.environment);
  const FiniteProblem* const laws = laws_of(request.environment);
  apply_box_changes(request.environment, table != nullptr && laws == nullptr && table->index.empty(), replication);
  if (request.budget.of != Pacing::Of::nothing)
    replication.sigma =
        constrained_oracle(replication.instance, replication.tape, request.budget, request.oracle).sigma;
  draw_feedback(stream, request.feedback, replication.tape);
  replication.actions = request.actions;
  if (request.actions.uninspected && laws != nullptr)
    decide_benchmarks(*laws, replication);
  else if (request.actions.uninspected)
    decide_benchmarks(draw_shock_sample(replication.instance, request.oracle.samples), request.oracle, replication);
  return replication;
}

Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderFrequencies* order,
                                OracleCache* cache) {
  return prepare_on_cpu(preparation_of(study, plan, unit), order, cache);
}

RunnableLanes runnable_lanes(const Study& study, const Plan& plan, const Replication& replication, std::size_t first,
                             std::size_t last, UnitResult& result) {
  RunnableLanes lanes;
  for (std::size_t k = first; k < last; ++k) {
    const PolicyVariant& variant = plan.lanes[k].variant;
    const int T0 = plan.lanes[k].T0;
    Failure failure = Failure::policy;
    try {
      if (variant.custom) {
        if (const std::unique_ptr<CustomPolicy> policy = variant.custom(replication, T0, plan.estimation);
            policy != nullptr) {
          std::vector<PeriodOutcome> outcomes;
          result.lanes[k] = run_custom_lane(replication, *policy, T0, &result.notes[k].message,
                                            keeps_outcomes(study) ? &outcomes : nullptr, shown_to(plan.lanes[k]));
          keep_outcomes(study, replication, outcomes, result.lanes[k], result, result.notes[k]);
          continue;
        }
        result.notes[k].message = "its maker returned no policy";
      } else {
        const LaneSpec spec = variant.lane(replication, T0);
        refuse_what_the_study_lacks(plan.lanes[k].policy->name, spec, replication);
        if (const std::string defect = defect_of(spec, replication); defect.empty()) {
          lanes.specs.push_back(spec);
          lanes.at.push_back(k);
          continue;
        } else {
          result.notes[k].message = "its lane cannot run: " + defect;
        }
      }
    } catch (const LaneFailure& lane_failure) {
      failure = lane_failure.failure();
    } catch (const Error&) {  // meant for the user
      throw;
    } catch (const std::bad_alloc&) {  // not the policy's fault, and it may not happen again
      throw;
    } catch (const std::exception& error) {
      result.notes[k].message = error.what();
    } catch (...) {
      result.notes[k].message = "threw something that is no std::exception";
    }
    result.lanes[k].start(replication.tape.online_rows);
    result.lanes[k].fail(failure, 0);
  }
  return lanes;
}

void run_planned_lanes(const Study& study, const Plan& plan, const Replication& replication, std::size_t first,
                       std::size_t last, UnitResult& result) {
  const RunnableLanes lanes = runnable_lanes(study, plan, replication, first, last, result);
  if (!lanes.specs.empty()) {
    std::vector<LaneRecord> records = records_wanted(study, lanes.specs.size());
    lanes.place(study, replication, run_lanes(study, replication, lanes.specs, records), records, result);
  }
  fail_sums_not_finite(std::span(result.lanes).subspan(first, last - first));
}

LaneTally run_one_lane(const Study& study, const Replication& replication, const LaneSpec& spec, LaneRecord* record) {
  return run_lanes(study, replication, {spec}, record == nullptr ? std::span<LaneRecord>() : std::span(record, 1))[0];
}

std::vector<LaneRecord> records_wanted(const Study& study, std::size_t lanes) {
  const bool outcomes = keeps_outcomes(study);
  std::vector<LaneRecord> records(study.estimates || outcomes ? lanes : 0);
  for (LaneRecord& record : records) record.keep = outcomes ? LaneRecord::Keep::outcomes : LaneRecord::Keep::estimates;
  return records;
}

void RunnableLanes::place(const Study& study, const Replication& replication, const std::vector<LaneTally>& found,
                          std::span<LaneRecord> records, UnitResult& result) const {
  for (std::size_t k = 0; k < at.size(); ++k) {
    const LaneSpec& spec = specs[k];
    LaneNotes& notes = result.notes[at[k]];
    result.lanes[at[k]] = found[k];
    // The outside option, which comes first, is no choice of the policy's.
    const int first = spec.actions.has_outside() ? 1 : 0;
    if (spec.order == Order::listed)
      std::transform(spec.list + first, spec.list + spec.length, std::back_inserter(notes.list),
                     [&](int arm) { return spec.actions.box_of(arm); });
    if (spec.stop == Stop::last_reaches_threshold && spec.order == Order::listed)
      notes.thresholds.assign(spec.threshold + first, spec.threshold + spec.length - 1);
    if (records.empty()) continue;
    keep_outcomes(study, replication, records[k].outcomes, found[k], result, notes);
    if (!study.estimates) continue;
    notes.rho = std::move(records[k].rho);
    notes.theta = std::move(records[k].theta);
  }
}

std::string needs_cpu(const Study& study, const Plan& plan) {
  for (const Environment& environment : study.environments)
    if (environment.law == Law::custom || find_drawer(environment.name))
      return fmt::format("environment {} is code that runs on the CPU", environment.name);
  for (const PlannedLane& lane : plan.lanes)
    if (lane.variant.custom) return fmt::format("policy {} is code that runs on the CPU", lane.policy->name);
  return "";
}

}  // namespace pandora
