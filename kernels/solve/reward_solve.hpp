// A lane's exact estimate of theta_* by a team: Newton's method from theta_hat. One member does the d x d algebra, or a
// warp does it if d is the paper's.
#pragma once

#include <cmath>

#include "kernels/solve/minimise.hpp"
#include "kernels/solve/reward_gradient.hpp"
#include "kernels/solve/reward_sums.hpp"
#include "kernels/state/reward_state.hpp"
#include "kernels/state/state.hpp"

namespace pandora::engine {

inline constexpr int kRewardTile = 64;

/// Doubles of scratch for theta_hat's steps and solves, per lane, behind its RewardState.
PANDORA_HD inline int reward_scratch(int d) {
  return 6 * RewardState::stride(d) + 2 * kRewardTile + 2 * d * d;
}

/// The part of this scratch for the steps between solves: three rows.
PANDORA_HD inline double* step_scratch(double* reward_memory, int d) {
  return reward_memory + RewardState::size(d);
}

template <class Real, class Team>
class RewardSolve {
 public:
  PANDORA_HD RewardSolve(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane)
      : team_(team),
        shape_(problem.shape),
        lane_(lane),
        state_(RewardState::over(lane.reward_memory, problem.shape.d)),
        d_(problem.shape.d),
        n_(lane.progress->reward_samples),
        ridge_(problem.ridge_reward),
        gradient_(step_scratch(lane.reward_memory, d_) + 3 * RewardState::stride(d_)),
        direction_(gradient_ + RewardState::stride(d_)),
        column_(direction_ + RewardState::stride(d_)),
        excess_(column_ + RewardState::stride(d_)),
        slope_(excess_ + kRewardTile),
        hessian_(slope_ + kRewardTile),
        factor_(hessian_ + d_ * d_) {}

  /// Newton's method on (eq:hat:theta:def) from theta_hat; rebuilds C. False if it does not converge or a number is not
  /// finite.
  PANDORA_HD bool solve() {
    // A full step from a squared decrement below this leaves at most about its square, which is less than rho_hat's
    // tolerance.
    const double quadratic = ::sqrt(index_tolerance(n_, ridge_));
    constexpr int kMostSteps = 100;
    double slope = 0.0, length = 0.0;  // of the current step
    for (int step = 0; step < kMostSteps;) {
      evaluate();
      if (length > 1e-6 && too_long(slope, dot())) {
        move(-0.5 * length);
        length *= 0.5;
        continue;
      }
      team_.sync();  // the last direction is still being read
      direct();
      team_.sync();
      slope = dot();
      if (!is_finite(slope)) return false;
      move(1.0);
      if (-slope <= quadratic) {
        invert();
        if (team_.rank() == 0) {
          lane_.progress->reward_samples_at_solve = n_;
          ++lane_.progress->reward_solves;
        }
        team_.sync();
        return true;
      }
      length = 1.0;
      ++step;
    }
    return false;
  }

  /// Computes Phi^-1 from the present samples.
  PANDORA_APART PANDORA_HD void rebuild_design() {
    sum_derivatives([](double) { return 1.0; });
    if (team_.rank() == 0) {
      for (int i = 0; i < d_; ++i) hessian_[i * d_ + i] += ridge_;
      factorise();
      invert_factorised(state_.design_inverse);
    }
    team_.sync();
  }

 private:
  using Paper = RewardSums<10>;
  // The memory from column_ on is long enough wherever this is called.
  static_assert(Paper::kScratch <= RewardState::stride(10) + 2 * kRewardTile);
  PANDORA_HD bool in_registers() const { return !Team::kVectors && std::is_same_v<Real, float> && d_ == 10; }

  PANDORA_HD void direct() {
    if (in_registers()) {
      if constexpr (!Team::kVectors) {
        const auto part = part_of(team_);
        if (part.index == 0) Paper::direct(part.team, gradient_, hessian_, factor_, direction_);
      }
    } else if (team_.rank() == 0) {
      factorise();                                                 // body: not taken
      for (int i = 0; i < d_; ++i) direction_[i] = -gradient_[i];  // body: not taken
      solve_factorised(direction_);                                // body: not taken
    }
  }
  // C, from the existing factor.
  PANDORA_HD void invert() {
    if (in_registers())
      Paper::invert(team_, factor_, state_.curvature_inverse, RewardState::stride(d_));
    else if (team_.rank() == 0)
      invert_factorised(state_.curvature_inverse);  // body: not taken
  }
  PANDORA_HD double dot() const {
    double sum = 0.0;
    for (int i = 0; i < d_; ++i) sum += gradient_[i] * direction_[i];
    return sum;
  }
  PANDORA_HD void move(double step) {
    team_.sync();
    for (int i = team_.rank(); i < d_; i += team_.size()) state_.theta[i] += step * direction_[i];
    team_.sync();
  }

