// FrugalGPT's fixed cascades: ordered subsets of the boxes with acceptance thresholds from {0, 0.1, ..., 1}.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tape/tape.hpp"

namespace pandora {

struct Cascade {
  std::vector<int> boxes;          ///< 1 <= L <= A boxes, in order
  std::vector<double> thresholds;  ///< L - 1 acceptance thresholds tau_j
};

/// Number of candidates for A boxes: sum over L of A!/(A-L)! 11^(L-1); 795 for A = 3. Numbers beyond 2^50 are cut off.
std::uint64_t cascade_candidates(int boxes);

/// More are not searched: from A = 6 on.
inline constexpr std::uint64_t kMostCascades = 20000000;

/// The candidate with the greatest mean realised utility over the calibration periods 1..T0, all of whose outputs,
/// costs and Bernoulli rewards are seen. A response is accepted, and the best one deployed, by mu*; the utility counts
/// its realised reward. Candidates come by length, then boxes, then thresholds ascending; utilities within 1e-9 tie
/// and the first maximum wins. Throws Error (usage) for more than 20 million candidates (A >= 6).
Cascade search_cascade(const Tape& tape, int T0);

}  // namespace pandora
