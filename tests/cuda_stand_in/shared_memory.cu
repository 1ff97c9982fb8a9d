// A kernel that uses what no body uses yet: a block's shared memory, through its team.
#include <vector>

#include "kernels/base/team.hpp"
#include "kernels/cuda/runtime.cuh"

namespace pandora::test {

__global__ void broadcast_ranks(int* out) {
  const BlockTeam team;
  for (int round = 0; round < 3; ++round) {
    const int value = team.broadcast(100 * round + static_cast<int>(blockIdx.x) + team.rank());
    out[(round * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = value;
  }
}

/// What every thread of `blocks` blocks of 64 threads received in three rounds: round x block x thread.
std::vector<int> broadcast_in_blocks(int blocks) {
  std::vector<int> out(static_cast<std::size_t>(3 * 64 * blocks));
  cuda::select_device(0);
  const cuda::Memory memory(out.size() * sizeof(int));
  const cuda::Stream stream;
  stream.launch("broadcast", broadcast_ranks, blocks, 64, BlockTeam::kSharedBytes, static_cast<int*>(memory.get()));
  stream.download(out.data(), memory.get(), memory.bytes());
  return out;
}

}  // namespace pandora::test
