#include "host/lanes/estimator/reference_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/lanes/estimator/checks.hpp"
#include "kernels/rules/arms.hpp"
#include "pandora/weitzman.hpp"

namespace pandora {
namespace {

class ReferenceLane {
 public:
  ReferenceLane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options)
      : replication_(replication),
        tape_(replication.tape),
        lane_(lane),
        A_(tape_.boxes()),
        estimator_(replication, lane, options) {}

  LaneTally run(LaneRecord& record) {
    tally_.start(tape_.online_rows);
    try {
      run_periods(record);
    } catch (const LaneFailure& failure) {
      tally_.fail(failure.failure(), period_);
    }
    tally_.unsolved_refits = estimator_.unsolved_refits();
    for (int a = 0; a < A_ && lane_.learns_scores(); ++a)
      record.rho.insert(record.rho.end(), estimator_.rho(a).begin(), estimator_.rho(a).end());
    record.theta.assign(estimator_.theta().begin(), estimator_.theta().end());
    return tally_;
  }

 private:
  void run_periods(LaneRecord& record) {
    const LaneRecord given = std::exchange(record, {});
    record.keep = given.keep;
    record.decisions = given.decisions;
    if (lane_.learning != Learning::none) calibrate();
    const bool keeps = record.keep == LaneRecord::Keep::everything;
    const std::size_t A = static_cast<std::size_t>(A_);
    std::vector<double> score(A), width(A), prediction(A), bonus(A), seen(A);
    std::vector<Output> opened;
    const Stream exploration = replication_.instance.stream(Purpose::exploration);
    for (int t = 0; t < tape_.online_rows; ++t) {
      end_lane_if_interrupted();
      const int row = tape_.online_row(t);
      const std::size_t at = tape_.at(row, 0);
      estimator_.begin(request(t + 1, row));  // this solves the calibration, in period 0
      period_ = t + 1;
      for (int a = 0; a < A_; ++a) {
        score[a] = score_of(a, at, tape_.there(row));
        width[a] = lane_.learns_scores() ? estimator_.width(a) : 0.0;
        if (keeps && lane_.learns_scores()) {
          prediction[a] = estimator_.linear(a);
          bonus[a] = estimator_.bonus(a) * (lane_.has_width_bonus() ? width[a] : 1.0);
        }
        seen[a] = 0.0;
      }
      const PeriodRules rules(lane_, exploration, static_cast<std::uint32_t>(t));
      const PeriodOutcome* const followed =
          record.decisions != nullptr ? &(*record.decisions)[static_cast<std::size_t>(t)] : nullptr;
      const PeriodOutcome outcome =
          actions_.wide() ? play_arms(t, rules, score, followed, seen) : play_boxes(t, rules, score, followed, seen);
      if (lane_.paces())
        multiplier_ = lane_.pacing.next(multiplier_, outcome.queried, spent_on(outcome, &tape_.cost[at]));
      if (record.keep != LaneRecord::Keep::estimates) record.outcomes.push_back(outcome);
      if (keeps) {
        record.scores.insert(record.scores.end(), score.begin(), score.end());
        record.widths.insert(record.widths.end(), width.begin(), width.end());
        record.rewards.insert(record.rewards.end(), seen.begin(), seen.end());
        record.predictions.insert(record.predictions.end(), prediction.begin(), prediction.end());
        record.bonuses.insert(record.bonuses.end(), bonus.begin(), bonus.end());
      }
      opened.clear();
      for (int k = 0; k < outcome.queried; ++k)
        if (outcome.order[k] != outside_) opened.push_back(output_of_arm(row, outcome.order[k]));
      learn(opened, outcome.deployed, t);
    }
  }

