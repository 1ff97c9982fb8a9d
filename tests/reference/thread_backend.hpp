// A backend whose teams are several threads: what a GPU's members do in parallel, on the CPU. Bodies that read what
// another member has not yet written give wrong results here, and ThreadSanitizer names the line.
#pragma once

#include <barrier>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "tests/reference/scalar_backend.hpp"

namespace pandora::test {

/// One of several threads that work on an item together.
class ThreadTeam : public ScalarTeam {
 public:
  struct Shared {
    explicit Shared(int members) : barrier(members), size(members) {
      const int parts = members % 32 == 0 ? members / 32 : 1;
      for (int part = 0; part < parts; ++part) parts_of_it.emplace_back(members / parts);
    }
    std::barrier<> barrier;
    std::deque<std::barrier<>> parts_of_it;
    int size, barriers = 0;  ///< barriers: at which the whole team has waited
    alignas(16) unsigned char memory[kMostShared] = {};
  };
  ThreadTeam(Shared& shared, int rank) : shared_(&shared), rank_(rank) {}

  int rank() const { return rank_; }
  int size() const { return shared_->size; }
  void* shared() const { return shared_->memory; }
  std::deque<std::barrier<>>& parts() const { return shared_->parts_of_it; }
  void sync() const {
    if (rank_ == 0) ++shared_->barriers;
    shared_->barrier.arrive_and_wait();
  }

 private:
  Shared* shared_;
  int rank_;
};

/// What is a warp of a block: 32 of the threads, or all of a team of another size.
class ThreadPart : public ScalarTeam {
 public:
  ThreadPart(std::barrier<>& barrier, int rank, int size) : barrier_(&barrier), rank_(rank), size_(size) {}
  int rank() const { return rank_; }
  int size() const { return size_; }
  void sync() const { barrier_->arrive_and_wait(); }

 private:
  std::barrier<>* barrier_;
  int rank_, size_;
};

}  // namespace pandora::test

template <>
struct pandora::TeamPart<pandora::test::ThreadTeam> {
  test::ThreadPart team;
  int index, count;
};

namespace pandora::test {

inline TeamPart<ThreadTeam> part_of(const ThreadTeam& team) {
  const int count = static_cast<int>(team.parts().size()), size = team.size() / count, index = team.rank() / size;
  return {{team.parts()[static_cast<std::size_t>(index)], team.rank() % size, size}, index, count};
}

/// body(team) by every member; returns at how many barriers they met.
inline int by_threads(int members, const std::function<void(const ThreadTeam&)>& body) {
  ThreadTeam::Shared shared(members);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < members; ++rank)
      threads.emplace_back([&shared, &body, rank] { body(ThreadTeam(shared, rank)); });
  }
  return shared.barriers;
}

/// Teams of `members` threads, one team at a time.
class ThreadBackend : public ScalarBackend {
 public:
  explicit ThreadBackend(int members) : members_(members) {}

  template <class Body>
  void blocks(int items, const Body& body) {
    ThreadTeam::Shared shared(members_);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < members_; ++rank)
      threads.emplace_back([&, rank] {
        const ThreadTeam team(shared, rank);
        for (int item = 0; item < items; ++item) {
          body(team, item, 0);
          team.sync();
        }
      });
  }
  template <class Body>
  void warps(int items, const Body& body) {
    blocks(items, body);
  }
  template <class Real>
  void form(const engine::FormBlock<Real>& body, int matrices) {
    blocks(matrices, body);
  }
  engine::BackendTraits traits() const {
    engine::BackendTraits traits = ScalarBackend::traits();
    traits.block_size = members_;
    return traits;
  }

 private:
  int members_;
};

}  // namespace pandora::test
