// Which lanes of a plan an engine can run on a replication.
#pragma once

#include <string>
#include <vector>

#include "host/study/study.hpp"
#include "kernels/rules/tally.hpp"
#include "pandora/replication.hpp"

namespace pandora {

/// Lanes that an engine can run on a replication, and where in the plan they stand.
struct RunnableLanes {
  std::vector<LaneSpec> specs;
  std::vector<std::size_t> at;

  void place(const std::vector<LaneTally>& found, std::vector<LaneTally>& tallies) const {
    for (std::size_t k = 0; k < at.size(); ++k) tallies[at[k]] = found[k];
  }
};

/// Makes the specs of lanes first .. last of the plan; lanes that are code (PolicyVariant::custom) are run to their
/// end. A lane whose policy throws, or makes a spec that cannot run (learned scores or rewards without learning, T_0
/// beyond the calibration rows, a list that is empty or names a box twice or one that is not there), goes into
/// `tallies` at its place, failed in period 0. Throws what the policy throws if that is std::bad_alloc or an Error
/// other than LaneFailure.
RunnableLanes runnable_lanes(const Plan& plan, const Replication& replication, std::size_t first, std::size_t last,
                             std::vector<LaneTally>& tallies);

/// Runs lanes first .. last of the plan on the CPU into `tallies` at their places.
void run_planned_lanes(const Study& study, const Plan& plan, const Replication& replication, std::size_t first,
                       std::size_t last, std::vector<LaneTally>& tallies);

/// Why the study cannot run on a GPU; empty if it can.
std::string needs_cpu(const Study& study, const Plan& plan);

}  // namespace pandora
