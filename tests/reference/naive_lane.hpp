// A whole lane written from the paper with nothing clever: all samples are stored, every matrix is built
// afresh and inverted densely where it is needed, every estimate is the root of its stationarity condition.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "host/reference/reference_engine.hpp"

namespace pandora::naive {

/// A queried output of one box.
struct IndexSample {
  Eigen::VectorXd psi;
  Eigen::VectorXd phi;
  double cost = 0.0;
};

/// A deployed output with its realised reward.
struct RewardSample {
  Eigen::VectorXd phi;
  double reward = 0.0;
};

double reward_link(double z);  ///< G, the logistic function
double index_link(double z);   ///< Lambda = tanh

/// ridge rho + sum_s m_s(rho) psi_s with the rewards mu_s (eq:known-theta-loss-gradient).
Eigen::VectorXd index_gradient(const std::vector<IndexSample>& samples, const std::vector<double>& mu, double ridge,
                               const Eigen::VectorXd& rho, Loss loss = Loss::reservation);

/// The zero of index_gradient.
Eigen::VectorXd fit_index(const std::vector<IndexSample>& samples, const std::vector<double>& mu, double ridge,
                          Loss loss = Loss::reservation);

/// ridge theta - sum_k (r_k - G(theta' phi_k)) phi_k, and its zero (eq:hat:theta:def).
Eigen::VectorXd reward_gradient(const std::vector<RewardSample>& samples, double ridge, const Eigen::VectorXd& theta);
Eigen::VectorXd fit_reward(const std::vector<RewardSample>& samples, double ridge, int d);

struct Period {
  std::vector<double> score, width;
  std::vector<int> queried;  ///< in order
  int deployed = 0;
};

struct Result {
  std::vector<Period> periods;
  double utility = 0.0;  ///< sums over the periods
  double realised_utility = 0.0;
};

Result run_lane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options);

}  // namespace pandora::naive
