// Why a lane was stopped. A failure is a result that the lane's tally records; the other lanes go on.
#pragma once

#include <cstdint>

namespace pandora {

enum class Failure : std::uint8_t {
  none,
  not_finite,  ///< a score, an estimate of mu or a gain is NaN or infinite
  index_fit,   ///< a fit of rho_hat did not converge
  reward_fit,  ///< a fit of theta_hat did not converge
  indefinite,  ///< a matrix that should be positive definite is not
  policy       ///< a user's policy threw, or broke the rules for policies
};

inline constexpr const char* failure_text(Failure failure) {
  switch (failure) {
    case Failure::none:
      return "none";
    case Failure::not_finite:
      return "a number is not finite";
    case Failure::index_fit:
      return "the index fit did not converge";
    case Failure::reward_fit:
      return "the reward fit did not converge";
    case Failure::indefinite:
      return "a matrix is not positive definite";
    case Failure::policy:
      return "the policy failed";
  }
  return "unknown";
}

}  // namespace pandora
