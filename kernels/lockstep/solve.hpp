// Solves of a lane's estimates by a team: rho_hat by damped Newton steps in the manner of host/index_fit.cpp, where a
// factorised Hessian serves as long as it contracts well; V^-1 and Hinv afresh.
#pragma once

#include <cmath>

#include "kernels/index_loss.hpp"
#include "kernels/lockstep/gram.hpp"
#include "kernels/reward_state.hpp"
#include "kernels/rounding_floor.hpp"

namespace pandora::lockstep {

/// What a solving team works in; one per team that runs at the same time.
template <class Real>
struct SolveScratch {
  Real *mu, *moment, *weight;                   ///< capacity each
  Real* point;                                  ///< stride
  double *rho, *gradient, *direction, *change;  ///< m each
  double* partial;                              ///< m per group of members (see groups_of)
  double* factor;                               ///< m (m + 1) / 2: lower triangle by rows
  double* inverse;                              ///< m x m
  double* coupling;                             ///< d x m
  int *active, *slice;  ///< capacity: samples with weight; one per member: where its slice starts

  static PANDORA_HD std::size_t ints(const Shape& s, int members) {
    return static_cast<std::size_t>(s.capacity) + static_cast<std::size_t>(members) + 1;
  }
  static PANDORA_HD std::size_t reals(const Shape& s) { return 3 * static_cast<std::size_t>(s.capacity) + s.stride; }
  static PANDORA_HD std::size_t doubles(const Shape& s, int groups) {
    const std::size_t m = static_cast<std::size_t>(s.m);
    return 4 * m + groups * m + m * (m + 1) / 2 + m * m + static_cast<std::size_t>(s.d) * m;
  }
  static PANDORA_HD SolveScratch over(const Shape& s, int groups, Real* reals, double* doubles, int* ints) {
    SolveScratch out;
    const std::size_t m = static_cast<std::size_t>(s.m);
    out.mu = reals;
    out.moment = out.mu + s.capacity;
    out.weight = out.moment + s.capacity;
    out.point = out.weight + s.capacity;
    out.rho = doubles;
    out.gradient = out.rho + m;
    out.direction = out.gradient + m;
    out.change = out.direction + m;
    out.partial = out.change + m;
    out.factor = out.partial + groups * m;
    out.inverse = out.factor + m * (m + 1) / 2;
    out.coupling = out.inverse + m * m;
    out.active = ints;
    out.slice = ints + s.capacity;
    return out;
  }
};

/// Members of a large team share a sum over samples in so many groups of m members each.
PANDORA_HD inline int groups_of(int team_size, int m) {
  return team_size / m > 1 ? team_size / m : 1;
}

/// Cholesky factor of the packed lower triangle, in place. Every member finds whether the matrix was positive definite.
template <class Team>
PANDORA_HD bool factorise(const Team& team, double* L, int m) {
  const auto row = [L](int i) { return L + static_cast<std::size_t>(i) * (i + 1) / 2; };
  for (int k = 0; k < m; ++k) {
    const double pivot = row(k)[k];
    if (!(pivot > 0.0) || !is_finite(pivot)) return false;
    const double root = ::sqrt(pivot);
    team.sync();
    for (int i = k + team.rank(); i < m; i += team.size()) row(i)[k] = i == k ? root : row(i)[k] / root;
    team.sync();
    const int left = m - k - 1;
    for (int at = team.rank(); at < left * left; at += team.size()) {
      const int i = k + 1 + at / left, j = k + 1 + at % left;
      if (j <= i) row(i)[j] -= row(i)[k] * row(j)[k];
    }
    team.sync();
  }
  return true;
}

/// x <- (L L')^-1 x
template <class Team>
PANDORA_HD void solve_factorised(const Team& team, const double* L, int m, double* x) {
  const auto row = [L](int i) { return L + static_cast<std::size_t>(i) * (i + 1) / 2; };
  for (int k = 0; k < m; ++k) {
    if (team.rank() == 0) x[k] /= row(k)[k];
    team.sync();
    const double value = x[k];
    for (int i = k + 1 + team.rank(); i < m; i += team.size()) x[i] -= row(i)[k] * value;
    team.sync();
  }
  for (int k = m - 1; k >= 0; --k) {
    if (team.rank() == 0) x[k] /= row(k)[k];
    team.sync();
    const double value = x[k];
    for (int i = team.rank(); i < k; i += team.size()) x[i] -= row(k)[i] * value;
    team.sync();
  }
}

/// out (m x m) = (L L')^-1, a column per member.
template <class Team>
PANDORA_HD void invert_factorised(const Team& team, const double* L, int m, double* out) {
  const auto row = [L](int i) { return L + static_cast<std::size_t>(i) * (i + 1) / 2; };
  for (int c = team.rank(); c < m; c += team.size()) {
    for (int i = 0; i < m; ++i) {
      double sum = i == c ? 1.0 : 0.0;
      for (int k = c; k < i; ++k) sum -= row(i)[k] * out[k * m + c];
      out[i * m + c] = i < c ? 0.0 : sum / row(i)[i];
    }
    for (int i = m - 1; i >= 0; --i) {
      double sum = out[i * m + c];
      for (int k = i + 1; k < m; ++k) sum -= row(k)[i] * out[k * m + c];
      out[i * m + c] = sum / row(i)[i];
    }
  }
  team.sync();
}

/// A box's solve: the data that its parts share.
template <class Real, class Team>
class BoxSolve {
 public:
  PANDORA_HD BoxSolve(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane, int a,
                      const SolveScratch<Real>& scratch)
      : team_(team),
        problem_(problem),
        lane_(lane),
        box_(lane.box[a]),
        scratch_(scratch),
        a_(a),
        n_(box_.n()),
        m_(problem.shape.m),
        stride_(problem.shape.stride) {}

