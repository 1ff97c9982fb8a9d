// The processes of one `mpirun`. There is only one without MPI, or if the program was not started by it.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "host/ground/base/quotas.hpp"

namespace pandora {

/// Whether an MPI launcher started this process. Its standard output may then look like a terminal but be a file.
bool launched_by_mpi();

class Ranks {
 public:
  /// Initialises MPI if an MPI launcher started the process as one of several. Throws Error (device) if a launcher did
  /// and this build has no MPI, because the processes would overwrite each other's results; also if an earlier process
  /// of the rank has initialised MPI. Processes with MPI wait for each other when they exit.
  Ranks();
  Ranks(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int rank_on_node() const { return rank_on_node_; }
  int ranks_on_node() const { return ranks_on_node_; }

  /// Returns rank 0's value on all ranks.
  std::string broadcast(std::string value) const;
  /// Returns all ranks' values, in their order, on rank 0, and nothing on the others.
  std::vector<std::string> gather(const std::string& value) const;
  /// Returns the largest value of all ranks, on all.
  int greatest(int value) const;

  /// All ranks wait here for each other. If none brings a failure, it returns. Otherwise the first rank with a failure
  /// throws it, and the others throw an Error without a message, so that the user reads it once.
  void agree(const std::exception_ptr& failure) const;

  /// Cores for this process: all that it may use (usable_cores()), or its share if ranks share a node without binding.
  int cores() const;

 private:
  int rank_ = 0, size_ = 1, rank_on_node_ = 0, ranks_on_node_ = 1;
};

/// Ranks::cores() on a node with `online` cores, when the process may run on `affine` of them.
int cores_of_rank(int affine, int online, Quotas quotas, int ranks_on_node);

/// Whether this build has MPI: "Open MPI 4.1.4" or why not.
std::string mpi_text();

}  // namespace pandora
