// What to run: everything that a sweep's numbers depend on; and what comes of a unit of it.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/ground/base/lists.hpp"
#include "host/ground/base/printable.hpp"
#include "host/lanes/engine/lanes.hpp"
#include "host/lanes/model/preparation.hpp"
#include "kernels/rules/refit_schedule.hpp"
#include "kernels/rules/tally.hpp"
#include "oracle/oracle.hpp"
#include "pandora/paper_setting.hpp"
#include "pandora/policy.hpp"

namespace pandora {

struct Study {
  Dimensions dimensions;
  std::vector<Environment> environments;
  std::vector<Regime> regimes = {Regime::A, Regime::B};
  std::vector<int> T0 = kPaperCalibration;
  std::vector<std::string> policies;  ///< empty: all but those that must be named
  Grids hyperparameters;
  std::map<std::string, Grids> hyperparameters_of;  ///< by policy, where its values are others
  int replications = kPaperReplications;
  int periods = kPaperPeriods;
  std::uint64_t seed = 1;
  EstimationOptions estimation;
  FeedbackRules feedback;
  Pacing budget;
  OracleOptions oracle;
  EngineSettings engine;
  bool regret = true;      ///< simulate policies (Tables 1 and 2)
  bool order = true;       ///< the frequencies of the oracle's orders (Table 3)
  bool hdf5 = true;        ///< write results.h5
  bool estimates = false;  ///< keep what lanes had learned in the end
  bool instances = true;   ///< keep every replication's parameters with its results
  int order_contexts = kPaperOrderContexts;
};

/// Whether a study that lists these policies simulates the policy.
inline bool lists(const std::vector<std::string>& policies, const Policy& policy) {
  return policies.empty() ? !policy.by_name_only : has(policies, policy.name);
}

/// Whether the study is of a table of outcomes. Then it has no other environment, and the table's sizes.
inline bool of_table(const Study& study) {
  return !study.environments.empty() && study.environments[0].trace != nullptr;
}

/// A lane of every replication: a policy's variant at one T_0.
struct PlannedLane {
  const Policy* policy = nullptr;
  PolicyVariant variant;
  int T0 = 0;
};

/// One replication of one (environment, regime): the unit that shares a tape.
struct Unit {
  Environment environment;
  Regime regime;
  std::uint32_t replication;
};

/// Units in order, as runs of replications of one (environment, regime): a study's size does not show in memory.
class Units {
 public:
  Units() = default;
  Units(std::initializer_list<Unit> units) {
    for (const Unit& unit : units) push_back(unit);
  }

  std::size_t size() const { return runs_.empty() ? 0 : runs_.back().first + runs_.back().count; }
  Unit operator[](std::size_t index) const;

  struct Iterator {
    const Units* units;
    std::size_t index;
    Unit operator*() const { return (*units)[index]; }
    Iterator& operator++() { return ++index, *this; }
    bool operator!=(const Iterator& other) const { return index != other.index; }
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  void push_back(const Unit& unit) { append(unit, 1); }
  /// `count` replications from the unit's own on.
  void append(const Unit& first, std::size_t count);
  /// Units [first, last) of others.
  void append(const Units& others, std::size_t first, std::size_t last);

 private:
  struct Run {
    Unit unit;                 // the first
    std::size_t first, count;  // its index; units
  };
  std::size_t run_of(std::size_t index) const;

