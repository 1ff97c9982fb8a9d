// Dense algebra in double for teams without vectors: sums of outer products in tiles, their factors and inverses, for
// matrices that are computed from all samples. It also has a descent for problems that single precision cannot
// factorise. The usual descent is in kernels/solve/tiled_newton.hpp, that of the CPU in
// kernels/solve/vector_solver.hpp.
#pragma once

#include <cmath>

#include "kernels/solve/index_sums.hpp"

namespace pandora::engine {

/// Cholesky factor of the packed lower triangle, in place. Every member learns whether the matrix was positive
/// definite.
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

/// A weighted sum of outer products, and what its Cholesky factor gives.
template <class Real, class Team>
class TeamFactor {
 public:
  PANDORA_HD TeamFactor(const Team& team, const SampleView<Real>& samples, const SolveScratch<Real>& scratch)
      : team_(team), samples_(samples), scratch_(scratch), m_(samples.m) {}

  /// Factorises diag(ridges) + sum w_s psi_s psi_s' with the weights in scratch, summed in Sum. Without `weighted` the
  /// weights are those of the samples alone. False if it is not positive definite.
  template <class Sum>
  PANDORA_HD bool factorise(Ridges ridge, bool weighted) {
    double* const L = scratch_.factor;
    sum_into<Sum>(ridge, weighted,
                  [L](int i, int k, double value) { L[static_cast<std::size_t>(i) * (i + 1) / 2 + k] = value; });
    return pandora::engine::factorise(team_, L, m_);
  }

  /// out (m x m) = that matrix.
  template <class Sum>
  PANDORA_HD void sum(Ridges ridge, bool weighted, double* out) {
    const int m = m_;
    sum_into<Sum>(ridge, weighted, [out, m](int i, int k, double value) { out[i * m + k] = out[k * m + i] = value; });
  }

  /// x (m) <- C^-1 x
  PANDORA_HD void solve(double* x) const { solve_factorised(team_, scratch_.factor, m_, x); }

  /// scratch.inverse = C^-1
  PANDORA_HD void invert() const { invert_factorised(team_, scratch_.factor, m_, scratch_.inverse); }

 private:
  // store(i, k, value) for every k <= i
  template <class Sum, class Store>
  PANDORA_HD void sum_into(Ridges ridge, bool weighted, Store&& store) {
    constexpr int T = 4;
    const auto list = [this](int s, int to, Real) { scratch_.active[to] = s; };
    const auto weight = [this](int s) { return scratch_.weight[s]; };
    const int tiles = (m_ + T - 1) / T,
              count = weighted ? for_active<Real>(team_, weight, 0, samples_.n, scratch_.counts, list) : samples_.n;
    for (int tile = team_.rank(); tile < tiles * (tiles + 1) / 2; tile += team_.size()) {
      const TilePlace at = place_of_tile(tile);
      const int i0 = at.i * T, k0 = at.j * T;
      Sum sum[T][T] = {};
      for (int l = 0; l < count; ++l) {
        const int s = weighted ? scratch_.active[l] : l;
        const Sum h = weighted ? static_cast<Sum>(scratch_.weight[s]) : static_cast<Sum>(samples_.weight_of(s));
        const Real* x = samples_.psi_of(s);
        for (int r = 0; r < T; ++r) {
          const Sum scaled = h * static_cast<Sum>(x[i0 + r]);
          for (int c = 0; c < T; ++c) sum[r][c] = fused(scaled, static_cast<Sum>(x[k0 + c]), sum[r][c]);
        }
      }
      for (int r = 0; r < T; ++r)
        for (int c = 0; c < T; ++c) {
          const int i = i0 + r, k = k0 + c;
          if (i >= m_ || k > i) continue;
          store(i, k, static_cast<double>(sum[r][c]) + (i != k ? 0.0 : ridge.of(k)));
        }
    }
    team_.sync();
  }

  const Team& team_;
  const SampleView<Real>& samples_;
  const SolveScratch<Real>& scratch_;
  const int m_;
};

/// Damped Newton steps like those of the reference engine (host/lanes/estimator/index_fit.cpp). A factor is kept as
/// long as it contracts well.
template <class Real, class Team, class Factor>
class FactorisedNewton {
 public:
  static constexpr bool kLastStep = true, kTrustsRate = false;

  PANDORA_HD FactorisedNewton(IndexSums<Real, Team>& sums, Factor& factor) : sums_(sums), factor_(factor) {}

  PANDORA_HD bool direct() {
    if (!fresh_ && !factor_.template factorise<double>(sums_.ridges(), true)) return false;
    const Team& team = sums_.team();
    const SolveScratch<Real>& scratch = sums_.scratch();
    team.sync();  // the last direction is still being read
    for (int k = team.rank(); k < sums_.samples().m; k += team.size()) scratch.direction[k] = -scratch.gradient[k];
    team.sync();
    factor_.solve(scratch.direction);
    return true;
  }
  PANDORA_HD bool recover() { return false; }
  PANDORA_HD void stepped(double slope, double ahead, double part) {
    constexpr double kContraction = 0.05;  // a factor that contracts less is replaced
    fresh_ = part == 1.0 && (ahead < 0.0 ? -ahead : ahead) < kContraction * -slope;
  }

 private:
  IndexSums<Real, Team>& sums_;
  Factor& factor_;
  bool fresh_ = false;
};

}  // namespace pandora::engine
