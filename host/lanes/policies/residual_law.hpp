// The law of a number v = mean + e, at most 1, with the e of an empirical law that is made optimistic.
#pragma once

#include <vector>

namespace pandora::policies {

/// n residuals, each with mass 1/n. An optimistic law gives every tail more: S(u) = P(e >= u) becomes
/// min(1, S + sqrt(2 S (1 - S) L/n) + L/n), Bernstein's bound at the level L, and what that adds above the largest
/// residual stands at v = 1. L = 0 is the empirical law itself.
class ResidualLaw {
 public:
  ResidualLaw() = default;
  explicit ResidualLaw(std::vector<double> residuals, double L = 0.0);

  /// sigma with E[(v - sigma)^+] = cost, cost > 0, (eq:sigma); exact, by a binary search. There must be residuals.
  double index(double mean, double cost) const;

 private:
  std::vector<double> e_;       // descending
  std::vector<double> tail_;    // S from e_[i] downwards to e_[i + 1]; the last is 1
  std::vector<double> excess_;  // the integral of S from e_[i] to e_[0]
  double top_ = 0.0;            // the mass at 1
};

}  // namespace pandora::policies
