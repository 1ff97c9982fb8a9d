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

/// The lane that plays it, mu* known: it opens `boxes` in order until a response reaches its threshold.
LaneSpec cascade_lane(int T0, const FrugalCascade& cascade);

/// Among the cascades of at most longest_cascade(A) boxes the one with the greatest mean realised utility over the
/// calibration periods 1..T0 (1 <= T0 <= tape.calibration_rows), all of whose outputs, costs and Bernoulli rewards are
/// seen. A response is accepted, and the best one deployed, by mu*; the utility is its realised reward less the costs
/// of the boxes opened. Candidates come by length, then boxes, then thresholds ascending; utilities within 1e-9 tie and
/// the first maximum wins. Box 0 alone where no utility is finite.
FrugalCascade search_cascade(const Tape& tape, int T0);

/// The same where mu* is not seen: a response is accepted, and the best one deployed, by G(theta_hat' phi), theta_hat
/// fitted to all outputs and rewards of these periods with the ridge eta_0 > 0 of (eq:hat:theta:def). Throws
/// LaneFailure if Newton's steps do not suffice for theta_hat or a number is not finite.
FrugalCascade search_cascade_on_rewards(const Tape& tape, int T0, double ridge);

/// Number of cascades of at most `longest` of A boxes: sum over L of A!/(A-L)! 11^(L-1); 795 for A = 3, L <= 3. Numbers
/// beyond 2^50 are cut off.
std::uint64_t cascade_candidates(int boxes, int longest);

/// The budget of a search: about a second at T_0 = 1000.
inline constexpr std::uint64_t kMostCascades = 12000000;

/// The greatest length for which all cascades of A boxes up to it are within the budget: A up to A = 5, then 5 for
/// A = 6, 4 up to A = 11 and 3 up to A = 16. At least 1.
int longest_cascade(int boxes);

}  // namespace pandora
