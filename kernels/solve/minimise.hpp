// How rho_hat is moved to the minimiser of the index loss: a descent whose method turns the gradient into a direction.
// The loss is convex and piecewise smooth, so along a direction only its derivative matters.
#pragma once

#include <type_traits>

#include "kernels/base/hd.hpp"
#include "kernels/rules/index_loss.hpp"

namespace pandora::engine {

/// When to stop a solve with gradients in single precision. They cannot push the squared Newton decrement below a
/// floor, which grows as the ridge shrinks. The floor counts as reached when a small decrement has not halved for a
/// while.
class RoundingFloor {
 public:
  PANDORA_HD bool reached(double decrement) {
    if (decrement < 0.5 * least_) {
      least_ = decrement;
      since_ = 0;
    }
    return ++since_ > kPatience && decrement < kSmall;
  }

 private:
  static constexpr int kPatience = 12;
  static constexpr double kSmall = 1e-4;
  double least_ = 1e300;
  int since_ = 0;
};

/// Whether a step was too long: the derivative at its end, `ahead`, is well above zero, from `slope` < 0 at its start.
PANDORA_HD inline bool too_long(double slope, double ahead) {
  return ahead > -0.5 * slope;
}

/// The part of such a step at which the derivative vanishes, by the secant through both ends.
PANDORA_HD inline double secant_part(double slope, double ahead) {
  const double part = slope / (slope - ahead);
  return part < 0.1 ? 0.1 : part > 0.9 ? 0.9 : part;
}

/// Moves the rho of `sums` (IndexSums) to the minimum. False if it takes more than 500 gradients, a number is not
/// finite or the method fails. A method has
///   bool direct()                       direction = -(approximate inverse Hessian) gradient; false: it cannot
///   bool recover()                      after a direction that does not descend: whether to try again
/// void stepped(slope, ahead, part)    a part of the step has been taken; derivatives before and after it
///   kLastStep                           whether a step that is short enough is still taken
///   kTrustsRate                         whether convergence is at least linear: a step is then taken without another
///                                       gradient if the last rate, once more, is enough with a factor of two to
///                                       spare. That may be luck, above all with one or two samples: such a solve can
///                                       end above the tolerance
template <class Sums, class Method>
PANDORA_HD bool minimise(Sums& sums, Method&& method) {
  using Kind = std::remove_reference_t<Method>;
  constexpr int kMostGradients = 500;
  const double tolerance = index_tolerance(sums.samples().n, sums.ridges().least());
  RoundingFloor floor;
  double last = 0.0, slope = 0.0, part = 0.0;  // part: of the current step; 0: none
  // Every function of the team is called in one place, so that on a device it is a part of the loop and not a call.
  for (bool stands = false; sums.gradients() < kMostGradients || !stands;) {
    if (!stands) {
      sums.evaluate();
      if (part > 0.0) {
        const double ahead = sums.slope();
        if (too_long(slope, ahead) && sums.gradients() < kMostGradients) {
          const double next = part * secant_part(slope, ahead);
          sums.move(next - part);
          part = next;
          continue;
        }
        method.stepped(slope, ahead, part);
      }
      stands = true;
      continue;
    }
    if (!method.direct()) return false;
    slope = sums.slope();
    const double decrement = -slope;
    if (!(slope <= 0.0) && method.recover()) {
      sums.charge();
      continue;
    }
    if (!is_finite(slope)) return false;
    const bool solved = decrement <= tolerance || floor.reached(decrement);
    const bool trusted = Kind::kTrustsRate && decrement < 0.1 * last && 2.0 * decrement * decrement <= tolerance * last;
    if (!solved || Kind::kLastStep) sums.move(1.0);
    if (solved || trusted) return true;
    last = decrement;
    part = 1.0;
    stands = false;
  }
  return false;
}

}  // namespace pandora::engine
