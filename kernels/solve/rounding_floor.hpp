// When to stop a solve whose gradients are in single precision: they cannot push the squared Newton decrement below a
// floor that grows as the ridge shrinks. It is reached when a small decrement has not been halved for a while.
#pragma once

#include "kernels/base/hd.hpp"

namespace pandora {

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

}  // namespace pandora
