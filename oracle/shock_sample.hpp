// The Monte Carlo sample behind the oracle, M = 400,000 shocks in the paper, as projections only.
#pragma once

#include <vector>

#include "kernels/tape/instance.hpp"
#include "oracle/formulas.hpp"

namespace pandora {

struct ShockSample {
  double projection_norm = 0.0;  ///< ||D' theta_*||_2
  std::vector<float> projected;  ///< M values of w = theta_*' D xi / ||D' theta_*|| of (eq:sigma), descending
  RewardLink link = RewardLink::logistic;
  std::vector<std::vector<float>> cost_terms;  ///< per box M values of beta_{1,a}' |xi|; empty in regime A
};

/// Draws M = `samples` shocks xi ~ P_xi of the instance's environment. Shared by all boxes of a replication.
ShockSample draw_shock_sample(const Instance& instance, int samples);

/// Mean expected cost cbar_a(x) = c_{0,a} G(beta_{0,a}' x) + c_{1,a} E[G(s beta_{1,a}' |xi|)]: the expectation,
/// a smooth function of s alone, interpolated per box by a polynomial through Chebyshev nodes (error below 1e-7).
class OutputCostTable {
 public:
  /// `least` and `greatest` bound the scales s that will be asked for.
  OutputCostTable(const ShockSample& sample, int boxes, double least, double greatest);
  /// The same from its data: the means at the nodes, boxes x kNodes.
  OutputCostTable(double least, double greatest, std::vector<double> values);

  /// E[G(s beta_{1,a}' |xi|)] over the sample; 1/2 in regime A.
  double operator()(int box, double scale) const {
    return nodes_.interpolate(values_.data() + static_cast<std::size_t>(box) * kNodes, scale);
  }

  static constexpr int kNodes = ChebyshevNodes::kNodes;

  double least() const { return least_; }
  double greatest() const { return greatest_; }
  double node(int node) const { return nodes_.at(node); }  ///< a scale s
  const std::vector<double>& values() const { return values_; }

 private:
  double least_, greatest_;  ///< of s
  ChebyshevNodes nodes_;
  std::vector<double> values_;  ///< boxes x kNodes
};

}  // namespace pandora
