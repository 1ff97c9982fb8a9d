#include "host/lanes/model/wider_actions.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "host/lanes/model/drift.hpp"
#include "kernels/rules/arms.hpp"
#include "oracle/exact_programme.hpp"

namespace pandora {
namespace {

// One period while a policy plays it: what boxes reveal when they are opened, and the decisions so far.
class Period {
 public:
  Period(const Replication& replication, int period)
      : actions_(replication.actions),
        tape_(replication.tape),
        sigma_(replication.sigma),
        row_(tape_.online_row(period)) {
    if (actions_.has_outside()) out_.order[out_.queried++] = actions_.outside_arm(tape_.boxes());
  }

  // Opens the next arm of a box and returns its mu*.
  double open(int box) {
    const int arm = next_arm(box);
    ++opened_[box];
    out_.order[out_.queried++] = arm;
    const double mu = tape_.mu[tape_.at(row_ + actions_.opening_of(arm) * tape_.online_rows, box)];
    if (best_arm_ < 0 || mu > best_) {
      best_ = mu;
      best_arm_ = arm;
    }
    return mu;
  }
  int next_arm(int box) const { return box * actions_.openings + opened_[box]; }
  bool is_left(int box) const { return opened_[box] < actions_.openings; }
  int opened(int box) const { return opened_[box]; }
  double sigma(int box) const { return sigma_[tape_.at(row_, box)]; }
  double best() const { return best_; }
  int best_arm() const { return best_arm_; }

  PeriodOutcome end(int deployed) {
    out_.ranked = out_.queried;
    out_.deployed = deployed;
    return out_;
  }

 private:
  const Actions& actions_;
  const Tape& tape_;
  const std::vector<double>& sigma_;
  const int row_;
  int opened_[kMaxBoxes] = {};
  double best_ = 0.0;
  int best_arm_ = -1;
  PeriodOutcome out_;
};

// The problem of a period, and the policies that are solved for it. Periods with the same problem share them.
class Solved {
 public:
  Solved(FiniteProblem problem, std::vector<int> boxes)
      : problem_(std::move(problem)),
        boxes_(std::move(boxes)),
        policy_(problem_),
        commitment_(commit_or_search(problem_)) {}

  bool is_for(const FiniteProblem& problem, const std::vector<int>& boxes) const {
    return problem == problem_ && boxes == boxes_;
  }

  PeriodOutcome optimal(Period period, int outside) const {
    std::vector<int> opened(boxes_.size());
    for (;;) {
      for (std::size_t i = 0; i < boxes_.size(); ++i) opened[i] = period.opened(boxes_[i]);
      const FiniteChoice next = policy_.at(opened, period.best_arm() < 0 ? std::nullopt : std::optional(period.best()));
      const int box = next.box < 0 ? -1 : boxes_[static_cast<std::size_t>(next.box)];
      switch (next.action) {
        case FiniteAction::deploy:
          return period.end(period.best_arm());
        case FiniteAction::outside:
          return period.end(outside);
        case FiniteAction::uninspected:
          return period.end(period.next_arm(box));
        case FiniteAction::open:
          period.open(box);
      }
    }
  }

  // Weitzman's rule over the boxes that it may open, where the box that it deploys only unopened is an outside option.
  PeriodOutcome committed(Period period, int outside) const {
    const int unopened = commitment_.box < 0 ? -1 : boxes_[static_cast<std::size_t>(commitment_.box)];
    double rest = problem_.outside.value_or(-1.0);
    int resting = outside;
    if (unopened >= 0) {
      const double mean = problem_.boxes[static_cast<std::size_t>(commitment_.box)].mean();
      if (mean > rest) {
        rest = mean;
        resting = period.next_arm(unopened);
      }
    }
    for (;;) {
      int next = -1;
      for (const int box : boxes_)
        if (box != unopened && period.is_left(box) && (next < 0 || period.sigma(box) > period.sigma(next))) next = box;
      const bool any = period.best_arm() >= 0 || resting >= 0;
      const double best = period.best_arm() < 0 ? rest : std::max(rest, period.best());
      if (next < 0 || (any && best >= period.sigma(next))) break;
      period.open(next);
    }
    const bool rests = period.best_arm() < 0 || rest > period.best();
    return period.end(rests && resting >= 0 ? resting : period.best_arm());
  }

