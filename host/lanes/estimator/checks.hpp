// Checks that end a lane before it goes on with invalid numbers; and the reason why a period ended, in words.
#pragma once

#include <Eigen/Cholesky>
#include <functional>
#include <string>

#include "kernels/base/elementary.hpp"
#include "kernels/rules/period.hpp"
#include "pandora/error.hpp"

namespace pandora {

inline double finite_or_fail(double value) {
  if (!is_finite(value)) throw LaneFailure(Failure::not_finite);
  return value;
}

/// Whether a Cholesky factorisation succeeded. LLT::info() alone reports success for NaN; a number that is not finite
/// anywhere in the lower triangle reaches the factor's diagonal.
template <class Matrix>
bool sound(const Eigen::LLT<Matrix>& factor) {
  return factor.info() == Eigen::Success && factor.matrixLLT().diagonal().allFinite();
}

/// The Cholesky factor of a symmetric matrix that should be positive definite, given by its lower triangle.
template <class Matrix>
Eigen::LLT<Matrix> factorised_or_fail(const Matrix& matrix) {
  Eigen::LLT<Matrix> factor(matrix);
  if (!sound(factor)) throw LaneFailure(Failure::indefinite);
  return factor;
}

/// Why a period's walk (kernels/rules/period.hpp) stopped, in words. `score` and `estimate` (the lane's mu of the
/// opened boxes) have A numbers. `name` gives the name of a box.
std::string why_stopped(const LaneSpec& spec, const PeriodRules& rules, const PeriodOutcome& outcome, int A,
                        const double* score, const double* estimate, const std::function<std::string(int box)>& name);

}  // namespace pandora
