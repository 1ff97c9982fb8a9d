// What a sweep and its results take of a machine's memory.
#pragma once

#include "host/studies/study/study.hpp"

namespace pandora {

/// Lanes of one policy's variant that are planned together, and what kind of lane they are. T_0 is each lane's own.
struct LaneGroup {
  std::size_t first = 0, count = 0;  ///< in the plan
  LaneSpec spec;                     ///< where they are rules
  CodeDemand demand;                 ///< where they are code
  bool is_code = false;

  /// With which power of the context's length their time grows where that is large: products of matrices and vectors;
  /// of matrices where fits are joint.
  int power_of_context() const { return is_code ? demand.power_of_context : spec.fits_jointly() ? 3 : 2; }
};

/// The plan's lanes in order. Asks the policies on a replication as small as can be; a policy or an environment of
/// one's own that takes no such replication counts as rules without a need.
std::vector<LaneGroup> lane_groups(const Study& study, const Plan& plan);

/// Bytes that `threads` workers hold at the most while they prepare and run; no number of replications enters.
std::uint64_t sweep_bytes(const Study& study, const Plan& plan, const std::vector<LaneGroup>& groups, int threads);

/// Bytes of a replication's tape with its benchmark, on the host.
std::uint64_t tape_bytes(const Study& study, const Plan& plan);

/// A unit's results as they are kept until a part or a group of parts is whole; and as numbers in a file.
struct UnitBytes {
  std::uint64_t kept = 0, written = 0;
};
UnitBytes unit_bytes(const Study& study, const Plan& plan);

/// Bytes of a part that is complete, as results, as a document, as its bytes and with its header.
std::uint64_t part_bytes(const Study& study, const Plan& plan);

/// Bytes that tables and results.h5 of a whole study take while they are made.
std::uint64_t table_bytes(const Study& study, const Plan& plan);

}  // namespace pandora
