// FrugalGPT's fixed cascades: ordered subsets of the boxes with acceptance thresholds from {0, 0.1, ..., 1}.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tape/tape.hpp"
#include "pandora/lane.hpp"

namespace pandora {

struct FrugalCascade {
  std::vector<int> boxes;          ///< 1 <= L <= A boxes, in order
  std::vector<double> thresholds;  ///< L - 1 acceptance thresholds tau_j
};

/// The lane that plays the cascade with mu* known: it opens `boxes` in order until a response reaches its threshold.
LaneSpec cascade_lane(int T0, const FrugalCascade& cascade);

/// The cascade with the greatest mean realised utility over the calibration periods 1..T0 (1 <= T0 <=
/// tape.calibration_rows), among those of at most longest_cascade(A) boxes. The search sees all outputs, costs and
/// Bernoulli rewards of these periods. mu* decides which response is accepted and which one is deployed. The utility is
/// the realised reward of the deployed output less the costs of the opened boxes. Candidates come by length, then
/// boxes, then thresholds ascending; utilities within 1e-9 tie, and the first maximum wins. Returns box 0 alone if no
/// utility is finite.
FrugalCascade search_cascade(const Tape& tape, int T0);

/// The same where mu* is not seen. G(theta_hat' phi) decides in its place, with theta_hat fitted to all outputs and
/// rewards of these periods under the ridge eta_0 > 0 of (eq:hat:theta:def). Throws LaneFailure if Newton's steps do
/// not suffice for theta_hat or a number is not finite.
FrugalCascade search_cascade_on_rewards(const Tape& tape, int T0, double ridge);

/// The number of cascades of at most `longest` of A boxes: the sum over L of A!/(A-L)! 11^(L-1); 795 for A = 3, L <= 3.
/// The sum stops once it exceeds 2^50.
std::uint64_t cascade_candidates(int boxes, int longest);

/// The most cascades that a search tries: about a second at T_0 = 1000.
inline constexpr std::uint64_t kMostCascades = 12000000;

/// The greatest length up to which the search can try all cascades of A boxes: A up to A = 5, then 5 for A = 6, 4 up to
/// A = 11 and 3 up to A = 16. At least 1.
int longest_cascade(int boxes);

}  // namespace pandora