  /// Brings rho to the minimiser of (eq:known-theta-rho-estimator), (eq:hat:rho:at); false if it does not converge.
  PANDORA_HD bool solve() {
    constexpr int kMostGradients = 500;
    constexpr double kContraction = 0.05;  // a factor that does worse than this is replaced
    if (n_ == 0) return true;
    refresh_rewards();
    double* const rho = scratch_.rho;
    for (int k = team_.rank(); k < m_; k += team_.size()) rho[k] = static_cast<double>(box_.rho[k]);
    team_.sync();
    const double tolerance = index_tolerance(n_);
    RoundingFloor floor;
    int gradients = 0;
    double last = 0.0;
    bool fresh = false;
    evaluate(gradients);
    while (gradients < kMostGradients) {
      if (last == 0.0 || !fresh) {
        if (!factorise_hessian()) return false;
        fresh = true;
      }
      team_.sync();  // the last direction is still being read
      for (int k = team_.rank(); k < m_; k += team_.size()) scratch_.direction[k] = -scratch_.gradient[k];
      team_.sync();
      solve_factorised(team_, scratch_.factor, m_, scratch_.direction);
      const double slope = dot(scratch_.gradient, scratch_.direction);
      if (!is_finite(slope)) return false;
      move(1.0);
      if (-slope <= tolerance || floor.reached(-slope)) {
        for (int k = team_.rank(); k < m_; k += team_.size()) box_.rho[k] = static_cast<Real>(rho[k]);
        if (team_.rank() == 0) box_.solved_at() = n_;
        team_.sync();
        return true;
      }
      evaluate(gradients);
      // Convex along the direction: a step is too long where the derivative has grown well past zero.
      double ahead = dot(scratch_.gradient, scratch_.direction);
      bool shortened = false;
      for (double step = 1.0; ahead > -0.5 * slope && gradients < kMostGradients;) {
        const double ratio = slope / (slope - ahead);
        const double next = step * (ratio < 0.1 ? 0.1 : ratio > 0.9 ? 0.9 : ratio);
        move(next - step);
        step = next;
        evaluate(gradients);
        ahead = dot(scratch_.gradient, scratch_.direction);
        shortened = true;
      }
      fresh = !shortened && (ahead < 0.0 ? -ahead : ahead) < kContraction * -slope;
      last = -slope;
    }
    return false;
  }

  /// Hinv and Q = Hinv M afresh at the current rho and theta_hat (`tracking`). False if the Hessian is not positive
  /// definite.
  PANDORA_HD bool rebuild_curvature() {
    refresh_rewards();
    for (int k = team_.rank(); k < m_; k += team_.size()) scratch_.rho[k] = static_cast<double>(box_.rho[k]);
    team_.sync();
    int gradients = 0;
    evaluate(gradients);
    if (!factorise_hessian()) return false;
    invert_factorised(team_, scratch_.factor, m_, scratch_.inverse);
    for (int at = team_.rank(); at < m_ * m_; at += team_.size()) {
      const int i = at / m_, k = at % m_;
      if (k > i) continue;
      const Real value = static_cast<Real>(scratch_.inverse[at]);
      box_.curvature.P[i * stride_ + k] = value;
      box_.curvature.P[k * stride_ + i] = value;
    }
    if (team_.rank() == 0) box_.curvature_at() = n_;
    if (lane_.tracks_theta) rebuild_response();
    team_.sync();
    return true;
  }

