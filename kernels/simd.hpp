// Vectors of 64 bytes for the CPU kernels: AVX-512 registers where the machine has them, pairs or fours of smaller
// ones elsewhere (the compiler lowers them). Host code only.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "kernels/hd.hpp"

namespace pandora {

inline constexpr std::size_t kSimdBytes = 64;

template <class Real>
struct Simd {
  static constexpr int width = static_cast<int>(kSimdBytes / sizeof(Real));
  using Vector __attribute__((vector_size(kSimdBytes))) = Real;

  static Vector load(const Real* p) {
    Vector v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(Real* p, Vector v) { std::memcpy(p, &v, sizeof v); }
  static Vector broadcast(Real x) { return x - Vector{}; }
  /// a b + c, in one rounding where the machine has fma: files that use it are compiled with -ffp-contract=fast
  /// (an element-wise std::fma is not always gathered into vector instructions).
  static Vector fused(Vector a, Vector b, Vector c) { return a * b + c; }
  /// c - a b
  static Vector fused_negative(Vector a, Vector b, Vector c) { return c - a * b; }
  /// Sum of the elements, in a fixed order (halves, quarters, ...).
  static Real sum(Vector v) { return fold<width / 2>(v); }

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

/// n rounded up to whole vectors.
template <class Real>
constexpr int padded_to_vector(int n) {
  return (n + Simd<Real>::width - 1) / Simd<Real>::width * Simd<Real>::width;
}

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

/// Allocates on vector boundaries; what fills many pages goes on huge ones where the system grants them, since a refit
/// that gathers its rows from a tape of 13 MB otherwise misses the TLB at every row.
template <class T>
struct SimdAllocator {
  using value_type = T;
  SimdAllocator() = default;
  template <class U>
  SimdAllocator(const SimdAllocator<U>&) {}
  T* allocate(std::size_t n) {
    T* const p = static_cast<T*>(::operator new(n * sizeof(T), alignment(n)));
#ifdef MADV_HUGEPAGE
    if (n * sizeof(T) >= kHugePage) madvise(p, n * sizeof(T), MADV_HUGEPAGE);  // a wish: failure costs only speed
#endif
    return p;
  }
  void deallocate(T* p, std::size_t n) {
    ::operator delete(p, alignment(n));
  }
  friend bool operator==(const SimdAllocator&, const SimdAllocator&) {
    return true;
  }

 private:
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;
  static std::align_val_t alignment(std::size_t n) {
    return std::align_val_t{n * sizeof(T) >= kHugePage ? kHugePage : kSimdBytes};
  }
};
template <class T>
using SimdVector = std::vector<T, SimdAllocator<T>>;

}  // namespace pandora
