// How a team minimises a box's index loss, and how it factorises: a type for each kind of team.
#pragma once

#include "kernels/solve/minimise.hpp"
#include "kernels/solve/team_solver.hpp"
#include "kernels/solve/tiled_newton.hpp"

namespace pandora::engine {

/// For teams of threads: Newton's method in memory that they share, or in the scratch of their slot if they share none
/// or m is too large. Teams with vectors have their own Solver (kernels/solve/vector_solver.hpp).
template <class Real, class Team>
class Solver : public TiledNewton<Real, Team> {
  static_assert(!Team::kVectors, "include kernels/solve/vector_solver.hpp");

 public:
  using Factor = TeamFactor<Real, Team>;

  PANDORA_HD Solver(const Team& team, const SampleView<Real>& samples, const Ridges& ridges,
                    const SolveScratch<Real>& scratch, const BoxView<Real>& box)
      : TiledNewton<Real, Team>(team, samples, ridges, scratch,
                                {box.hessian, box.inverse_weight, &box.progress->samples_in_hessian}) {}

  /// Goes from the box's rho to the minimiser of (eq:known-theta-rho-estimator), (eq:hat:rho:at). False if it does not
  /// converge. `current_inverse`: whether the box's Hinv is current, with all updates of the block applied.
  PANDORA_HD bool minimise_loss(const BoxView<Real>& box, const Shape&, bool /*current_inverse*/) {
    this->start(box.rho);
    return minimise(*this, *this);
  }
};

}  // namespace pandora::engine