 private:
  FiniteProblem problem_;
  std::vector<int> boxes_;
  FinitePolicy policy_;
  Commitment commitment_;
};

// Fills in the benchmarks of all periods. `box_of(t, a)`: the law and the cost of box a in period t.
template <class BoxOf>
void decide_with(Replication& replication, BoxOf&& box_of) {
  const Actions& actions = replication.actions;
  const Tape& tape = replication.tape;
  const int outside = actions.outside_arm(tape.boxes());
  std::unique_ptr<const Solved> solved;
  replication.optimal.clear();
  replication.committed.clear();
  for (int t = 0; t < tape.online_rows; ++t) {
    FiniteProblem problem;
    problem.uninspected = true;
    if (actions.has_outside()) problem.outside = actions.outside;
    std::vector<int> boxes;
    for (int a = 0; a < tape.boxes(); ++a) {
      if (!holds(tape.there(tape.online_row(t)), a)) continue;
      problem.boxes.push_back(box_of(t, a));
      problem.boxes.back().openings = actions.openings;
      boxes.push_back(a);
    }
    if (solved == nullptr || !solved->is_for(problem, boxes))
      solved = std::make_unique<const Solved>(std::move(problem), std::move(boxes));
    replication.optimal.push_back(solved->optimal(Period(replication, t), outside));
    replication.committed.push_back(solved->committed(Period(replication, t), outside));
  }
}

}  // namespace

void play_arms(LaneSpec& spec, const Actions& actions, int boxes) {
  spec.actions = actions;
  if (actions.uninspected && spec.order == Order::by_score && spec.score == Score::oracle_index)
    spec.follow = Follow::optimal;
  if (actions.uninspected && spec.score == Score::hindsight) spec.unopened = true;
  if (spec.order != Order::listed) {
    if (!actions.has_outside()) return;
    // The outside option is opened first, and no threshold stops the lane there.
    std::copy_backward(spec.threshold, spec.threshold + kMaxBoxes - 1, spec.threshold + kMaxBoxes);
    spec.threshold[0] = std::numeric_limits<double>::infinity();
    return;
  }
  int listed[kMaxBoxes], opened[kMaxBoxes] = {}, length = 0;
  double threshold[kMaxBoxes] = {};
  if (actions.has_outside()) {  // opened first; no threshold stops the lane there
    threshold[length] = std::numeric_limits<double>::infinity();
    listed[length++] = actions.outside_arm(boxes);
  }
  for (int k = 0; k < spec.length && length < kMaxBoxes; ++k) {
    threshold[length] = spec.threshold[k];
    listed[length++] = spec.list[k] * actions.openings + opened[spec.list[k]]++;
  }
  spec.length = length;
  std::copy_n(listed, kMaxBoxes, spec.list);
  std::copy_n(threshold, kMaxBoxes, spec.threshold);
}

void set_hindsight_indices(Replication& replication) {
  const Actions& actions = replication.actions;
  const Tape& tape = replication.tape;
  std::vector<double>& sigma = replication.sigma;
  const int A = tape.boxes();
  for (int t = 0; t < tape.online_rows; ++t) {
    const int row = tape.online_row(t);
    const auto at = [&](int opening) { return tape.at(row + opening * tape.online_rows, 0); };
    const ArmValues values =
        arm_values(actions, A, tape.mu.data(), tape.cost.data(), sigma.data(), tape.reward.data(), at);
    double score[kMaxBoxes];
    hindsight_of_arms(LaneSpec{}, values, actions.arms_there(tape.there(row), A), score);
    for (int arm = 0; arm < A * actions.openings; ++arm)
      sigma[at(actions.opening_of(arm)) + static_cast<std::size_t>(actions.box_of(arm))] = score[arm];
  }
}

void decide_benchmarks(const ShockSample& sample, const OracleOptions& options, Replication& replication) {
  const Tape& tape = replication.tape;
  const IndexInputs inputs = moving_inputs(replication.instance, sample, tape, options);
  const ProjectedLaw law = compressed_law(sample.projected, kLawPoints, sample.link);
  decide_with(replication, [&](int t, int a) {
    const std::size_t at = tape.at(tape.online_row(t), a);
    FiniteBox box;
    box.cost = inputs.cost[at];
    double before = 0.0;
    for (std::size_t k = 0; k < law.points.size(); ++k) {
      box.values.push_back(reward_link(law.link, inputs.shift[at] + inputs.scale[at] * law.points[k]));
      box.probabilities.push_back(law.cumulative[k] - before);
      before = law.cumulative[k];
    }
    return box;
  });
}

void decide_benchmarks(const FiniteProblem& problem, Replication& replication) {
  decide_with(replication, [&](int, int a) { return problem.boxes[static_cast<std::size_t>(a)]; });
}

}  // namespace pandora
