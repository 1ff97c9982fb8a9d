// The preparation of a replication on the CPU, and its lanes.
#pragma once

#include <span>

#include "host/lanes/engine/lanes.hpp"
#include "host/lanes/model/preparation.hpp"
#include "host/studies/study/study.hpp"
#include "pandora/error.hpp"
#include "pandora/replication.hpp"

namespace pandora {

class OracleCache;

/// Returns the result of `body`; an error about an oracle's order gets the unit's name.
template <class Body>
auto named(const Unit& unit, Body&& body) {
  try {
    return body();
  } catch (const IndexNotFinite& error) {
    throw Error(ExitCode::usage, unit_name(unit) + ": " + error.what() + "; mend the values of environment." +
                                     unit.environment.name + ", or set output.order to false");
  }
}

/// A ReplicationPreparer on the CPU; `cache` stores the oracle's tables. Throws Error if the environment is code that
/// fails, or if require_sound() refuses its draws.
Replication prepare_on_cpu(const Preparation& from, OrderFrequencies* order, OracleCache* cache = nullptr);

/// Draws the instance, tape and oracle indices of a unit on the CPU. Counts the oracle's orders into `order` if that is
/// not null.
Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderFrequencies* order,
                                OracleCache* cache = nullptr);

/// If the unit's environment is a table of outcomes, stores the table and the rows of the unit's periods in `result`.
void keep_prompts(const Study& study, const Plan& plan, const Unit& unit, UnitResult& result);

/// Lanes that an engine can run on a replication, and their places in the plan.
struct RunnableLanes {
  std::vector<LaneSpec> specs;
  std::vector<std::size_t> at;

  /// Puts an engine's results in their places; `records` is empty or has one entry per spec, of which it keeps what
  /// the study asks for.
  void place(const Study& study, const Replication& replication, const std::vector<LaneTally>& found,
             std::span<LaneRecord> records, UnitResult& result) const;
};

/// Makes the specs of lanes first .. last of the plan, and runs lanes that are code (PolicyVariant::custom) to their
/// end. A lane goes into `result` as failed in period 0 if its policy throws or makes a spec that cannot run: learned
/// scores or rewards without learning, T_0 beyond the calibration rows, or a list that is empty, names a box twice, or
/// names one that does not exist. Rethrows std::bad_alloc and any Error other than LaneFailure.
RunnableLanes runnable_lanes(const Study& study, const Plan& plan, const Replication& replication, std::size_t first,
                             std::size_t last, UnitResult& result);

/// Runs lanes first .. last of the plan on the CPU into `result` at their places, with their estimates if the study
/// keeps them.
void run_planned_lanes(const Study& study, const Plan& plan, const Replication& replication, std::size_t first,
                       std::size_t last, UnitResult& result);

/// One record per lane for the data that is kept besides its tally: the estimates and the decisions, if the study keeps
/// them, and the outcomes of its periods in a table. Empty if none is kept.
std::vector<LaneRecord> records_wanted(const Study& study, std::size_t lanes);

/// Runs one lane on the CPU with the study's engine; `record` may be null.
LaneTally run_one_lane(const Study& study, const Replication& replication, const LaneSpec& spec, LaneRecord* record);

/// Why the study cannot run on a GPU; empty if it can.
std::string needs_cpu(const Study& study, const Plan& plan);

}  // namespace pandora
