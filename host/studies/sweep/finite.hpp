// Numbers that are not finite must not become results: NaN in a mean would look like one.
#pragma once

#include <span>
#include <string>

#include "host/studies/study/study.hpp"
#include "pandora/replication.hpp"

namespace pandora {

/// What of a replication is not finite, such as "mu of box 2 in online period 17"; empty if everything is. Indices of
/// rows before the online ones are no part of it. Reads the tape once, at the speed of memory.
std::string not_finite(const Replication& replication);

/// A row of a tape in words: "online period 17".
std::string period_of(const Tape& tape, std::size_t row);

/// Whether all sums are such. Those over fewer periods are finite if these are.
bool sums_are_finite(const LaneTally& tally);

/// A lane whose sums are not finite, or beyond kGreatestSum, though each of its periods was, has failed in its last
/// period.
void fail_sums_not_finite(std::span<LaneTally> lanes);

/// If the replication is not finite: all of its `count` lanes have failed before the first period, and say by what.
/// Returns whether they have.
bool fail_all_if_not_finite(const Replication& replication, std::size_t count, UnitResult& result);

}  // namespace pandora
