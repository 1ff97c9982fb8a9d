// The memory of a sweep and of its results.
#pragma once

#include "host/studies/study/study.hpp"

namespace pandora {

/// Lanes of one policy's variant that stand together in the plan, and their kind. Each lane has its own T_0.
struct LaneGroup {
  std::size_t first = 0, count = 0;  ///< in the plan
  LaneSpec spec;                     ///< if they are rules
  CodeDemand demand;                 ///< if they are code
  bool is_code = false;

  /// The power of the context's length with which their time grows, for long contexts: 2 for products of matrices and
  /// vectors, 3 for products of matrices, which joint fits need.
  int power_of_context() const { return is_code ? demand.power_of_context : spec.fits_jointly() ? 3 : 2; }
};

/// The plan's lanes in order. Asks the policies on the smallest possible replication. A user's policy or environment
/// that refuses such a replication counts as rules without special needs.
std::vector<LaneGroup> lane_groups(const Study& study, const Plan& plan);

/// The most bytes that `threads` workers hold while they prepare and run. It does not depend on the number of
/// replications.
std::uint64_t sweep_bytes(const Study& study, const Plan& plan, const std::vector<LaneGroup>& groups, int threads);

/// The bytes of a replication's tape with its benchmark, on the host.
std::uint64_t tape_bytes(const Study& study, const Plan& plan);

/// The bytes of a unit's results while they wait for a part or a group of parts to be complete; and as numbers in a
/// file.
struct UnitBytes {
  std::uint64_t kept = 0, written = 0;
};
UnitBytes unit_bytes(const Study& study, const Plan& plan);

/// The bytes of a complete part: as results, as a document, as its bytes and with its header.
std::uint64_t part_bytes(const Study& study, const Plan& plan);

/// The bytes of a whole study's tables and results.h5 while they are made.
std::uint64_t table_bytes(const Study& study, const Plan& plan);

}  // namespace pandora