  // gradient and lower triangle of the Hessian, with the ridge.
  PANDORA_HD void evaluate() {
    if constexpr (Team::kVectors)
      reward_derivatives(RewardTable::over(lane_.reward_table, d_, shape_.capacity), lane_.reward_weight, n_,
                         state_.theta, gradient_, hessian_);
    else if (in_registers())
      Paper::sum(team_, lane_, n_, state_.theta, gradient_, hessian_, column_);
    else
      sum_derivatives([](double mean) { return mean * (1.0 - mean); });  // body: not taken
    for (int i = team_.rank(); i < d_; i += team_.size()) {
      gradient_[i] += ridge_ * state_.theta[i];
      hessian_[i * d_ + i] += ridge_;
    }
    team_.sync();
  }

  // `slope_of` gives the factor of phi phi' in the Hessian for a sample with mean G, without its weight.
  template <class Slope>
  PANDORA_HD void sum_derivatives(Slope&& slope_of) {
    const int entries = d_ * (d_ + 1);
    for (int e = team_.rank(); e < d_ * d_ + d_; e += team_.size()) (e < d_ ? gradient_[e] : hessian_[e - d_]) = 0.0;
    team_.sync();
    for (int first = 0; first < n_; first += kRewardTile) {
      const int count = n_ - first < kRewardTile ? n_ - first : kRewardTile;
      for (int s = team_.rank(); s < count; s += team_.size()) {
        const int at = lane_.deployed[first + s];
        const double mean = logistic(state_.linear(phi(at)));
        const double weight =
            lane_.reward_weight == nullptr ? 1.0 : static_cast<double>(lane_.reward_weight[first + s]);
        slope_[s] = weight * slope_of(mean);
        excess_[s] = weight * (mean - static_cast<double>(lane_.tape.told[at]));
      }
      team_.sync();
      for (int e = team_.rank(); e < entries; e += team_.size()) {
        const int i = e / (d_ + 1), j = e % (d_ + 1) - 1;  // j = -1: gradient
        if (j > i) continue;
        double sum = 0.0;
        for (int s = 0; s < count; ++s) {
          const float* x = phi(lane_.deployed[first + s]);
          sum += j < 0 ? excess_[s] * static_cast<double>(x[i])
                       : slope_[s] * static_cast<double>(x[i]) * static_cast<double>(x[j]);
        }
        (j < 0 ? gradient_[i] : hessian_[i * d_ + j]) += sum;
      }
      team_.sync();
    }
  }

  PANDORA_HD const float* phi(int at) const { return lane_.tape.phi + static_cast<std::size_t>(at) * d_; }

  // By member 0 alone: d is small.
  PANDORA_HD void factorise() {
    for (int i = 0; i < d_; ++i)
      for (int j = 0; j <= i; ++j) {
        double sum = hessian_[i * d_ + j];
        for (int k = 0; k < j; ++k) sum -= factor_[i * d_ + k] * factor_[j * d_ + k];
        factor_[i * d_ + j] = i == j ? ::sqrt(sum) : sum / factor_[j * d_ + j];
      }
  }
  PANDORA_HD void solve_factorised(double* x) const {
    for (int i = 0; i < d_; ++i) {
      for (int k = 0; k < i; ++k) x[i] -= factor_[i * d_ + k] * x[k];
      x[i] /= factor_[i * d_ + i];
    }
    for (int i = d_ - 1; i >= 0; --i) {
      for (int k = i + 1; k < d_; ++k) x[i] -= factor_[k * d_ + i] * x[k];
      x[i] /= factor_[i * d_ + i];
    }
  }

  PANDORA_HD void invert_factorised(double* inverse) const {
    const int row = RewardState::stride(d_);
    for (int c = 0; c < d_; ++c) {
      for (int i = 0; i < d_; ++i) column_[i] = i == c ? 1.0 : 0.0;
      solve_factorised(column_);
      for (int i = 0; i <= c; ++i) inverse[i * row + c] = inverse[c * row + i] = column_[i];
    }
  }

  const Team& team_;
  const Shape& shape_;
  const LaneView<Real>& lane_;
  const RewardState state_;
  const int d_, n_;
  const double ridge_;
  double *const gradient_, *const direction_, *const column_, *const excess_, *const slope_, *const hessian_,
                                                                                                 *const factor_;
};

}  // namespace pandora::engine
