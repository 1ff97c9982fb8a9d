// Ridge and logistic regressions on the features of prompts, judged where each prompt is left out: one decomposition
// of the features serves all that is predicted and all ridges.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <span>
#include <vector>

namespace pandora {

/// A function of psi: m weights, and what a fit without the prompt gives each of the asked prompts.
struct LinearFit {
  Eigen::VectorXd weights, left_out;
  double error = HUGE_VAL;  ///< over all prompts, where each is left out
};

class LinearFits {
 public:
  /// psi: prompts x m, of which the first is 1. `asked`: rows.
  LinearFits(std::span<const float> psi, std::size_t m, const std::vector<std::size_t>& asked);

  /// y: a number for each prompt.
  LinearFit ridge(const Eigen::VectorXd& y) const;
  /// y in [0, 1]. left_out is of shares as well.
  LinearFit logistic(const Eigen::VectorXd& y) const;

 private:
  LinearFit logistic_with(const Eigen::VectorXd& y, double ridge, Eigen::VectorXd& beta) const;
  Eigen::VectorXd of_asked(const Eigen::ArrayXd& by_row) const;
  Eigen::VectorXd weights_of(const Eigen::VectorXd& slopes, double constant) const;
  auto turned() const { return design_.rightCols(design_.cols() - 1); }

  std::vector<std::size_t> asked_;
  Eigen::MatrixXd design_;  // 1, and the features less their means, turned so that they are orthogonal
  Eigen::MatrixXd turn_;
  Eigen::VectorXd means_;
  Eigen::ArrayXd squares_;   // of the turned features, summed over the prompts
  Eigen::ArrayXXd kept_of_;  // prompts x ridges: 1 - leverage, at least a little
  double unit_ = 1.0;
};

}  // namespace pandora