  std::vector<Run> runs_;
};

/// How a replication is named in files and on the command line, such as uniform/A/3.
std::string unit_name(const Unit& unit);

/// How T_0, policy and variant are named in files and on the command line, such as 50/dow/known/c_rho=0.1; a policy
/// that ignores the calibration has - in place of T_0. A lane's name does not depend on what else the study has.
std::string lane_name(const PlannedLane& lane);

/// What a lane that is code is shown: mu* where its reward setting is "known", the oracle's indices if its policy is a
/// yardstick.
inline Shown shown_to(const PlannedLane& lane) {
  return {lane.variant.reward == "known", lane.policy->group == PolicyGroup::yardstick};
}

/// The lanes that are simulated (policies that ignore the calibration stand in once, for all T_0) and the
/// units, in order: environments, regimes, replications. The oracle is always lane 0.
struct Plan {
  std::vector<PlannedLane> lanes;
  Units units;
  int calibration_periods = 0;   ///< the largest T_0
  EstimationOptions estimation;  ///< the study's; the variants' lanes are those under it
};
/// Throws Error (usage) if two variants of a policy have one name, which rows and `pandora replay` could not tell
/// apart.
Plan make_plan(const Study& study);

/// What the replication of a unit is prepared from.
Preparation preparation_of(const Study& study, const Plan& plan, const Unit& unit);

/// What is worth knowing of a lane beside its sums. Most lanes have nothing to say.
struct LaneNotes {
  // What the policy chose beforehand, Order::listed: FrugalGPT's cascade and thresholds, the best single box.
  std::vector<int> list;           ///< boxes in order, from 0
  std::vector<double> thresholds;  ///< one less than there are boxes; empty if it stops after the first
  // What it had learned in the end, if the study keeps estimates.
  std::vector<double> rho;    ///< A x m
  std::vector<double> theta;  ///< d
  std::string message;        ///< what a policy of one's own did wrong, or threw
  /// In a table of outcomes, for each of the T periods: a bit for every opened box, and the deployed box in the bits
  /// from kMaxBoxes on (packed()). Empty if the lane failed.
  std::vector<std::uint32_t> outcomes;

  friend bool operator==(const LaneNotes&, const LaneNotes&) = default;
};

/// Why the lane was stopped, with what its policy said, in one line of a sensible length.
inline std::string failure_message(const LaneTally& tally, const LaneNotes& notes) {
  constexpr std::size_t kMost = 300;
  std::string text = failure_text(tally.failure);
  if (!notes.message.empty()) text += ": " + printable(notes.message, kMost);
  return text;
}

/// An outcome of a period in one number, without the order.
inline std::uint32_t packed(const PeriodOutcome& outcome) {
  std::uint32_t out = static_cast<std::uint32_t>(outcome.deployed) << kMaxBoxes;
  for (int k = 0; k < outcome.queried; ++k) out |= 1u << outcome.order[k];
  return out;
}
inline std::uint32_t opened_bits(std::uint32_t packed_outcome) {
  return packed_outcome & ((1u << kMaxBoxes) - 1);
}
inline std::uint32_t deployed_box(std::uint32_t packed_outcome) {
  return packed_outcome >> kMaxBoxes;
}

/// Results of one unit, in the plan's lane order.
struct UnitResult {
  std::vector<LaneTally> lanes;      ///< empty if the study simulates no policies
  std::vector<LaneNotes> notes;      ///< one per lane
  OrderFrequencies order;            ///< if the study asks for it
  std::optional<Instance> instance;  ///< likewise
  /// In a table of outcomes: the table, and the row of it behind each of the T periods.
  std::shared_ptr<const PromptOutcomes> table;
  std::vector<std::uint32_t> prompts;

  void resize(std::size_t count) {
    lanes.resize(count);
    notes.resize(count);
  }

  friend bool operator==(const UnitResult&, const UnitResult&) = default;
};

// Texts that studies have for schedules of exact solves and for hyperparameters:

/// "every_period", "every:k" (k >= 1), "geometric:g" (g > 1), "tracking"; throws Error (usage) otherwise.
RefitSchedule parse_refit(const std::string& text);
std::string refit_text(const RefitSchedule& schedule);

/// `tracking` (a step at every sample, a solve at 5% growth) or `geometric:g` with g >= 1 (solves alone). Throws Error.
RewardSchedule parse_reward_refit(const std::string& text);

/// Name and value of each of a variant's hyperparameters, from a text such as "c_rho=0.1;c_theta=1"; what is no
/// NAME=VALUE has the name "variant".
std::vector<std::pair<std::string, std::string>> hyperparameter_values(const std::string& text);

/// c_rho, c_theta and c_b, then the names that registered policies have, then those that variants of the plan have
/// beside.
std::vector<std::string> hyperparameter_columns(const Plan& plan);

/// The value under that name; empty if the variant has none.
std::string hyperparameter_of(const std::string& text, const std::string& name);

}  // namespace pandora
