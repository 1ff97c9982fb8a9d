// The processes of one `mpirun`. Without MPI, or not started by it, there is one.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "host/ground/base/quotas.hpp"

namespace pandora {

/// Whether an MPI launcher started this process. Its standard output may then look like a terminal and be a file.
bool launched_by_mpi();

class Ranks {
 public:
  /// Initialises MPI if an MPI launcher started the process as one of several. Throws Error (device) if it did and this
  /// build has no MPI, for the processes would overwrite each other; and if an earlier process of the rank did it. Processes that MPI was initialised in meet once more when they
  /// exit.
  Ranks();
  Ranks(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int rank_on_node() const { return rank_on_node_; }
  int ranks_on_node() const { return ranks_on_node_; }

  /// Rank 0's value, on all.
  std::string broadcast(std::string value) const;
  /// All ranks' values, in their order, on rank 0; empty on the others.
  std::vector<std::string> gather(const std::string& value) const;
  /// The largest value of all ranks, on all.
  int greatest(int value) const;

  /// Where ranks meet: returns on all of them if none brings a failure. Otherwise the first that brings one throws it,
  /// and the others throw an Error without a message, so that the user is told once.
  void agree(const std::exception_ptr& failure) const;

  /// Cores for this process: all that it may use (usable_cores()), or its part of them where ranks share a node unbound.
  int cores() const;

 private:
  int rank_ = 0, size_ = 1, rank_on_node_ = 0, ranks_on_node_ = 1;
};

/// Ranks::cores() of a node with `online` cores, of which the process may run on `affine`.
int cores_of_rank(int affine, int online, Quotas quotas, int ranks_on_node);

/// Whether this build has MPI: "Open MPI 4.1.4" or why not.
std::string mpi_text();

}  // namespace pandora
