#include "pandora/custom_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "host/lanes/estimator/reference_engine.hpp"
#include "kernels/base/elementary.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

thread_local const std::atomic<bool>* interrupt_of_lane = nullptr;

constexpr double kNotShown = std::numeric_limits<double>::quiet_NaN();

Output output_of(const Tape& tape, int row, int box, Shown shown) {
  Output out = pandora::output_of(tape, row, box);
  if (!shown.mu) out.mu = kNotShown;
  return out;
}

void calibrate(const Tape& tape, CustomPolicy& policy, int T0, Shown shown) {
  if (T0 == 0)
    for (int a = 0; a < tape.boxes(); ++a)
      if (holds(tape.there(0), a)) policy.calibrate(request_of(tape, 0, 0), output_of(tape, 0, a, shown), {});
  for (int k = 0; k < T0; ++k) {
    end_lane_if_interrupted();
    const int row = tape.calibration_row(k), a = tape.calibration_box(k);
    policy.calibrate(request_of(tape, k + 1, row), output_of(tape, row, a, shown), tape.reward[tape.at(row, a)]);
  }
}

bool is_open(const PeriodOutcome& outcome, int box) {
  return std::find(outcome.order, outcome.order + outcome.queried, box) != outcome.order + outcome.queried;
}

// Why the result of a call is refused. Code counts boxes from 0, but the reader of this message counts from 1.
std::string refused(const char* call, int index, int A, const char* is) {
  if (index < 0 || index >= A)
    return fmt::format("{} returned {}, and the indices of boxes are 0 to {}", call, index, A - 1);
  return fmt::format("{} returned {}, the index of box {}, which is {}", call, index, index + 1, is);
}

// The rule that the policy broke; empty if none.
std::string play(const Tape& tape, const Actions& actions, CustomPolicy& policy, PeriodOutcome& outcome, int row,
                 Shown shown) {
  const int A = tape.boxes();
  const unsigned there = tape.there(row);
  const bool may_open_none = actions.uninspected || actions.has_outside();
  while (outcome.queried < count_of(there, A)) {
    const int box = policy.next();
    if (box == CustomPolicy::kStop && (outcome.queried > 0 || may_open_none)) break;
    if (box == CustomPolicy::kStop) return "next() stopped before any box was open";
    if (box < 0 || box >= A || !holds(there, box)) return refused("next()", box, A, "not there (Request::there)");
    if (is_open(outcome, box)) return refused("next()", box, A, "open already");
    outcome.order[outcome.queried++] = box;
    const Output output = output_of(tape, row, box, shown);
    if (!is_finite(tape.mu[tape.at(row, box)]) || !is_finite(output.cost)) throw LaneFailure(Failure::not_finite);
    policy.opened(output);
  }
  outcome.deployed = policy.deploy();
  outcome.ranked = outcome.queried;
  for (const int box : policy.ranking())
    if (box >= 0 && box < A && holds(there, box) &&
        std::find(outcome.order, outcome.order + outcome.ranked, box) == outcome.order + outcome.ranked)
      outcome.order[outcome.ranked++] = box;
  const int deployed = outcome.deployed;
  if (is_open(outcome, deployed) || (deployed == CustomPolicy::kOutside && actions.has_outside()) ||
      (actions.uninspected && deployed >= 0 && deployed < A && holds(there, deployed)))
    return "";
  if (deployed == CustomPolicy::kOutside)
    return "deploy() chose the outside option, and the study has none (actions.outside)";
  return refused("deploy()", deployed, A, actions.uninspected ? "not there" : "not open");
}

// The same outcome in arms, with the outside option first.
PeriodOutcome in_arms(const PeriodOutcome& boxes, const Actions& actions, int A) {
  PeriodOutcome out;
  const int outside = actions.outside_arm(A), first = outside >= 0 ? 1 : 0;
  if (first > 0) out.order[0] = outside;
  for (int k = 0; k < boxes.ranked; ++k) out.order[first + k] = boxes.order[k] * actions.openings;
  out.queried = first + boxes.queried;
  out.ranked = first + boxes.ranked;
  out.deployed = boxes.deployed == CustomPolicy::kOutside ? outside : boxes.deployed * actions.openings;
  return out;
}

// Counts a period of arms. Of the stopping rule of code only its own order is known, and so is its regret as a whole.
void count_arms(const Replication& replication, int period, const PeriodOutcome& outcome, LaneTally& tally) {
  const Actions& actions = replication.actions;
  const Tape& tape = replication.tape;
  const int row = tape.online_row(period), A = tape.boxes();
  const ArmValues values =
      arm_values(actions, A, tape.mu.data(), tape.cost.data(), replication.sigma.data(), tape.reward.data(),
                 [&](int opening) { return tape.at(row + opening * tape.online_rows, 0); });
  if (replication.optimal.empty())
    tally.split_regret(
        outcome, values.count, values.mu, values.cost, values.sigma, [&](const int*) { return outcome.queried; },
        actions.arms_there(tape.there(row), A));
  else
    tally.whole_regret(replication.optimal[static_cast<std::size_t>(period)], outcome, values);
  tally.add(outcome, actions, A, values);
}

