// The properties of a backend that the engine must know before it lays out memory.
#pragma once

#include <climits>

namespace pandora::engine {

struct BackendTraits {
  int group;               ///< lanes that advance together, at most
  int slots;               ///< teams with scratch that run at the same time
  int block_size;          ///< members of such a team
  bool vectors;            ///< whether its teams have vectors
  bool in_place;           ///< whether tapes are read where they lie on the host
  int cohort = 0;          ///< lanes that go through many blocks together, where the shape allows it; 0: none
  int newton_samples = 0;  ///< samples up to which solves follow an inverse (teams with vectors)
};

inline constexpr int kBlockMembers = 256;      ///< threads of a GPU's block for one item; a body may ask for others
inline constexpr int kMostBlockMembers = 384;  ///< the most that any body asks for

inline constexpr int kCohortLanes = 4;  ///< the most lanes of a cohort: one for each warp of its block

/// The traits of a GPU: all lanes advance together, over a copy of the tapes.
inline BackendTraits traits_of_gpu(int slots) {
  return {.group = INT_MAX,
          .slots = slots,
          .block_size = kMostBlockMembers,
          .vectors = false,
          .in_place = false,
          .cohort = kCohortLanes};
}
inline constexpr int kBlocksPerMultiprocessor = 4;

}  // namespace pandora::engine
