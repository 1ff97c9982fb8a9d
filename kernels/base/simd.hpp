// Vectors for the CPU kernels, as wide as the machine's registers. Arrays are padded to the widest, 64 bytes
// (kernels/base/aligned.hpp). Host code only.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX512F__) || defined(__FMA__)
#include <immintrin.h>
#endif

#include "kernels/base/aligned.hpp"
#include "kernels/base/hd.hpp"

namespace pandora {

/// The number of vector registers: 32 with AVX-512 and on arm64, 16 on other x86 machines.
#if defined(__x86_64__) && !defined(__AVX512F__)
inline constexpr int kRegisters = 16;
#else
inline constexpr int kRegisters = 32;
#endif
#if defined(__AVX512F__)
inline constexpr std::size_t kRegisterBytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t kRegisterBytes = 32;
#else
inline constexpr std::size_t kRegisterBytes = 16;
#endif

template <class Real>
struct Simd {
  static constexpr int width = static_cast<int>(kRegisterBytes / sizeof(Real));
  using Vector __attribute__((vector_size(kRegisterBytes))) = Real;

  static Vector load(const Real* p) {
    Vector v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(Real* p, Vector v) { std::memcpy(p, &v, sizeof v); }
  static Vector broadcast(Real x) { return x - Vector{}; }
  /// a b + c, in one rounding where x86 has fma. On other machines, the files that only multiply matrices and vectors
  /// are compiled with -ffp-contract=fast, which makes an fma of this expression where the machine has one. (An
  /// element-wise std::fma is not always gathered into vector instructions.)
  static Vector fused(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<Real, float>)
      return (Vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    else
      return (Vector)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    if constexpr (std::is_same_v<Real, float>)
      return (Vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    else
      return (Vector)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return a * b + c;
#endif
  }
  /// c - a b
  static Vector fused_negative(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<Real, float>)
      return (Vector)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
    else
      return (Vector)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    if constexpr (std::is_same_v<Real, float>)
      return (Vector)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
    else
      return (Vector)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return c - a * b;
#endif
  }
  /// Sum of the elements, in a fixed order (halves, quarters, ...).
  static Real sum(Vector v) {
    return fold<width / 2>(v);
  }

 private:
  template <int By, int... I>
  static Vector rotated(Vector v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, ((I + By) % width)...);
  }
  template <int Half>
  static Real fold(Vector v) {
    v += rotated<Half>(v, std::make_integer_sequence<int, width>{});
    if constexpr (Half == 1)
      return v[0];
    else
      return fold<Half / 2>(v);
  }
};

/// a'b over whole vectors; n is a multiple of their width.
template <class Real>
PANDORA_INLINE Real padded_dot(const Real* a, const Real* b, int n) {
  using S = Simd<Real>;
  typename S::Vector even{}, odd{};
  int i = 0;
  for (; i + 2 * S::width <= n; i += 2 * S::width) {
    even = S::fused(S::load(a + i), S::load(b + i), even);
    odd = S::fused(S::load(a + i + S::width), S::load(b + i + S::width), odd);
  }
  if (i < n) even = S::fused(S::load(a + i), S::load(b + i), even);
  return S::sum(even + odd);
}

/// out += weight v over whole vectors.
template <class Real>
PANDORA_INLINE void add_multiple(Real* out, const Real* v, Real weight, int n) {
  using S = Simd<Real>;
  for (int i = 0; i < n; i += S::width)
    S::store(out + i, S::fused(S::broadcast(weight), S::load(v + i), S::load(out + i)));
}

}  // namespace pandora