  /// V^-1 afresh from all samples by rank-one steps; for LinUCB also its ridge regression. False if a step
  /// finds V not positive definite.
  PANDORA_HD bool rebuild_design() {
    Real* const P = box_.design.P;
    const bool payoff = lane_.spec.learns_payoff();
    const Real start = static_cast<Real>(1.0 / (payoff ? 1.0 : problem_.ridge_index));
    for (int at = team_.rank(); at < m_ * stride_; at += team_.size())
      P[at] = at / stride_ == at % stride_ ? start : Real(0);
    if (payoff)
      for (int i = team_.rank(); i < stride_; i += team_.size()) box_.rho[i] = Real(0);
    team_.sync();
    for (int s = 0; s < n_; ++s) {
      const int row = box_.rows[s];
      const Real* psi = lane_.tape.psi_of(row, stride_);
      for (int i = team_.rank(); i < m_; i += team_.size()) {
        Real sum = 0;
        for (int l = 0; l < m_; ++l) sum = fused(P[l * stride_ + i], psi[l], sum);
        scratch_.change[i] = static_cast<double>(sum);
      }
      team_.sync();
      double quadratic = 0.0, predicted = 0.0;
      for (int l = 0; l < m_; ++l) {
        quadratic += scratch_.change[l] * static_cast<double>(psi[l]);
        predicted += static_cast<double>(box_.rho[l]) * static_cast<double>(psi[l]);
      }
      if (!(1.0 + quadratic > 0.0) || !is_finite(quadratic)) return false;
      const Real root = static_cast<Real>(1.0 / ::sqrt(1.0 + quadratic));
      const double error = payoff ? (predicted - payoff_of(row)) / (1.0 + quadratic) : 0.0;
      team_.sync();
      for (int at = team_.rank(); at < m_ * m_; at += team_.size()) {
        const int i = at / m_, k = at % m_;
        P[i * stride_ + k] = fused(-(root * static_cast<Real>(scratch_.change[i])),
                                   root * static_cast<Real>(scratch_.change[k]), P[i * stride_ + k]);
      }
      for (int i = team_.rank(); i < m_ && payoff; i += team_.size())
        box_.rho[i] -= static_cast<Real>(scratch_.change[i] * error);
      team_.sync();
    }
    return true;
  }

 private:
  PANDORA_HD const Real* psi(int s) const { return lane_.tape.psi_of(box_.rows[s], stride_); }
  PANDORA_HD std::size_t at(int row) const { return static_cast<std::size_t>(row) * problem_.shape.A + a_; }
  PANDORA_HD double payoff_of(int row) const { return lane_.tape.reward[at(row)] - lane_.tape.cost[at(row)]; }

  PANDORA_HD double dot(const double* x, const double* y) const {
    double sum = 0.0;
    for (int k = 0; k < m_; ++k) sum += x[k] * y[k];
    return sum;
  }

  PANDORA_HD void move(double step) {
    team_.sync();
    for (int k = team_.rank(); k < m_; k += team_.size()) scratch_.rho[k] += step * scratch_.direction[k];
    team_.sync();
  }

  // mu of every sample: mu*, or under the current theta_hat (eq:plugin:loss).
  PANDORA_HD void refresh_rewards() {
    const int d = problem_.shape.d;
    const RewardState state = RewardState::over(lane_.reward_memory, d);
    for (int s = team_.rank(); s < n_; s += team_.size()) {
      if (!lane_.spec.learns_reward()) {
        scratch_.mu[s] = static_cast<Real>(lane_.tape.mu[at(box_.rows[s])]);
        continue;
      }
      const float* phi = lane_.tape.phi + at(box_.rows[s]) * d;
      Real z = 0;
      for (int i = 0; i < d; ++i) z += static_cast<Real>(state.theta[i]) * static_cast<Real>(phi[i]);
      scratch_.mu[s] = logistic(z);
    }
    team_.sync();
  }

  // Moments, weights and the gradient with its ridge term at scratch rho.
  PANDORA_HD void evaluate(int& gradients) {
    constexpr int kFlush = 64;  // samples summed in Real before they join the double sum
    ++gradients;
    team_.sync();
    for (int k = team_.rank(); k < m_; k += team_.size()) scratch_.point[k] = static_cast<Real>(scratch_.rho[k]);
    team_.sync();
    for (int s = team_.rank(); s < n_; s += team_.size()) {
      const Real* x = psi(s);
      Real z = 0;
      for (int k = 0; k < m_; ++k) z = fused(x[k], scratch_.point[k], z);
      const IndexMoment<Real> value =
          index_moment(z, static_cast<Real>(lane_.tape.cost[at(box_.rows[s])]), scratch_.mu[s]);
      scratch_.moment[s] = value.moment;
      scratch_.weight[s] = value.curvature;
    }
    team_.sync();
    const int groups = groups_of(team_.size(), m_);
    for (int part = team_.rank(); part < groups * m_; part += team_.size()) {
      const int group = part / m_, k = part % m_;
      double sum = 0.0;
      for (int first = group * kFlush; first < n_; first += groups * kFlush) {
        const int last = first + kFlush < n_ ? first + kFlush : n_;
        Real strip = 0;
        for (int s = first; s < last; ++s) strip = fused(scratch_.moment[s], psi(s)[k], strip);
        sum += static_cast<double>(strip);
      }
      scratch_.partial[part] = sum;
    }
    team_.sync();
    for (int k = team_.rank(); k < m_; k += team_.size()) {
      double sum = problem_.ridge_index * scratch_.rho[k];
      for (int group = 0; group < groups; ++group) sum += scratch_.partial[group * m_ + k];
      scratch_.gradient[k] = sum;
    }
    team_.sync();
  }

