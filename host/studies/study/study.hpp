// A study: everything on which a sweep's numbers depend. Also the results of one of its units.
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
  std::vector<std::string> policies;  ///< empty: all except those that must be named
  Grids hyperparameters;
  std::map<std::string, Grids> hyperparameters_of;  ///< by policy, if its values differ
  int replications = kPaperReplications;
  int periods = kPaperPeriods;
  std::uint64_t seed = 1;
  EstimationOptions estimation;
  FeedbackRules feedback;
  Pacing budget;
  Actions actions;
  BoxGroups ties;  ///< model.ties
  OracleOptions oracle;
  EngineSettings engine;
  bool regret = true;      ///< simulate policies (Tables 1 and 2)
  bool order = true;       ///< the frequencies of the oracle's orders (Table 3)
  bool hdf5 = true;        ///< write results.h5
  bool estimates = false;  ///< keep the estimates of lanes in the end
  bool decisions = false;  ///< keep the lanes' decisions in every period
  bool instances = true;   ///< keep every replication's parameters with its results
  int order_contexts = kPaperOrderContexts;
};

/// Whether a study with this list of policies simulates the policy.
inline bool lists(const std::vector<std::string>& policies, const Policy& policy) {
  return policies.empty() ? !policy.by_name_only : has(policies, policy.name);
}

/// Whether the study is of a table of outcomes, or of laws. It then has no other environment, and the sizes of these.
inline bool of_table(const Study& study) {
  return !study.environments.empty() && study.environments[0].trace != nullptr;
}

/// A lane in every replication: a policy's variant at one T_0.
struct PlannedLane {
  const Policy* policy = nullptr;
  PolicyVariant variant;
  int T0 = 0;
};

/// One replication of one (environment, regime), whose lanes share a tape.
struct Unit {
  Environment environment;
  Regime regime;
  std::uint32_t replication;
};

/// Units in order, stored as runs of replications of one (environment, regime), so that memory does not grow with the
/// study.
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
  /// Appends `count` replications, beginning with the unit's own.
  void append(const Unit& first, std::size_t count);
  /// Appends the units [first, last) of others.
  void append(const Units& others, std::size_t first, std::size_t last);

 private:
  struct Run {
    Unit unit;                 // the first
    std::size_t first, count;  // its index; units
  };
  std::size_t run_of(std::size_t index) const;

  std::vector<Run> runs_;
};

/// The name of a replication in files and on the command line, such as uniform/A/3.
std::string unit_name(const Unit& unit);

/// The name of T_0, policy and variant in files and on the command line, such as 50/dow/known/c_rho=0.1. A policy that
/// ignores the calibration has - in place of T_0. A lane's name does not depend on the rest of the study.
std::string lane_name(const PlannedLane& lane);

/// What a lane that is code may see: mu* if its reward setting is "known", the oracle's indices if its policy is a
/// yardstick.
inline Shown shown_to(const PlannedLane& lane) {
  return {lane.variant.reward == "known", lane.policy->group == PolicyGroup::yardstick};
}

/// The lanes that are simulated, and the units in order: environments, regimes, replications. A policy that ignores the
/// calibration has one lane for all T_0. The oracle is always lane 0.
struct Plan {
  std::vector<PlannedLane> lanes;
  Units units;
  int calibration_periods = 0;   ///< the largest T_0
  EstimationOptions estimation;  ///< the study's; the variants' lanes include it
};
/// Throws Error (usage) if two variants of a policy have the same name, because rows and `pandora replay` could not
/// distinguish them.
Plan make_plan(const Study& study);

/// The arguments for the preparation of a unit's replication.
Preparation preparation_of(const Study& study, const Plan& plan, const Unit& unit);

/// How many openings a period can have: each box N times.
inline std::size_t openings_of_period(const Study& study) {
  const int openings = study.dimensions.boxes * study.actions.openings;
  return static_cast<std::size_t>(openings);
}

