// How much of this machine the process may use: its affinity, and the quotas of its container (cgroup v2).
#pragma once

#include <cstdint>
#include <filesystem>

namespace pandora {

/// What a container grants; 0 where it sets no limit.
struct Quotas {
  double cores = 0.0;        ///< processor seconds per second
  std::uint64_t memory = 0;  ///< bytes
};

/// The least quotas along this process's path in the tree of groups, that of the root included. `root` is the root of the
/// file system; tests give a made-up one. Version 1 of the groups is not read.
Quotas quotas_of(const std::filesystem::path& root = "/");

/// Of this process; read once.
const Quotas& own_quotas();

/// Processor seconds per second that `threads` threads get at the most where the process may run on `affine` cores.
double cores_for(int threads, int affine, const Quotas& quotas);

/// Threads that are worth starting, at least 1: cores that the process may run on, or its quota rounded up if that is less.
int usable_cores();
int usable_cores(int affine, const Quotas& quotas);

}  // namespace pandora
