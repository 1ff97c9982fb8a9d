// Counts the cycles that cohorts spend in each phase, in a build with PANDORA_COUNT_CYCLES; otherwise it is empty.
#pragma once

#include "kernels/base/team.hpp"

namespace pandora::engine {

#if defined(PANDORA_COUNT_CYCLES)
inline constexpr bool kCountsCycles = true;
#else
inline constexpr bool kCountsCycles = false;
#endif

enum Phase { kAdvancePhase, kWalkPhase, kThetaPhase, kSolvePhase, kJointPhase, kCountOfPhases };
inline constexpr const char* kPhaseNames[kCountOfPhases] = {"advance", "walk", "theta", "solve", "joint"};

/// Counts from its construction to its destruction. `cycles` holds the sums of all teams.
template <bool kCounts>
class PhaseClock {
 public:
  template <class Team>
  PANDORA_HD PhaseClock([[maybe_unused]] const Team& team, [[maybe_unused]] unsigned long long* cycles,
                        [[maybe_unused]] Phase phase) {
    if constexpr (kCounts) {
      sum_ = team.rank() == 0 ? cycles + phase : nullptr;
      start_ = PANDORA_ON_DEVICE(clock64(), 0);
    }
  }
  PhaseClock(const PhaseClock&) = delete;
  PANDORA_HD ~PhaseClock() {
    if constexpr (kCounts) {
      PANDORA_ON_DEVICE(if (sum_ != nullptr) atomicAdd(sum_, static_cast<unsigned long long>(clock64() - start_)), );
    }
  }

 private:
  unsigned long long* sum_ = nullptr;
  long long start_ = 0;
};

}  // namespace pandora::engine
