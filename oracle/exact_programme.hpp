// The optimal policy of Pandora's problem with finite laws, by dynamic programming, also where a box may be deployed
// unopened, nothing need be opened, or a box can be opened again.
//
// With independent boxes, all that a policy has seen counts by how often each box was opened, n, and the best value so
// far, b (bottom before the first opening). Box i allows N_i openings. Each of them costs c_i and reveals v_ik with
// probability p_ik; e_i is one opening of box i (docs/exact.md):
//
//   V(n, b) = max { b;  o;  max_{i: n_i < N_i} E[v_i];  max_{i: n_i < N_i} -c_i + sum_k p_ik V(n + e_i, max(b, v_ik)) }
//
// The first entry is left out before the first opening, the second if there is no outside option with its value o, and
// the third unless boxes may be deployed unopened. Without an outside option and unopened deployment, and with each
// N_i = 1, this is the paper's problem in a period whose laws are known.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace pandora {

/// A box: each opening costs `cost` and reveals a fresh draw of the law, up to `openings` times; all draws are recalled.
struct FiniteBox {
  double cost = 0.0;                  ///< at least 0
  std::vector<double> values;         ///< distinct, finite
  std::vector<double> probabilities;  ///< of the values; above 0, with sum 1
  int openings = 1;                   ///< at least 1

  double mean() const;
  friend bool operator==(const FiniteBox&, const FiniteBox&) = default;
};

struct FiniteProblem {
  std::vector<FiniteBox> boxes;
  bool uninspected = false;       ///< a box with an opening left may be deployed unopened: E[v], at no cost
  std::optional<double> outside;  ///< nothing need be opened: the value of ending without a box

  friend bool operator==(const FiniteProblem&, const FiniteProblem&) = default;
};

/// What the optimal policy does next. If several actions are equally good, it takes the first in this order; if several
/// boxes are, the first box.
enum class FiniteAction : std::uint8_t { deploy, outside, uninspected, open };

/// A state that the optimal policy reaches, and what it does there.
struct FiniteState {
  std::vector<int> opened;     ///< n, by box
  std::optional<double> best;  ///< b; none before the first opening
  double probability;          ///< that the state is reached
  FiniteAction action;
  int box;       ///< of `open` and `uninspected`; else -1
  double value;  ///< V(n, b)
};

struct ExactProgramme {
  double value;                     ///< V(0, bottom)
  std::vector<FiniteState> states;  ///< those that are reached, in the order of openings
};

/// How many states it has: (1 + distinct values) times the product of N_i + 1.
double count_states(const FiniteProblem& problem);
inline constexpr double kMostFiniteStates = 3e7;  ///< half a gigabyte

/// Solves it backwards over all states, of which there are at most kMostFiniteStates.
ExactProgramme solve_exactly(const FiniteProblem& problem);

struct FiniteChoice {
  double value = -std::numeric_limits<double>::infinity();  ///< of the action
  FiniteAction action = FiniteAction::deploy;
  int box = -1;  ///< of `open` and `uninspected`
};

/// The optimal policy of a problem, solved once, for values that need not be among the problem's own: V is interpolated
/// linearly in b between them. The problem must outlive it.
class FinitePolicy {
 public:
  explicit FinitePolicy(const FiniteProblem& problem);

  /// What it does when the boxes were opened so often and the best value so far is `best` (none before the first).
  FiniteChoice at(const std::vector<int>& opened, std::optional<double> best) const;

 private:
  std::shared_ptr<const class Programme> programme_;
};

/// The expected utility of Weitzman's rule, which is optimal without `uninspected`: E[max(o, max_i min(v_i, sigma_i))]
/// over all draws, (eq:max:utility). Draws of one box are independent, so a box that can be opened N times is N boxes.
double weitzman_value(const FiniteProblem& problem);

/// The best policy that commits: one box, or none, may only be deployed unopened, and the others only opened, by
/// Weitzman's rule. With single openings it has at least 4/5 of the optimum (Guha, Munagala and Sarkar 2008; Beyhaghi
/// and Kleinberg 2019). `box` is -1 where opening alone is best.
struct Commitment {
  double value;
  int box;
};
Commitment commit_or_search(const FiniteProblem& problem);

/// An upper bound of the optimum: exactly one output, or the outside option, is deployed only on average. With a price
/// lambda on a deployment each box is then a problem of its own, V_i(lambda) with lambda as outside option, and
///
///   bound = min over lambda of  lambda + (o - lambda)^+ + sum_i (V_i(lambda) - lambda)
///
/// Every lambda gives a bound; the function is convex.
double relaxation_bound(const FiniteProblem& problem);

}  // namespace pandora
