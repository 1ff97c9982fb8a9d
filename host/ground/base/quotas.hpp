// How many cores and how much memory the process may use: its affinity, and the quotas of its container (cgroup v2).
#pragma once

#include <cstdint>
#include <filesystem>

namespace pandora {

/// The limits that a container sets; 0 for none.
struct Quotas {
  double cores = 0.0;        ///< processor seconds per second
  std::uint64_t memory = 0;  ///< bytes
};

/// The least quotas along this process's path in the tree of groups, with the root's. `root` is the root of the file
/// system; tests give another folder. Version 1 of cgroups is not read.
Quotas quotas_of(const std::filesystem::path& root = "/");

/// The quotas of this process, which are read once.
const Quotas& own_quotas();

/// The most processor seconds per second for `threads` threads of a process that may run on `affine` cores.
double cores_for(int threads, int affine, const Quotas& quotas);

/// How many threads are worth starting, at least 1: the number of cores that the process may use, or its quota rounded
/// up if that is less.
int usable_cores();
int usable_cores(int affine, const Quotas& quotas);

}  // namespace pandora
