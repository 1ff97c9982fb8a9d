// The index loss over a box's samples at a point rho that moves along directions: gradient and weights, by a team.
#pragma once

#include "kernels/solve/samples.hpp"

namespace pandora::engine {

/// gradient, m numbers: sum_s w_s psi_s m_s(z_s) (eq:known-theta-loss-gradient) without the ridge term; weight: every
/// sample's w_s h_s, h_s = Lambda'(z_s) 1{mu_s > Lambda(z_s)}. Returns sum_s w_s m_s(z_s)^2. It is defined in
/// kernels/solve/vector_solver.cpp, for teams with vectors only.
template <class Real>
double index_gradient(const SampleView<Real>& samples, const Real* rho, double* gradient, Real* weight);

/// sum_s l_s(psi_s' rho) + rho' diag(ridges) rho / 2: scratch holds rho, its gradient, a direction and the samples'
/// weights.
template <class Real, class Team>
class IndexSums {
 public:
  /// `ridges` stay in memory, because a device's solve is short of registers; null: none.
  PANDORA_HD IndexSums(const Team& team, const SampleView<Real>& samples, const Ridges* ridges,
                       const SolveScratch<Real>& scratch)
      : team_(team), samples_(samples), ridges_(ridges), scratch_(scratch) {}

  PANDORA_HD const Team& team() const { return team_; }
  PANDORA_HD const SampleView<Real>& samples() const { return samples_; }
  PANDORA_HD const SolveScratch<Real>& scratch() const { return scratch_; }
  PANDORA_HD const Ridges& ridges() const { return *ridges_; }
  PANDORA_HD int gradients() const { return gradients_; }
  /// Counts another operation that costs about as much as a gradient.
  PANDORA_HD void charge() { ++gradients_; }

  template <class Value>
  PANDORA_HD void start(const Value* rho) {
    for (int k = team_.rank(); k < samples_.m; k += team_.size()) scratch_.rho[k] = static_cast<double>(rho[k]);
    team_.sync();
  }

  /// Gradient and weights at rho.
  PANDORA_HD void evaluate() {
    ++gradients_;
    team_.sync();
    for (int k = team_.rank(); k < samples_.m; k += team_.size())
      scratch_.point[k] = static_cast<Real>(scratch_.rho[k]);
    team_.sync();
    if constexpr (Team::kVectors)
      moment_squares_ = index_gradient(samples_, scratch_.point, scratch_.gradient, scratch_.weight);
    else
      sum_gradient();
    for (int k = team_.rank(); k < samples_.m && ridges_ != nullptr; k += team_.size())
      scratch_.gradient[k] += ridges_->of(k) * scratch_.rho[k];
    team_.sync();
  }

  /// sum_s w_s m_s^2 and sum_s w_s h_s at the last evaluation, the same in every member.
  PANDORA_HD double moment_squares() const {
    if constexpr (Team::kVectors)
      return moment_squares_;
    else
      return sum_over_samples(
          [this](int s) { return scratch_.moment[s] * scratch_.moment[s] / samples_.weight_of(s); });
  }
  PANDORA_HD double curvature() const {
    return sum_over_samples([this](int s) { return scratch_.weight[s]; });
  }

  /// gradient' direction, the same in every member.
  PANDORA_HD double slope() const {
    using V = typename Team::template Vectors<double>;
    typename V::Vector sum = V::broadcast(0.0);
    for (int k = 0; k < samples_.m; k += V::width)
      sum = V::fused(V::load(scratch_.gradient + k), V::load(scratch_.direction + k), sum);
    return V::sum(sum);
  }

  /// rho += step * direction
  PANDORA_HD void move(double step) {
    team_.sync();
    for (int k = team_.rank(); k < samples_.m; k += team_.size()) scratch_.rho[k] += step * scratch_.direction[k];
    team_.sync();
  }

 private:
  template <class Term>
  PANDORA_HD double sum_over_samples(Term&& term) const {
    const int parts = team_.size() < samples_.m ? team_.size() : samples_.m;
    for (int part = team_.rank(); part < parts; part += team_.size()) {
      double sum = 0.0;
      for (int s = part; s < samples_.n; s += parts) sum += static_cast<double>(term(s));
      scratch_.partial[part] = sum;
    }
    team_.sync();
    double sum = 0.0;
    for (int part = 0; part < parts; ++part) sum += scratch_.partial[part];
    team_.sync();
    return sum;
  }

  // First every member forms the moments of some samples, then it sums some features over the samples. Teams with
  // vectors use index_gradient() instead, which keeps a strip's moments in registers and passes over every sample once.
  PANDORA_HD void sum_gradient() {
    constexpr int kFlush = 64;  // samples summed in Real before they join the double sum
    const int m = samples_.m, n = samples_.n;
    form_moments(team_, samples_, scratch_.point, scratch_);
    const int groups = groups_of(team_.size(), m);
    for (int part = team_.rank(); part < groups * m; part += team_.size()) {
      const int group = part / m, k = part % m;
      double sum = 0.0;
      for (int first = group * kFlush; first < n; first += groups * kFlush) {
        const int last = first + kFlush < n ? first + kFlush : n;
        Real strip = 0;
        for (int s = first; s < last; ++s) strip = fused(scratch_.moment[s], samples_.psi_of(s)[k], strip);
        sum += static_cast<double>(strip);
      }
      scratch_.partial[part] = sum;
    }
    team_.sync();
    for (int k = team_.rank(); k < m; k += team_.size()) {
      double sum = 0.0;
      for (int group = 0; group < groups; ++group) sum += scratch_.partial[group * m + k];
      scratch_.gradient[k] = sum;
    }
  }

  const Team& team_;
  const SampleView<Real> samples_;
  const Ridges* const ridges_;
  const SolveScratch<Real>& scratch_;
  int gradients_ = 0;
  double moment_squares_ = 0.0;
};

}  // namespace pandora::engine
