// Vectors of 64 bytes for the CPU kernels: AVX-512 registers where the machine has them, pairs or fours of smaller
// ones elsewhere (the compiler lowers them). Host code only.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

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

/// Allocates on vector boundaries.
template <class T>
struct SimdAllocator {
  using value_type = T;
  SimdAllocator() = default;
  template <class U>
  SimdAllocator(const SimdAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{kSimdBytes})); }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{kSimdBytes}); }
  friend bool operator==(const SimdAllocator&, const SimdAllocator&) { return true; }
};
template <class T>
using SimdVector = std::vector<T, SimdAllocator<T>>;

}  // namespace pandora
