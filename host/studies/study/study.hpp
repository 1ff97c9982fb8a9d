// What to run: everything that a sweep's numbers depend on.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "host/lanes/engine/lanes.hpp"
#include "host/lanes/model/preparation.hpp"
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
  int replications = kPaperReplications;
  int periods = kPaperPeriods;
  std::uint64_t seed = 1;
  EstimationOptions estimation;
  OracleOptions oracle;
  EngineSettings engine;
  bool regret = true;      ///< simulate policies (Tables 1 and 2)
  bool order = true;       ///< the frequencies of the oracle's orders (Table 3)
  bool hdf5 = true;        ///< write results.h5
  bool estimates = false;  ///< keep what lanes had learned in the end
  bool instances = true;   ///< keep every replication's parameters with its results
  int order_contexts = kPaperOrderContexts;
};

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

}  // namespace pandora
