// The threads that work on one item of a kernel: a block or a warp on the device, one thread on the CPU. A kernel body
// is written once for any Team:
//
//   template <class Team> PANDORA_HD void operator()(const Team& team, int item) const {
//     for (int i = team.rank(); i < n; i += team.size()) out[i] = f(i);   // elements among the members
//     team.sync();                                                       // before others read them
//     if (team.rank() == 0) ++count;
//   }
//
// A value that every member computes from the same memory is the same in every member. Loops over elements sum in the
// order of the elements, so the result of a body does not depend on the team's size unless the body asks for that size.
//
// A member handles elements in vectors of the team's width: one element on the device, a register on a CPU
// (kernels/base/vector_team.hpp), where a team is one thread. Bodies for which the width matters are written in these
// vectors:
//
//   using V = typename Team::template Vectors<Real>;
//   for (int i = team.rank() * V::width; i < n; i += team.size() * V::width) V::store(out + i, f(V::load(in + i)));
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "kernels/base/elementary.hpp"
#include "kernels/base/hd.hpp"

namespace pandora {

/// Vectors of one element, with the members of Simd (kernels/base/simd.hpp).
template <class Real>
struct Scalar {
  static constexpr int width = 1;
  using Vector = Real;
  static PANDORA_HD Vector load(const Real* p) { return *p; }
  static PANDORA_HD void store(Real* p, Vector v) { *p = v; }
  static PANDORA_HD Vector broadcast(Real x) { return x; }
  static PANDORA_HD Vector fused(Vector a, Vector b, Vector c) { return pandora::fused(a, b, c); }
  static PANDORA_HD Vector fused_negative(Vector a, Vector b, Vector c) { return pandora::fused(-a, b, c); }
  static PANDORA_HD Real sum(Vector v) { return v; }
};

/// Bytes of shared memory that a block can have on every device of compute capability 8.0 or more.
inline constexpr std::size_t kMostShared = std::size_t{99} << 10;

/// The common base of teams whose members take one element each.
struct ScalarTeam {
  /// The team's fast memory, aligned to 16 bytes. It has as many bytes as the body's shared_bytes() asked for; null for
  /// teams without such memory.
  PANDORA_HD void* shared() const { return nullptr; }
  template <class Real>
  using Vectors = Scalar<Real>;
  static constexpr bool kVectors = false;
  static constexpr int kTile = 1;        ///< vectors that a member keeps in registers at once
  static constexpr bool kAlone = false;  ///< whether a team always has one member
  /// Whether every such team has shared(), and Team{} finds it again. Device code then asks for that memory where it
  /// uses it, so that the compiler knows that it is shared memory; a stored pointer may point anywhere.
  static constexpr bool kShares = false;
  static constexpr bool kTiles = true;  ///< whether P passes through tiles where a block's memory has room for them
  /// *to = *from. Other members find the value after this member's arrived() and a sync(). Where a team shares memory,
  /// `to` lies in it, and many copies may be under way without taking registers.
  template <class T>
  PANDORA_HD void copy(T* to, const T* from) const {
    *to = *from;
  }
  PANDORA_HD void arrived() const {}
};

/// Calls f(tile, first) for the elements from 0 to n, a multiple of the vectors' width. A tile has tile() vectors from
/// element `first` on, at most Team::kTile of them. The members share the tiles.
template <class Real, class Team, class F>
PANDORA_HD void for_tiles(const Team& team, int n, F&& f) {
  constexpr int W = Team::template Vectors<Real>::width, T = Team::kTile;
  int first = team.rank() * T * W;
  for (; first + T * W <= n; first += team.size() * T * W) f(std::integral_constant<int, T>{}, first);
  if constexpr (T > 1) {  // a team of one member
    static_assert(T == 4);
    if (first + 3 * W == n) f(std::integral_constant<int, 3>{}, first);
    if (first + 2 * W == n) f(std::integral_constant<int, 2>{}, first);
    if (first + 1 * W == n) f(std::integral_constant<int, 1>{}, first);
  }
}

/// The part of a team that goes on without waiting for the other parts: a warp of a block, otherwise the whole team.
template <class Team>
struct TeamPart {
  const Team& team;
  int index, count;  ///< which part, and how many there are
};
template <class Team>
PANDORA_HD TeamPart<Team> part_of(const Team& team) {
  return {team, 0, 1};
}
/// How many parts a team of `members` threads has on a device.
PANDORA_HD constexpr int parts_of(int members) {
  return members < 32 ? 1 : members / 32;
}

/// One thread, one element at a time.
struct SerialTeam : ScalarTeam {
  static constexpr bool kAlone = true;
  PANDORA_HD int rank() const { return 0; }
  PANDORA_HD int size() const { return 1; }
  PANDORA_HD void sync() const {}
};

#if defined(__CUDACC__)

/// 32 threads in step. The bodies of its functions are device code only.
struct WarpTeam : ScalarTeam {
  __host__ __device__ int rank() const { return PANDORA_ON_DEVICE(static_cast<int>(threadIdx.x % 32), 0); }
  __host__ __device__ int size() const { return 32; }
  __host__ __device__ void sync() const { PANDORA_ON_DEVICE(__syncwarp(), ); }
  // All members call these together.
  template <class T>
  __host__ __device__ T shuffle(T value, [[maybe_unused]] int from) const {  ///< the value of member `from`
    return PANDORA_ON_DEVICE(__shfl_sync(kAll, value, from), value);
  }
  template <class T>
  __host__ __device__ T shuffle_xor(T value, [[maybe_unused]] int mask) const {  ///< the value of member rank() ^ mask
    return PANDORA_ON_DEVICE(__shfl_xor_sync(kAll, value, mask), value);
  }
  __host__ __device__ unsigned ballot(bool holds) const {  ///< one bit for each member
    return PANDORA_ON_DEVICE(__ballot_sync(kAll, holds), holds ? 1u : 0u);
  }

