// A box's exact solve, and the computation of its inverses from all samples, by a team.
#pragma once

#include "kernels/base/assert.hpp"
#include "kernels/solve/solver.hpp"

namespace pandora::engine {

template <class Real, class Team>
class BoxSolve {
 public:
  using Factor = typename Solver<Real, Team>::Factor;

  PANDORA_HD BoxSolve(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane, int a,
                      const SolveScratch<Real>& scratch)
      : team_(team),
        problem_(problem),
        shape_(problem.shape),
        lane_(lane),
        box_(lane.box[a]),
        scratch_(scratch),
        a_(a) {}

  /// Sets rho to the minimiser of (eq:known-theta-rho-estimator), (eq:hat:rho:at). False if it does not converge.
  /// `current_inverse`: whether Hinv is current, with all updates of the block applied.
  PANDORA_HD bool solve(bool current_inverse) {
    const SampleView<Real> samples = gather_samples(team_, shape_, lane_, a_, scratch_);
    if (samples.n == 0) return true;
    PANDORA_ASSERT(!current_inverse || box_.curvature.count->materialised == box_.curvature.count->updates);
    Solver<Real, Team> solver(team_, samples, problem_.ridge_index, scratch_, box_);
    if (solver.minimise_loss(box_, shape_, current_inverse)) return take(solver.rho(), samples.n, solver.gradients());
    return solve_in_double(samples, solver.gradients());
  }

  /// Computes Hinv and Q = Hinv M from all samples at the current rho and theta_hat (`tracking`). False if the Hessian
  /// is not positive definite.
  PANDORA_APART PANDORA_HD bool rebuild_curvature() {
    const SampleView<Real> samples = gather_samples(team_, shape_, lane_, a_, scratch_);
    IndexSums<Real, Team> sums(team_, samples, &problem_.ridge_index, scratch_);
    sums.start(box_.rho);
    sums.evaluate();
    Factor factor(team_, samples, scratch_);
    if (!factor.template factorise<Real>(problem_.ridge_index, true)) return false;
    factor.invert();
    store_inverse(box_.curvature.P);
    if (team_.rank() == 0) box_.progress->samples_at_curvature = samples.n;
    if (lane_.needs.response) rebuild_response(samples);
    team_.sync();
    return true;
  }

  /// Computes V^-1 from all samples; for LinUCB also its ridge regression. False if V is not positive definite.
  PANDORA_APART PANDORA_HD bool rebuild_design() {
    const bool payoff = lane_.spec.learns_payoff();
    const SampleView<Real> samples = gather_samples(team_, shape_, lane_, a_, scratch_);
    Factor factor(team_, samples, scratch_);
    if (!factor.template factorise<double>(problem_.design_ridges(lane_.spec), false)) return false;
    factor.invert();
    store_inverse(box_.design.P);
    if (!payoff) return true;
    for (int k = team_.rank(); k < shape_.m; k += team_.size()) {
      double target = 0.0;
      for (int s = 0; s < samples.n; ++s)
        target += static_cast<double>(samples.weight_of(s)) * payoff_of(samples.rows[s]) *
                  static_cast<double>(samples.psi_of(s)[k]);
      scratch_.direction[k] = target;
    }
    team_.sync();
    factor.solve(scratch_.direction);
    for (int k = team_.rank(); k < shape_.m; k += team_.size()) box_.rho[k] = static_cast<Real>(scratch_.direction[k]);
    team_.sync();
    return true;
  }

 private:
  // A solve in double, for two cases that fail in working precision. With almost no ridge the Hessian may not be
  // positive definite. And where a single sample moves the minimiser far (costs with a heavy tail), the approximations
  // of the Hessian fail.
  PANDORA_APART PANDORA_HD bool solve_in_double(const SampleView<Real>& samples, int gradients) {
    IndexSums<Real, Team> sums(team_, samples, &problem_.ridge_index, scratch_);
    sums.start(box_.rho);
    Factor factor(team_, samples, scratch_);
    return minimise(sums, FactorisedNewton<Real, Team, Factor>(sums, factor)) &&
           take(scratch_.rho, samples.n, gradients + sums.gradients());
  }