  // A period of boxes: decides and counts. `score` has a number for every box; `seen` receives the lane's values.
  PeriodOutcome play_boxes(int t, const PeriodRules& rules, const std::vector<double>& score,
                           const PeriodOutcome* followed, std::vector<double>& seen) {
    const int row = tape_.online_row(t);
    const std::size_t at = tape_.at(row, 0);
    const unsigned there = tape_.there(row);
    int permutation[kMaxBoxes];
    if (rules.order == Order::random)
      random_permutation(replication_.instance.stream(Purpose::random_order), static_cast<std::uint32_t>(t), A_,
                         permutation);
    double response[kMaxBoxes];
    std::copy_n(&tape_.mu[at], A_, response);
    const auto reward_of = [&](int a) { return response[a] = seen[a] = estimator_.reward(output(row, a)); };
    const PeriodOutcome outcome =
        followed != nullptr ? *followed : walk_period(lane_, rules, A_, score.data(), permutation, reward_of, there);
    finite_or_fail(tape_.mu[at + outcome.deployed] - spent_on(outcome, &tape_.cost[at]));
    const auto opens = [&](const int* order) {
      return opened_by_lane(lane_, rules.stop, outcome.ranked, score.data(), response, order, there);
    };
    tally_.split_regret(outcome, A_, &tape_.mu[at], &tape_.cost[at], &replication_.sigma[at], opens, there);
    tally_.add(outcome, &tape_.mu[at], &tape_.cost[at], &tape_.reward[at]);
    return outcome;
  }

  // The same for arms.
  PeriodOutcome play_arms(int t, const PeriodRules& rules, const std::vector<double>& score,
                          const PeriodOutcome* followed, std::vector<double>& seen) {
    const int row = tape_.online_row(t);
    ArmPeriod arms;
    arms.there = actions_.arms_there(tape_.there(row), A_);
    arms.values =
        arm_values(actions_, A_, tape_.mu.data(), tape_.cost.data(), replication_.sigma.data(), tape_.reward.data(),
                   [&](int opening) { return tape_.at(row + opening * tape_.online_rows, 0); });
    score_arms(lane_, A_, score.data(), arms);
    int permutation[kMaxBoxes];
    if (rules.order == Order::random)
      random_arms(actions_, replication_.instance.stream(Purpose::random_order), static_cast<std::uint32_t>(t), A_,
                  permutation);
    if (followed == nullptr && lane_.follow != Follow::nothing)
      followed = &(lane_.follow == Follow::optimal ? replication_.optimal
                                                   : replication_.committed)[static_cast<std::size_t>(t)];
    const PeriodOutcome outcome = decide_arms(lane_, rules, A_, permutation, followed, arms, [&](int arm) {
      return seen[static_cast<std::size_t>(actions_.box_of(arm))] = estimator_.reward(output_of_arm(row, arm));
    });
    finite_or_fail(arms.values.mu[outcome.deployed] - spent_on(outcome, arms.values.cost));
    const std::vector<PeriodOutcome>& optimal = replication_.optimal;
    count_arms(lane_, rules.stop, A_, outcome, optimal.empty() ? nullptr : &optimal[static_cast<std::size_t>(t)], arms,
               tally_);
    return outcome;
  }

  // The output of an arm in a period, or of a box where the lane plays boxes.
  Output output_of_arm(int row, int arm) const {
    return output(row + actions_.opening_of(arm) * tape_.online_rows, actions_.box_of(arm));
  }

  double score_of(int a, std::size_t at, unsigned there) {
    if (lane_.learns_scores()) return paced(estimator_.index(a));
    if (lane_.score == Score::oracle_index) return finite_or_fail(replication_.sigma[at + static_cast<std::size_t>(a)]);
    if (lane_.score == Score::hindsight) return hindsight_score(a, A_, &tape_.mu[at], &tape_.cost[at], there);
    return 0.0;
  }

  // A budget does not hold back a box that must be opened.
  double paced(double score) const { return lane_.paces() && score < kForcedScore ? score - multiplier_ : score; }

  void learn(std::span<const Output> opened, int deployed, int t) {
    const Feedback& feedback = tape_.feedback;
    chosen_.push_back(deployed);
    estimator_.learn_outputs(opened);
    std::vector<Output> outputs;
    std::vector<double> rewards;
    for (const int period : feedback.told_at(t)) {
      const int row = tape_.online_row(period), arm = chosen_[static_cast<std::size_t>(period)];
      if (arm == outside_) continue;
      outputs.push_back(output_of_arm(row, arm));
      rewards.push_back(tape_.told(tape_.at(row + actions_.opening_of(arm) * tape_.online_rows, actions_.box_of(arm))));
      if (!lane_.learns_payoff()) continue;
      if (!feedback.at_once()) estimator_.begin(request(period + 1, row));
      estimator_.learn_reward(outputs.back(), rewards.back());
    }
    if (!lane_.learns_payoff())
      estimator_.learn_rewards(outputs, rewards);
    else if (!feedback.at_once())
      estimator_.begin(request(t + 1, tape_.online_row(t)));
    estimator_.end_period();
  }