 private:
  static constexpr unsigned kAll = 0xffffffffu;
};

#if defined(__CUDA_ARCH__)
/// The shared memory of the calling thread's block, aligned to 16 bytes.
__device__ inline void* shared_memory() {
#if defined(PANDORA_STAND_IN)
  return stand_in_shared_memory();
#else
  extern __shared__ uint4 memory[];
  return memory;
#endif
}
#endif

/// A whole block of at most 1,024 threads, a multiple of 32.
struct BlockTeam : ScalarTeam {
  static constexpr bool kShares = true;
  __host__ __device__ void* shared() const { return PANDORA_ON_DEVICE(shared_memory(), nullptr); }
  __host__ __device__ int rank() const { return PANDORA_ON_DEVICE(static_cast<int>(threadIdx.x), 0); }
  __host__ __device__ int size() const { return PANDORA_ON_DEVICE(static_cast<int>(blockDim.x), 1); }
  __host__ __device__ void sync() const { PANDORA_ON_DEVICE(__syncthreads(), ); }
#if defined(__CUDA_ARCH__) && !defined(PANDORA_STAND_IN)
  template <class T>
  __device__ void copy(T* to, const T* from) const {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const char* const start = reinterpret_cast<const char*>(from);
    if constexpr (sizeof(T) % 16 == 0) {
      for (unsigned k = 0; k < sizeof(T); k += 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + k), "l"(start + k) : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(start), "n"(sizeof(T)) : "memory");
    }
  }
  __device__ void arrived() const {
    asm volatile("cp.async.wait_all;" ::: "memory");
  }
#endif
};

/// A block whose body has no shared memory (shared_bytes() is 0). It uses the scratch of its slot instead.
struct OpenTeam : BlockTeam {
  static constexpr bool kShares = false, kTiles = false;
  using ScalarTeam::arrived;
  using ScalarTeam::copy;
  __host__ __device__ void* shared() const { return nullptr; }
};

template <std::derived_from<BlockTeam> Team>
struct TeamPart<Team> {
  WarpTeam team;
  int index, count;
};
template <std::derived_from<BlockTeam> Team>
PANDORA_HD TeamPart<Team> part_of(const Team& team) {
  return {{}, team.rank() / 32, parts_of(team.size())};
}

#endif

/// list[counter++] = value, called by member 0 of many teams at once. The order of the list is not fixed.
PANDORA_HD inline void append(int* counter, int* list, int value) {
  list[PANDORA_ON_DEVICE(atomicAdd(counter, 1), (*counter)++)] = value;
}

}  // namespace pandora