  // active[0..) = the samples with a weight, in order; returns how many. A slice of the samples per member.
  PANDORA_HD int list_active() {
    const int members = team_.size(), length = (n_ + members - 1) / members;
    const int first = length * team_.rank() < n_ ? length * team_.rank() : n_;
    const int last = first + length < n_ ? first + length : n_;
    int count = 0;
    for (int s = first; s < last; ++s) count += scratch_.weight[s] > Real(0) ? 1 : 0;
    team_.sync();
    scratch_.slice[team_.rank() + 1] = count;
    team_.sync();
    if (team_.rank() == 0) {
      scratch_.slice[0] = 0;
      for (int k = 0; k < members; ++k) scratch_.slice[k + 1] += scratch_.slice[k];
    }
    team_.sync();
    int at = scratch_.slice[team_.rank()];
    for (int s = first; s < last; ++s)
      if (scratch_.weight[s] > Real(0)) scratch_.active[at++] = s;
    team_.sync();
    return scratch_.slice[members];
  }

  // factor = Cholesky factor of ridge I + sum h_s psi_s psi_s' with the weights of the last evaluate().
  PANDORA_HD bool factorise_hessian() {
    constexpr int T = 4;
    const int tiles = (m_ + T - 1) / T, active = list_active();
    for (int tile = team_.rank(); tile < tiles * (tiles + 1) / 2; tile += team_.size()) {
      int row = 0;  // of the tile in the lower triangle
      while ((row + 1) * (row + 2) / 2 <= tile) ++row;
      const int i0 = row * T, k0 = (tile - row * (row + 1) / 2) * T;
      Real sum[T][T] = {};
      for (int k = 0; k < active; ++k) {
        const int s = scratch_.active[k];
        const Real h = scratch_.weight[s];
        const Real* x = psi(s);
        for (int r = 0; r < T; ++r) {
          const Real scaled = h * x[i0 + r];
          for (int c = 0; c < T; ++c) sum[r][c] = fused(scaled, x[k0 + c], sum[r][c]);
        }
      }
      for (int r = 0; r < T; ++r)
        for (int c = 0; c < T; ++c) {
          const int i = i0 + r, k = k0 + c;
          if (i >= m_ || k > i) continue;
          scratch_.factor[static_cast<std::size_t>(i) * (i + 1) / 2 + k] =
              static_cast<double>(sum[r][c]) + (i == k ? problem_.ridge_index : 0.0);
        }
    }
    team_.sync();
    return factorise(team_, scratch_.factor, m_);
  }

  // Q = Hinv M with M = sum psi 1{active} G' phi' at the weights of the last evaluate().
  PANDORA_HD void rebuild_response() {
    const int d = problem_.shape.d, active = list_active();
    for (int part = team_.rank(); part < d * m_; part += team_.size()) {
      const int k = part / m_, i = part % m_;
      double sum = 0.0;
      for (int l = 0; l < active; ++l) {
        const int s = scratch_.active[l];
        const Real slope = scratch_.mu[s] * (Real(1) - scratch_.mu[s]);
        sum += static_cast<double>(slope * static_cast<Real>(lane_.tape.phi[at(box_.rows[s]) * d + k]) * psi(s)[i]);
      }
      scratch_.coupling[part] = sum;
    }
    team_.sync();
    for (int part = team_.rank(); part < d * m_; part += team_.size()) {
      const int k = part / m_, i = part % m_;
      double sum = 0.0;
      for (int l = 0; l < m_; ++l) sum += scratch_.inverse[l * m_ + i] * scratch_.coupling[k * m_ + l];
      box_.response[k * stride_ + i] = static_cast<Real>(sum);
    }
    team_.sync();
  }

  const Team& team_;
  const Problem<Real>& problem_;
  const LaneView<Real>& lane_;
  const BoxView<Real>& box_;
  const SolveScratch<Real>& scratch_;
  const int a_, n_, m_, stride_;
};

}  // namespace pandora::lockstep