  // T_0 round-robin periods with cost, output and realised reward of one box; or, for T_0 = 0, every box once at
  // x_0 with output and cost but no reward.
  void calibrate() {
    for (int a = 0; a < A_ && lane_.T0 == 0; ++a)
      if (holds(tape_.there(0), a)) estimator_.calibrate(request(0, 0), output(0, a), {});
    for (int k = 0; k < lane_.T0; ++k) {
      const int row = tape_.calibration_row(k), a = tape_.calibration_box(k);
      estimator_.calibrate(request(k + 1, row), output(row, a), tape_.reward[tape_.at(row, a)]);
    }
  }

  Request request(int period, int row) const { return request_of(tape_, period, row); }
  // A lane that deploys unopened pays nothing.
  Output output(int row, int a) const {
    Output out = output_of(tape_, row, a);
    if (lane_.unopened) out.cost = 0.0;
    return out;
  }

  const Replication& replication_;
  const Tape& tape_;
  const LaneSpec& lane_;
  const int A_;
  const Actions& actions_ = lane_.actions;
  const int outside_ = actions_.outside_arm(A_);  // -1 where there is none
  WeitzmanEstimator estimator_;
  double multiplier_ = lane_.pacing.start;
  std::vector<int> chosen_;  // the box, or the arm, deployed in each period
  int period_ = 0;           // 1..T, 0 while calibrating
  LaneTally tally_;
};

}  // namespace

Request request_of(const Tape& tape, int period, int row) {
  return {
      period, {tape.contexts.psi_row(row), static_cast<std::size_t>(tape.contexts.index_size)}, {}, tape.there(row)};
}

Output output_of(const Tape& tape, int row, int box) {
  const std::span<const float> phi(tape.phi_of(row, box), static_cast<std::size_t>(tape.contexts.reward_features));
  return {box, phi, tape.cost[tape.at(row, box)], tape.mu[tape.at(row, box)]};
}

LaneTally run_reference_lane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options,
                             LaneRecord* record) {
  LaneRecord unused;
  unused.keep = LaneRecord::Keep::estimates;
  return ReferenceLane(replication, lane, options).run(record != nullptr ? *record : unused);
}

std::string why_stopped(const LaneSpec& spec, const PeriodRules& rules, const PeriodOutcome& outcome, int A,
                        const double* score, const double* estimate, const std::function<std::string(int)>& name) {
  const int opened = outcome.queried;
  std::string why = rules.order != spec.order ? "exploring in a random order, " : "";
  if (opened == outcome.ranked && rules.stop != Stop::after_first) {
    why += rules.stop != spec.stop ? "exploring, it opens all: " : "";
    return why + (opened == A || rules.order != Order::listed ? "every box is open" : "the cascade is at its end");
  }
  const int last = outcome.order[opened - 1];
  int left = last;  // the unopened box with the largest score, if there is one
  for (int k = opened; k < outcome.ranked; ++k) {
    const int a = outcome.order[k];
    if (left == last || score[a] > score[left] || (score[a] == score[left] && a < left)) left = a;
  }
  const std::string scored = score_name(spec.score);
  return why + fmt::format(fmt::runtime(stop_pattern(rules.stop)), fmt::arg("best", estimate[outcome.deployed]),
                           fmt::arg("best_box", name(outcome.deployed)), fmt::arg("last", estimate[last]),
                           fmt::arg("last_box", name(last)), fmt::arg("score", scored.empty() ? "score" : scored),
                           fmt::arg("left", score[left]), fmt::arg("left_box", name(left)),
                           fmt::arg("threshold", spec.threshold[opened - 1]));
}

}  // namespace pandora
