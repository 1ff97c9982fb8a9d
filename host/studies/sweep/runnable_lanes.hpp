// Which lanes of a plan an engine can run on a replication.
#pragma once

#include <string>
#include <vector>

#include "host/lanes/engine/lanes.hpp"
#include "host/studies/study/study.hpp"
#include "kernels/rules/tally.hpp"
#include "pandora/replication.hpp"

namespace pandora {

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
