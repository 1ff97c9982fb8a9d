// Everything about one replication, on the CPU: what is drawn, and its lanes.
#pragma once

#include <span>

#include "host/lanes/engine/lanes.hpp"
#include "host/lanes/model/preparation.hpp"
#include "host/studies/study/study.hpp"
#include "pandora/error.hpp"
#include "pandora/replication.hpp"

namespace pandora {

class OracleCache;

/// What `body` returns; where an oracle's order cannot be told, the unit is named.
template <class Body>
auto named(const Unit& unit, Body&& body) {
  try {
    return body();
  } catch (const IndexNotFinite& error) {
    throw Error(ExitCode::usage, unit_name(unit) + ": " + error.what() + "; mend the values of environment." +
                                     unit.environment.name + ", or set output.order to false");
  }
}

/// A ReplicationPreparer on the CPU; `cache` keeps the oracle's tables. Throws Error if the environment is code that
/// fails or draws what require_sound() refuses.
Replication prepare_on_cpu(const Preparation& from, OrderFrequencies* order, OracleCache* cache = nullptr);

/// Draws the instance, tape and oracle indices of a unit on the CPU; and, into `order` if it is not null,
/// the frequencies of the oracle's orders.
Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderFrequencies* order,
                                OracleCache* cache = nullptr);

/// Where the unit's environment is a table of outcomes: the table and the rows of the unit's periods.
void keep_prompts(const Study& study, const Plan& plan, const Unit& unit, UnitResult& result);

/// Lanes that an engine can run on a replication, and where in the plan they stand.
struct RunnableLanes {
  std::vector<LaneSpec> specs;
  std::vector<std::size_t> at;

  /// Puts what an engine found where it belongs; `records` is empty or has one entry per spec. `estimates`: whether
  /// what was learned is kept.
  void place(const std::vector<LaneTally>& found, std::span<LaneRecord> records, bool estimates,
             UnitResult& result) const;
};

/// Makes the specs of lanes first .. last of the plan; lanes that are code (PolicyVariant::custom) are run to their
/// end. A lane whose policy throws, or makes a spec that cannot run (learned scores or rewards without learning, T_0
/// beyond the calibration rows, a list that is empty or names a box twice or one that is not there), goes into
/// `result` at its place, failed in period 0. Throws what the policy throws if that is std::bad_alloc or an Error
/// other than LaneFailure.
RunnableLanes runnable_lanes(const Plan& plan, const Replication& replication, std::size_t first, std::size_t last,
                             UnitResult& result);

/// Runs lanes first .. last of the plan on the CPU into `result` at their places, with what they learned if the study
/// keeps it.
void run_planned_lanes(const Study& study, const Plan& plan, const Replication& replication, std::size_t first,
                       std::size_t last, UnitResult& result);

/// One record per lane for what is kept of it beside its tally: what was learned, if the study says so, and the
/// outcomes of its periods in a table; none if neither.
std::vector<LaneRecord> records_wanted(const Study& study, std::size_t lanes);

/// Runs one lane on the CPU with the study's engine; `record` may be null.
LaneTally run_one_lane(const Study& study, const Replication& replication, const LaneSpec& spec, LaneRecord* record);

/// Why the study cannot run on a GPU; empty if it can.
std::string needs_cpu(const Study& study, const Plan& plan);

}  // namespace pandora
