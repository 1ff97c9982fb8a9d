// What cohorts spend their cycles on: counted in a build with PANDORA_COUNT_CYCLES, else nothing is there.
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

/// From its making to its end; `cycles`: the sums of all teams.
template <class Team, bool kCounts>
class PhaseClock {
 public:
  PANDORA_HD PhaseClock(const Team&, unsigned long long*, Phase) {}
};

#if defined(__CUDACC__)
template <class Team>
class PhaseClock<Team, true> {
 public:
  PANDORA_HD PhaseClock(const Team& team, unsigned long long* cycles, Phase phase)
      : sum_(team.rank() == 0 ? cycles + phase : nullptr), start_(now()) {}
  PhaseClock(const PhaseClock&) = delete;
  PANDORA_HD ~PhaseClock() {
#if defined(__CUDA_ARCH__)
    if (sum_ != nullptr) atomicAdd(sum_, static_cast<unsigned long long>(now() - start_));
#endif
  }

 private:
  static PANDORA_HD long long now() {
#if defined(__CUDA_ARCH__)
    return clock64();
#else
    return 0;
#endif
  }
  unsigned long long* const sum_;
  const long long start_;
};
#endif

}  // namespace pandora::engine