  // Stores the minimiser in the box.
  PANDORA_HD bool take(const double* rho, int samples, int gradients) {
    for (int k = team_.rank(); k < shape_.m; k += team_.size()) box_.rho[k] = static_cast<Real>(rho[k]);
    if (team_.rank() == 0) {
      box_.progress->samples_at_solve = samples;
      add_to(&lane_.progress->index_solves, 1);
      add_to(&lane_.progress->index_gradients, gradients);
    }
    team_.sync();
    return true;
  }

  PANDORA_HD std::size_t at(int row) const { return static_cast<std::size_t>(row) * shape_.A + a_; }
  PANDORA_HD double payoff_of(int row) const {
    return lane_.tape.told[at(row)] - (lane_.spec.unopened ? 0.0 : lane_.tape.cost[at(row)]);
  }

  // P = scratch.inverse in working precision, exactly symmetric.
  PANDORA_HD void store_inverse(Real* P) const {
    StoredInverse<Real>(shape_, Team::kVectors).store(team_, P, [&](int i, int k) {
      return scratch_.inverse[i * shape_.m + k];
    });
  }

  // Q = Hinv M with M = sum psi 1{active} G' phi' at the weights of the last evaluation, after Factor::invert. It goes
  // in strips whose contexts stay in the cache for all d rows.
  PANDORA_HD void rebuild_response(const SampleView<Real>& samples) {
    using V = typename Team::template Vectors<Real>;
    using D = typename Team::template Vectors<double>;
    constexpr int kStrip = 64;
    const int d = shape_.d, m = shape_.m, stride = shape_.stride, row = SolveScratch<Real>::padded(m);
    Real* const slope = scratch_.moment;  // G', or 0 where the sample is not active
    for (int s = team_.rank(); s < samples.n; s += team_.size())
      slope[s] = scratch_.weight[s] > Real(0) ? samples.weight_of(s) * samples.mu_of(s) * (Real(1) - samples.mu_of(s))
                                              : Real(0);
    for (int part = team_.rank(); part < d * row; part += team_.size()) scratch_.cross[part] = 0.0;
    team_.sync();
    const int vectors = (m + V::width - 1) / V::width;
    for (int first = 0; first < samples.n; first += kStrip) {
      const int last = first + kStrip < samples.n ? first + kStrip : samples.n;
      for (int part = team_.rank(); part < d * vectors; part += team_.size()) {
        const int k = part / vectors, i = part % vectors * V::width;
        typename V::Vector sum = V::broadcast(Real(0));
        for (int s = first; s < last; ++s) {
          const Real weight = slope[s] * static_cast<Real>(lane_.tape.phi[at(samples.rows[s]) * d + k]);
          sum = V::fused(V::broadcast(weight), V::load(samples.psi_of(s) + i), sum);
        }
        Real element[V::width];
        V::store(element, sum);
        for (int n = 0; n < V::width && i + n < m; ++n)
          scratch_.cross[k * row + i + n] += static_cast<double>(element[n]);
      }
    }
    team_.sync();
    const int columns = (m + D::width - 1) / D::width;
    for (int part = team_.rank(); part < d * columns; part += team_.size()) {
      const int k = part / columns, i = part % columns * D::width;
      typename D::Vector sum = D::broadcast(0.0);
      for (int l = 0; l < m; ++l)
        sum = D::fused(D::broadcast(scratch_.cross[k * row + l]), D::load(scratch_.inverse + l * m + i), sum);
      double element[D::width];
      D::store(element, sum);
      for (int n = 0; n < D::width && i + n < m; ++n) box_.response[k * stride + i + n] = static_cast<Real>(element[n]);
    }
  }

  const Team& team_;
  const Problem<Real>& problem_;
  const Shape& shape_;
  const LaneView<Real>& lane_;
  const BoxView<Real>& box_;
  const SolveScratch<Real>& scratch_;
  const int a_;
};

}  // namespace pandora::engine