// Tells the policy the rewards that come at the end of period `t` (0, 1, ...), that of the period itself last.
void tell(const Tape& tape, CustomPolicy& policy, const std::vector<int>& chosen, int t) {
  double own = kNotShown;
  for (const int period : tape.feedback.told_at(t)) {
    if (chosen[static_cast<std::size_t>(period)] == CustomPolicy::kOutside) continue;  // it has no reward
    const double reward = tape.told(tape.at(tape.online_row(period), chosen[static_cast<std::size_t>(period)]));
    if (period == t)
      own = reward;
    else
      policy.learn_late(period + 1, reward);
  }
  policy.learn(own);
}

// How many boxes of an order the policy's own stopping rule opens.
int opens(const Tape& tape, CustomPolicy& policy, const PeriodOutcome& outcome, int row, const int* order,
          Shown shown) {
  // A policy must not see features of boxes that it has not opened.
  const std::vector<float> hidden(static_cast<std::size_t>(tape.contexts.reward_features),
                                  std::numeric_limits<float>::quiet_NaN());
  std::vector<Output> outputs;
  const int boxes = count_of(tape.there(row), tape.boxes());
  for (int k = 0; k < boxes; ++k)
    outputs.push_back(is_open(outcome, order[k]) ? output_of(tape, row, order[k], shown)
                                                 : Output{order[k], hidden, kNotShown, kNotShown});
  const std::span<const double> worth(&tape.mu[tape.at(row, 0)], static_cast<std::size_t>(tape.boxes()));
  return std::clamp(policy.opens_of(outputs, worth).value_or(outcome.queried), 1, boxes);
}

// Counts a period of the paper's problem.
void count_boxes(const Replication& replication, CustomPolicy& policy, const PeriodOutcome& outcome, int row,
                 Shown shown, LaneTally& tally) {
  const Tape& tape = replication.tape;
  const std::size_t at = tape.at(row, 0);
  tally.split_regret(
      outcome, tape.boxes(), &tape.mu[at], &tape.cost[at], &replication.sigma[at],
      [&](const int* order) { return opens(tape, policy, outcome, row, order, shown); }, tape.there(row));
  tally.add(outcome, &tape.mu[at], &tape.cost[at], &tape.reward[at]);
}

}  // namespace

InterruptOfLane::InterruptOfLane(const std::atomic<bool>* flag) : before_(std::exchange(interrupt_of_lane, flag)) {}

InterruptOfLane::~InterruptOfLane() {
  interrupt_of_lane = before_;
}

const std::atomic<bool>* InterruptOfLane::flag() {
  return interrupt_of_lane;
}

void end_lane_if_interrupted() {
  if (interrupt_of_lane != nullptr && interrupt_of_lane->load())
    throw Error(ExitCode::interrupted, "interrupted; nothing was written");
}

LaneTally run_custom_lane(const Replication& replication, CustomPolicy& policy, int T0, std::string* why,
                          std::vector<PeriodOutcome>* outcomes, Shown shown) {
  const Tape& tape = replication.tape;
  const std::size_t A = static_cast<std::size_t>(tape.boxes());
  LaneTally tally;
  tally.start(tape.online_rows);
  int period = 0;
  const auto broken = [&](const std::string& what) {
    tally.fail(Failure::policy, period);
    if (why != nullptr) *why = what;
  };
  try {
    const std::vector<double> hidden(A, kNotShown);
    std::vector<int> chosen;
    if (!tape.feedback.at_once() && !policy.waits_for_rewards()) {
      broken(
          "its code takes rewards at once, and the study's [feedback] keeps them back; override waits_for_rewards()");
      return tally;
    }
    if (tape.feedback.restarts && !policy.restarts()) {
      broken("its code keeps what it has learned, and the study's feedback.restart takes of it; override restarts()");
      return tally;
    }
    calibrate(tape, policy, T0, shown);
    for (period = 1; period <= tape.online_rows; ++period) {
      end_lane_if_interrupted();
      const int row = tape.online_row(period - 1);
      const std::size_t at = tape.at(row, 0);
      Request request = request_of(tape, period, row);
      request.sigma = {shown.sigma ? replication.sigma.data() + at : hidden.data(), A};
      policy.begin(request);
      PeriodOutcome outcome;
      if (const std::string problem = play(tape, replication.actions, policy, outcome, row, shown); !problem.empty()) {
        broken(problem);
        break;
      }
      chosen.push_back(outcome.deployed);
      if (replication.actions.wide())
        count_arms(replication, period - 1, outcome = in_arms(outcome, replication.actions, tape.boxes()), tally);
      else
        count_boxes(replication, policy, outcome, row, shown, tally);
      if (outcomes != nullptr) outcomes->push_back(outcome);
      tell(tape, policy, chosen, period - 1);
    }
  } catch (const LaneFailure& failure) {
    tally.fail(failure.failure(), period);
  } catch (const Error&) {  // meant for the user
    throw;
  } catch (const std::bad_alloc&) {  // not the policy's fault, and it may not happen again
    throw;
  } catch (const std::exception& error) {  // any exception of the policy's own code
    broken(error.what());
  } catch (...) {
    broken("threw something that is no std::exception");
  }
  return tally;
}

}  // namespace pandora