/// How many entries a period has in LaneDecisions::order: one for each opening, and one where a box may be deployed
/// unopened or none at all.
inline std::size_t entries_of_period(const Study& study) {
  const bool one_more = study.actions.uninspected || study.actions.has_outside();
  return openings_of_period(study) + (one_more ? 1 : 0);
}

/// How many rows of a table of outcomes stand behind a period: one, or one for each opening of each box.
inline std::size_t rows_of_period(const Study& study) {
  return study.actions.openings > 1 ? openings_of_period(study) : 1;
}

/// A lane's decisions in its T periods, if the study keeps them. A period takes 8 bytes and one for each entry, of which
/// the paper's problem has A. Empty if the lane failed.
struct LaneDecisions {
  static constexpr std::uint8_t kNone = 255, kDeployed = 16, kUnopened = 32;

  /// T x entries: the opened boxes in order, kNone beyond; kDeployed more for what was deployed. If that was no opened
  /// box, it is the last entry, with kUnopened more: a box, or A for the outside option.
  std::vector<std::uint8_t> order;
  std::vector<float> reward;  ///< T: the Bernoulli reward of the deployed box
  std::vector<float> cost;    ///< T: the sum of the costs of the opened boxes

  friend bool operator==(const LaneDecisions&, const LaneDecisions&) = default;
};

/// Notes about a lane besides its sums. Most lanes have none.
struct LaneNotes {
  // The boxes that the policy chose beforehand with Order::listed: FrugalGPT's cascade and thresholds, the best single
  // box.
  std::vector<int> list;           ///< boxes in order, from 0
  std::vector<double> thresholds;  ///< one fewer than boxes; empty if it stops after the first
  // The estimates in the end, if the study keeps them.
  std::vector<double> rho;    ///< A x m
  std::vector<double> theta;  ///< d
  std::string message;        ///< the rule that a user's policy broke, or what it threw
  /// In a table of outcomes, for each of the T periods: a bit for every opened box or arm, and the deployed one in the
  /// bits from kMaxBoxes on (packed()). Empty if the lane failed.
  std::vector<std::uint32_t> outcomes;
  LaneDecisions decisions;

  friend bool operator==(const LaneNotes&, const LaneNotes&) = default;
};

/// Why the lane was stopped, with its policy's message, in one line of limited length.
inline std::string failure_message(const LaneTally& tally, const LaneNotes& notes) {
  constexpr std::size_t kMost = 300;
  std::string text = failure_text(tally.failure);
  if (!notes.message.empty()) text += ": " + printable(notes.message, kMost);
  return text;
}

/// The outcome of a period in one number, without the order.
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
  /// In a table of outcomes: the table, and its rows_of_period() rows in each of the T periods.
  std::shared_ptr<const PromptOutcomes> table;
  std::vector<std::uint32_t> prompts;

  void resize(std::size_t count) {
    lanes.resize(count);
    notes.resize(count);
  }

  friend bool operator==(const UnitResult&, const UnitResult&) = default;
};

// The texts in studies for schedules of exact solves and for hyperparameters:

/// Reads "every_period", "every:k" (k >= 1), "geometric:g" (g > 1), "tracking". Throws Error (usage) otherwise.
RefitSchedule parse_refit(const std::string& text);
std::string refit_text(const RefitSchedule& schedule);

/// Reads `tracking` (a step at every sample, a solve at 5% growth) or `geometric:g` with g >= 1 (only solves). Throws
/// Error.
RewardSchedule parse_reward_refit(const std::string& text);

/// Name and value of each of a variant's hyperparameters, from a text such as "c_rho=0.1;c_theta=1". A piece that is
/// not NAME=VALUE has the name "variant".
std::vector<std::pair<std::string, std::string>> hyperparameter_values(const std::string& text);

/// c_rho, c_theta and c_b, then the names from registered policies, then further names in variants of the plan.
std::vector<std::string> hyperparameter_columns(const Plan& plan);

/// The value with that name; empty if the variant has none.
std::string hyperparameter_of(const std::string& text, const std::string& name);

}  // namespace pandora
