// Vectorised loops whose bodies need fused multiply-adds in single precision. On machines without such an instruction,
// a loop first computes sums in double. It is repeated with exact sums only if one of them may have been rounded twice.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/base/elementary.hpp"
#include "kernels/base/hd.hpp"

namespace pandora {

#if defined(__x86_64__) && !defined(__FMA__) && !defined(__CUDACC__)
inline constexpr bool kEmulatesFused = true;
#else
inline constexpr bool kEmulatesFused = false;
#endif

/// a b + c for a body of for_lanes. The product is exact in double. If the last 28 bits of the sum are not all 0, the
/// sum is neither at nor next to the middle between two floats, so that rounding it again equals rounding once.
class QuickFused {
 public:
  PANDORA_INLINE float operator()(float a, float b, float c) {
    const double sum = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c);
    const std::uint32_t last = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(sum)) << 4;
    least_ = last < least_ ? last : least_;
    return static_cast<float>(sum);
  }
  PANDORA_INLINE double operator()(double a, double b, double c) { return fused(a, b, c); }
  /// For a b that is exact in float.
  PANDORA_INLINE float of_product(float a, float b, float c) const { return a * b + c; }
  /// For a b + c that has at most 53 digits.
  PANDORA_INLINE float of_sum(float a, float b, float c) const {
    return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
  }
  /// 0 if a sum may have been rounded twice.
  PANDORA_INLINE std::uint32_t least() const { return least_; }

 private:
  std::uint32_t least_ = ~std::uint32_t{0};
};

/// Calls body(lane, fused) for the lanes 0 .. W - 1, possibly twice for a lane.
template <int W, class Body>
PANDORA_HD PANDORA_INLINE void for_lanes(Body&& body) {
  if constexpr (kEmulatesFused && W > 1) {
    std::uint32_t least[W], all = ~std::uint32_t{0};
    PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) {
      QuickFused quick;
      body(lane, quick);
      least[lane] = quick.least();
    }
    for (int lane = 0; lane < W; ++lane) all = least[lane] < all ? least[lane] : all;
    if (all != 0) return;
  }
  PANDORA_SIMD
  for (int lane = 0; lane < W; ++lane) {
    Fused exact;
    body(lane, exact);
  }
}

/// out[lane] = body(lane, fused). The body may read out[lane].
template <int W, class Body>
PANDORA_INLINE void assign_lanes(float (&out)[W], Body&& body) {
  if constexpr (kEmulatesFused) {
    float next[W];
    for_lanes<W>([&](int lane, auto& fused) PANDORA_INLINED { next[lane] = body(lane, fused); });
    for (int lane = 0; lane < W; ++lane) out[lane] = next[lane];
  } else {
    Fused exact;
    PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) out[lane] = body(lane, exact);
  }
}

}  // namespace pandora
