// Reservation indices sigma of an empirical law: sum_i p_i (G(l + s w_i) - sigma)^+ = cbar (eq:sigma).
//
//   ReservationSolver solver(points);              // points: the sorted sample or its quantile bins
//   solver.evaluate(l, s);                   // one pass, shared by all cbar
//   double sigma = solver.index(cbar);       // exact, by a binary search
#pragma once

#include <span>
#include <vector>

#include "kernels/tape/formulas.hpp"
#include "oracle/formulas.hpp"

namespace pandora {

/// A law of the projected shock w: points in descending order and P(W >= w_i), where the last one is 1.
struct ProjectedLaw {
  std::vector<double> points;
  std::vector<double> cumulative;
  RewardLink link = RewardLink::logistic;  ///< G of (eq:sigma)
};

/// The sample itself, one point per draw; `descending` must be sorted.
ProjectedLaw empirical_law(const std::vector<float>& descending, RewardLink link = RewardLink::logistic);

/// The means of `bins` quantile bins of the sample. With 4,000 bins sigma moves by less than 1e-5.
ProjectedLaw compressed_law(const std::vector<float>& descending, int bins, RewardLink link = RewardLink::logistic);

/// sigma with E[(V - sigma)^+] = cost, (eq:oracle-weitzman-index), for a V with finitely many values: `values`, equally
/// likely or in proportion to `weights` >= 0. Returns the largest value if the cost is 0, a negative number if the cost
/// exceeds E[V], and NaN if the cost is negative or the weights are all 0.
double index_of_values(std::span<const double> values, double cost, std::span<const double> weights = {});

/// Indices of a law, exactly and without iterations (oracle/formulas.hpp). The law must outlive the solver.
class ReservationSolver {
 public:
  explicit ReservationSolver(const ProjectedLaw& law)
      : law_(&law), g_(law.points.size()), partial_(law.points.size()) {}

  /// Sets V = G(shift + scale w), to which the members below then refer. scale >= 0.
  void evaluate(double shift, double scale) {
    const std::size_t n = g_.size();
    const double* w = law_->points.data();
    double* g = g_.data();
    const RewardLink link = law_->link;
    PANDORA_SIMD
    for (std::size_t i = 0; i < n; ++i) g[i] = reward_link(link, shift + scale * w[i]);
    double sum = 0.0, before = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += (law_->cumulative[i] - before) * g_[i];
      before = law_->cumulative[i];
      partial_[i] = sum;
    }
  }

  /// sigma for expected cost cbar > 0; negative when cbar exceeds E[G]. It is not clipped.
  double index(double cbar) const {
    const auto partial = [this](int i) { return partial_[i]; };
    return reservation_index(g_.data(), law_->cumulative.data(), static_cast<int>(g_.size()), partial, cbar);
  }

  /// The Monte Carlo standard error of sigma for a law of n equally likely draws:
  /// sd((G - sigma)^+) / (P(G > sigma) sqrt(n)).
  double standard_error(double sigma) const;

 private:
  const ProjectedLaw* law_;
  std::vector<double> g_, partial_;
};

}  // namespace pandora
